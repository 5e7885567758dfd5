// SPDX-License-Identifier: BSD-3-Clause
#include "decode/places.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::test;

TEST_CASE("Ethernet tells both neighbours, cooked captures one, by direction") {
  const auto ethernet = dump::places_of(hex("020000000001 020000000002 0800"), 1);
  const auto answer = dump::places_of(hex("020000000002 020000000001 0800"), 1);
  CHECK(ethernet.from == answer.to);
  CHECK(ethernet.to == answer.from);
  CHECK(ethernet.from != ethernet.to);

  const auto in = dump::places_of(hex("0800 0000 00000005 0001 00 06 0200000000010000"), 276);
  const auto out = dump::places_of(hex("0800 0000 00000005 0001 04 06 0200000000010000"), 276);
  CHECK(in.from != 0);
  CHECK(in.to == 0);
  CHECK(out.to == in.from);
  CHECK(out.from == 0);

  CHECK(dump::places_of(hex("0000 0001 0006 020000000001 0000 0800"), 113).from != 0);
  CHECK(dump::places_of(hex("0004 0001 0006 020000000001 0000 0800"), 113).from == 0);
}

TEST_CASE("a frame that is too short, and other link types, tell nothing") {
  CHECK(dump::places_of(hex("020000000001"), 1).from == 0);
  CHECK(dump::places_of(hex("0800"), 276).from == 0);
  CHECK(dump::places_of(hex("450000140000000000000000000000000000"), 12).from == 0);
}
