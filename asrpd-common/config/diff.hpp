// SPDX-License-Identifier: GPL-2.0-or-later
// What differs between two configurations, key by key: of what --print-config prints of each, so that no key is forgotten.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace asrp::config {

struct Change {
  enum class Kind : std::uint8_t { added, removed, changed };
  Kind kind = Kind::changed;
  std::string key;     // "pools.web.servers.s1.weight": items of a list by their name or id, else by their place
  std::string before;  // as in the file; of a key's octets nothing is told
  std::string after;
};
std::string_view to_string(Change::Kind kind);

/// Both texts are what a print_config() gives. In the order of the keys; an item that is new or gone is one change.
std::vector<Change> diff(std::string_view before, std::string_view after);

}  // namespace asrp::config
