// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include "io/fragments.hpp"

using namespace asrp;
using namespace asrp::io;

namespace {

Buffer packet(std::uint8_t version, std::size_t body) {
  Buffer out(version == 4 ? 20 : 40);
  out[0] = version == 4 ? 0x45 : 0x60;
  out[version == 4 ? 9 : 6] = 17;
  for (std::size_t i = 0; i < body; ++i) out.push_back(static_cast<std::uint8_t>(i * 5 / 3));
  return out;
}

std::size_t u16(const Buffer& octets, std::size_t at) { return static_cast<std::size_t>(octets[at] << 8 | octets[at + 1]); }

}  // namespace

TEST_CASE("fragments hold the whole body in order, at multiples of 8 octets, and only the last one ends it") {
  for (const std::uint8_t version : {std::uint8_t{4}, std::uint8_t{6}}) {
    const std::size_t header = version == 4 ? 20 : 48;
    for (const std::size_t body : {1u, 8u, 2000u, 2001u, 2007u, 65000u}) {
      const Buffer whole = packet(version, body);
      const auto fragments = fragments_of(whole, 1280, 0x12345678);
      Buffer together(whole.begin(), whole.begin() + (version == 4 ? 20 : 40));
      for (std::size_t i = 0; i < fragments.size(); ++i) {
        const Buffer& f = fragments[i];
        CHECK(f.size() <= 1280);
        CHECK(u16(f, version == 4 ? 2 : 4) == f.size() - (version == 4 ? 0 : 40));
        const std::size_t place = u16(f, version == 4 ? 6 : 42);
        const std::size_t offset = version == 4 ? (place & 0x1fff) * 8 : place & 0xfff8;
        const bool more = version == 4 ? (place & 0x2000) != 0 : (place & 1) != 0;
        CHECK(offset == together.size() - (version == 4 ? 20 : 40));
        CHECK(more == (i + 1 < fragments.size()));
        if (version == 4) CHECK(u16(f, 4) == 0x5678);
        if (version == 6) CHECK((f[6] == 44 && f[40] == 17 && u16(f, 44) == 0x1234 && u16(f, 46) == 0x5678));
        together.insert(together.end(), f.begin() + static_cast<std::ptrdiff_t>(header), f.end());
      }
      CHECK(together == whole);
    }
  }
}

TEST_CASE("an IPv4 packet keeps its own identification") {
  Buffer whole = packet(4, 3000);
  whole[4] = 0xab;
  const auto fragments = fragments_of(whole, 576, 1);
  REQUIRE(fragments.size() == 6);
  for (const Buffer& f : fragments) CHECK(u16(f, 4) == 0xab00);
}

TEST_CASE("what must not be cut is not") {
  Buffer df = packet(4, 3000);
  df[6] = 0x40;
  Buffer fragment = packet(4, 3000);
  fragment[7] = 1;
  Buffer options = packet(4, 3000);
  options[0] = 0x46;
  Buffer tcp = packet(6, 3000);
  tcp[6] = 6;
  for (const Buffer& p : {df, fragment, options, tcp, Buffer{}, Buffer{0x45}, Buffer{0x60}, Buffer(40, 0x60)})
    CHECK(fragments_of(p, 1280, 1).empty());
  CHECK(fragments_of(packet(4, 3000), 27, 1).empty());
  CHECK(fragments_of(packet(6, 3000), 55, 1).empty());
}
