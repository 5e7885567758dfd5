// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/nat_port.hpp"

#include <algorithm>
#include <numeric>

#include "asrp/base/assert.hpp"
#include "asrp/policy/keyed_hash.hpp"

namespace asrp::policy {

NatRange::NatRange(const HashKey& key, std::vector<IpAddress> addresses, std::uint16_t first_port, std::uint16_t last_port)
    : key_(key), addresses_(std::move(addresses)), first_port_(first_port), last_port_(last_port) {
  ASRP_ASSERT(first_port <= last_port);
  std::sort(addresses_.begin(), addresses_.end());  // a set: nodes may list it in any order
  addresses_.erase(std::unique(addresses_.begin(), addresses_.end()), addresses_.end());
}

bool NatRange::contains(const Endpoint& outside) const {
  return outside.port >= first_port_ && outside.port <= last_port_ &&
         std::binary_search(addresses_.begin(), addresses_.end(), outside.address);
}

namespace {

/// How far the next try is: as random as the first one, or neighbours that are taken would be taken together. Prime to `total`,
/// so that all of the range is visited.
std::uint64_t stride(std::uint64_t hash, std::uint64_t total) {
  std::uint64_t step = 1 + hash % (total - 1);
  while (std::gcd(step, total) != 1) --step;
  return step;
}

}  // namespace

Endpoint NatRange::at(const Tuple& client_side, std::size_t attempt) const {
  ASRP_ASSERT(!empty());
  HashInput input(HashUse::nat_port);
  input.u8(static_cast<std::uint8_t>(client_side.protocol));
  input.tuple(client_side);
  const std::uint64_t total = size();
  const std::uint64_t hash = input.hash(key_);
  std::uint64_t index = hash % total;
  if (attempt != 0 && total > 1) index = (index + attempt % total * stride(hash / total, total)) % total;
  return {addresses_[index / ports()], static_cast<std::uint16_t>(first_port_ + index % ports())};
}

}  // namespace asrp::policy
