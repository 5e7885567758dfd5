// SPDX-License-Identifier: BSD-3-Clause
// What tests of policies are fed with: the key of golden vectors, blocks of addresses, networks of clients.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "asrp/base/prefix.hpp"
#include "asrp/base/siphash.hpp"
#include "asrp/policy/port_ranges.hpp"

namespace asrp::test {

/// 00 01 02 ...
inline HashKey counting_key() {
  HashKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  return key;
}

inline Prefix prefix(std::string_view text) {
  const auto parsed = Prefix::parse(text);
  if (!parsed) throw std::invalid_argument("no prefix: " + std::string(text));
  return *parsed;
}

inline std::vector<Prefix> prefixes(std::initializer_list<const char*> texts) {
  std::vector<Prefix> list;
  for (const char* text : texts) list.push_back(prefix(text));
  return list;
}

/// Its clients share ports, as is the default.
inline policy::ClientNetwork network(std::initializer_list<const char*> clients, std::initializer_list<const char*> outside) {
  return {.clients = prefixes(clients), .outside = prefixes(outside)};
}

}  // namespace asrp::test
