// SPDX-License-Identifier: BSD-3-Clause
// Full NAT: the outside address and port of a new session, by hash over its client-side tuple, then probing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "asrp/base/address.hpp"
#include "asrp/base/siphash.hpp"
#include "asrp/base/tuple.hpp"

namespace asrp::policy {

class NatRange {
 public:
  NatRange() = default;
  /// Precondition: `first_port <= last_port`.
  NatRange(const HashKey& key, std::vector<IpAddress> addresses, std::uint16_t first_port, std::uint16_t last_port);

  [[nodiscard]] bool empty() const { return addresses_.empty(); }
  [[nodiscard]] bool contains(const Endpoint& outside) const;
  /// How many mappings there are: ports of all addresses. 0 if it is empty.
  [[nodiscard]] std::uint64_t size() const { return ports() * addresses_.size(); }
  /// The mapping of a flow at its `attempt`-th try, from 0: hashed, then a hashed stride further each time, over all addresses
  /// and ports of the range before one comes again. Precondition: not empty.
  [[nodiscard]] Endpoint at(const Tuple& client_side, std::size_t attempt) const;

 private:
  [[nodiscard]] std::uint64_t ports() const { return std::uint64_t{last_port_} + 1 - first_port_; }

  HashKey key_{};
  std::vector<IpAddress> addresses_;
  std::uint16_t first_port_ = 1;
  std::uint16_t last_port_ = 0;
};

}  // namespace asrp::policy
