// SPDX-License-Identifier: BSD-3-Clause
// Hashes that all nodes of a cluster must agree on: a configured key and a fixed order of octets. Each use has its own first
// octet, so that a value of one use says nothing about another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "asrp/base/bytes.hpp"
#include "asrp/base/siphash.hpp"
#include "asrp/base/tuple.hpp"

namespace asrp::policy {

enum class HashUse : std::uint8_t { row = 'R', member_id = 'I', member = 'M', nat_port = 'N', cookie = 'C', port_choice = 'S' };

/// Collects what is hashed. Room for the largest input, two IPv6 tuples; never allocates.
class HashInput {
 public:
  explicit HashInput(HashUse use) { u8(static_cast<std::uint8_t>(use)); }

  void u8(std::uint8_t v) { octets_[size_++] = v; }
  void u16(std::uint16_t v) {
    u8(static_cast<std::uint8_t>(v >> 8));
    u8(static_cast<std::uint8_t>(v));
  }
  void u64(std::uint64_t v) {
    for (int shift = 56; shift >= 0; shift -= 8) u8(static_cast<std::uint8_t>(v >> shift));
  }
  /// Family, source address and port, destination address and port; not the protocol.
  void tuple(const Tuple& t) {
    u8(static_cast<std::uint8_t>(t.family()));
    endpoint(t.src);
    endpoint(t.dst);
  }
  [[nodiscard]] std::uint64_t hash(const HashKey& key) const { return siphash(key, Octets(octets_).first(size_)); }

 private:
  void endpoint(const Endpoint& e) {
    for (const std::uint8_t octet : e.address.octets()) u8(octet);
    u16(e.port);
  }

  std::array<std::uint8_t, 80> octets_;
  std::size_t size_ = 0;
};

}  // namespace asrp::policy
