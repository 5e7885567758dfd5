// SPDX-License-Identifier: BSD-3-Clause
#include "packet/surgery_detail.hpp"

#include <doctest/doctest.h>

#include "support/random_packets.hpp"

using namespace asrp;
using namespace asrp::packet;
using namespace asrp::test;

namespace {

std::uint16_t checksum_of(Octets octets) { return static_cast<std::uint16_t>(~slow_sum(octets)); }

}  // namespace

TEST_CASE("a sum changed piece by piece is the sum of the changed octets") {
  RandomPackets random(61);
  for (int i = 0; i < 5000; ++i) {
    Buffer octets = random.octets(60);
    octets[0] = 0x45;  // never all zero, like a header
    Sum sum(checksum_of(octets));
    const std::size_t at = 1 + random.below(40);
    const std::size_t size = random.below(19);
    const MutableOctets part = MutableOctets(octets).subspan(at, size);
    sum.remove_at(at, part);
    for (std::uint8_t& octet : part) octet = static_cast<std::uint8_t>(random.below(256));
    sum.add_at(at, part);
    CHECK(sum.checksum() == checksum_of(octets));
  }
}

TEST_CASE("octets that move by one place swap their halves, and swap back") {
  RandomPackets random(67);
  for (int i = 0; i < 2000; ++i) {
    const Buffer data = random.octets(random.below(50));
    const Buffer front = hex("1234");
    Buffer even = front;
    even.insert(even.end(), data.begin(), data.end());
    Buffer odd = hex("123456");
    odd.insert(odd.end(), data.begin(), data.end());
    Sum sum(checksum_of(even));
    sum.shift_by_one(data);
    sum.add(hex("56"));
    CHECK(sum.checksum() == checksum_of(odd));
    sum.shift_by_one_back(data);
    sum.remove(hex("56"));
    CHECK(sum.checksum() == checksum_of(even));
  }
}

TEST_CASE("append joins parts behind what is there") {
  Buffer out = hex("aa");
  CHECK(append({hex("0102"), Octets{}, hex("03")}, out) == 1);
  CHECK(to_hex(out) == "aa010203");
}
