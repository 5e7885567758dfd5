// SPDX-License-Identifier: BSD-3-Clause
// The placement's hashes of all members in one row at once: SipHash-2-4 of 'M', id hash, row (placement.hpp). A cold row of ten
// thousand members is all hashing, so what doesn't depend on the row is done once, and the rest for several members at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "asrp/base/siphash.hpp"

namespace asrp::policy {

class RowHash {
 public:
  explicit RowHash(const HashKey& key);

  /// Adds a member; they are known by the order in which they were added.
  void add(std::uint64_t id_hash);
  [[nodiscard]] std::size_t size() const { return last_.size(); }
  /// The hash of each member in `row`. Precondition: `out` has size() places.
  void hash(std::uint16_t row, std::span<std::uint64_t> out) const;

 private:
  std::uint64_t key_[2];
  // SipHash's state of each member after the first eight octets of its input, and the ninth.
  std::vector<std::uint64_t> v0_;
  std::vector<std::uint64_t> v1_;
  std::vector<std::uint64_t> v2_;
  std::vector<std::uint64_t> v3_;
  std::vector<std::uint64_t> last_;
};

}  // namespace asrp::policy
