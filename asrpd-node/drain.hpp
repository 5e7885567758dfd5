// SPDX-License-Identifier: GPL-2.0-or-later
// What the operator has taken out for new sessions: servers, or the whole node. Kept in one JSON file under state_dir, so that
// a restart doesn't bring a server back in the middle of its maintenance. Placement and epochs know nothing of it: whom a
// recovery asks stays the same on all nodes (decision 11).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "asrp/base/result.hpp"
#include "asrpd-node/config.hpp"
#include "io/error.hpp"

namespace asrp::node {

struct Drain {
  std::int64_t since = 0;                // seconds since 1970
  std::optional<std::int64_t> deadline;  // likewise; until then its sessions should have ended
  friend bool operator==(const Drain&, const Drain&) = default;
};

struct Drains {
  using Server = std::pair<std::string, std::string>;  // pool, server id
  std::optional<Drain> node;
  std::map<Server, Drain> servers;
  friend bool operator==(const Drains&, const Drains&) = default;
};

/// The servers that a name means: of `pool`, or of every pool that has a server with this id. Sorted.
std::vector<Drains::Server> servers_named(const NodeConfig& config, const std::string& id,
                                          const std::optional<std::string>& pool);
/// The drains that are left under `config`: one of a server that is no longer configured has come to its end.
Drains next_drains(const Drains& before, const NodeConfig& config);

std::string drains_json(const Drains& drains);
/// None if the text is not what drains_json() writes.
std::optional<Drains> parse_drains(const std::string& text);

/// Reads DIRECTORY/drain.json; empty if there is none. A file that cannot be understood is put aside under another name and
/// reported in `trouble`.
Drains load_drains(const std::string& directory, std::string& trouble);
/// Replaces the file, mode 0600.
Result<Done, io::IoError> save_drains(const std::string& directory, const Drains& drains);

}  // namespace asrp::node
