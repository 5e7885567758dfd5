// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/bytes.hpp"

#include <doctest/doctest.h>

#include <array>

using asrp::Buffer;
using asrp::Octets;

TEST_CASE("numbers are big-endian in both directions") {
  Buffer out;
  asrp::ByteWriter writer(out);
  writer.u8(0x01);
  writer.u16(0x0203);
  writer.u32(0x04050607);
  writer.octets(Buffer{0xfe, 0xff});
  writer.zeros(2);
  CHECK(out == Buffer{1, 2, 3, 4, 5, 6, 7, 0xfe, 0xff, 0, 0});
  CHECK(asrp::load_u16(out, 1) == 0x0203);
  CHECK(asrp::load_u32(out, 3) == 0x04050607);
  CHECK(asrp::load_u32(out, 5) == 0x0607feff);
}

TEST_CASE("stores change their own octets only") {
  Buffer octets(8, 0xaa);
  asrp::store_u16(octets, 1, 0x8001);
  asrp::store_u32(octets, 3, 0xfffefdfc);
  CHECK(octets == Buffer{0xaa, 0x80, 0x01, 0xff, 0xfe, 0xfd, 0xfc, 0xaa});
}

TEST_CASE("a fixed reader reads what stands at its offsets") {
  const std::array<std::uint8_t, 8> octets = {0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80};
  const asrp::FixedReader<7> reader{Octets(octets)};
  CHECK(reader.u8<6>() == 0x70);
  CHECK(reader.u16<5>() == 0x6070);
  CHECK(reader.u32<0>() == 0x10203040);
  CHECK(reader.u32<3>() == 0x40506070);
}

TEST_CASE("hexadecimal survives a round trip") {
  Buffer all(256);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint8_t>(i);
  Buffer back;
  REQUIRE(asrp::from_hex(asrp::to_hex(all), back));
  CHECK(back == all);
  CHECK(asrp::to_hex(Octets{}) == "");
  CHECK(asrp::to_hex(Buffer{0x0a, 0xf0}) == "0af0");
}

TEST_CASE("hexadecimal takes spaces between octets and both cases") {
  Buffer out;
  REQUIRE(asrp::from_hex("0a FF  b1", out));
  CHECK(out == Buffer{0x0a, 0xff, 0xb1});
}

TEST_CASE("what is no hexadecimal is refused") {
  for (const char* text : {"0", "0 a", "0g", "xx", "0a f", "0a\n"}) {
    CAPTURE(text);
    Buffer out;
    CHECK_FALSE(asrp::from_hex(text, out));
  }
}
