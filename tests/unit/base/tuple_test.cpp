// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/tuple.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using asrp::Endpoint;
using asrp::Protocol;
using asrp::Tuple;

namespace {

Tuple tuple(const char* src, const char* dst, Protocol protocol = Protocol::tcp) {
  return {*Endpoint::parse(src), *Endpoint::parse(dst), protocol};
}

}  // namespace

TEST_CASE("a tuple and its reverse have one normalised form") {
  for (const auto& row : {tuple("192.0.2.1:1000", "198.51.100.1:80"), tuple("198.51.100.1:80", "192.0.2.1:1000"),
                          tuple("192.0.2.1:80", "192.0.2.1:81"), tuple("[2001:db8::2]:1", "[2001:db8::1]:2")}) {
    CAPTURE(row.to_string());
    CHECK(row.reversed().reversed() == row);
    CHECK(asrp::normalised(row) == asrp::normalised(row.reversed()));
    const auto form = asrp::normalised(row);
    CHECK((form == row || form == row.reversed()));
  }
}

TEST_CASE("tuples and protocols print as logs show them") {
  CHECK(tuple("192.0.2.1:1000", "198.51.100.1:80").to_string() == "tcp 192.0.2.1:1000>198.51.100.1:80");
  CHECK(tuple("[2001:db8::1]:53", "[::1]:9", Protocol::udp).to_string() == "udp [2001:db8::1]:53>[::1]:9");
  CHECK(asrp::to_string(static_cast<Protocol>(132)) == "132");
}

TEST_CASE("the table hash depends on every part of the tuple and on the seed") {
  const auto base = tuple("192.0.2.1:1000", "198.51.100.1:80");
  const std::vector<Tuple> others = {
      base.reversed(),
      tuple("192.0.2.2:1000", "198.51.100.1:80"),
      tuple("192.0.2.1:1001", "198.51.100.1:80"),
      tuple("192.0.2.1:1000", "198.51.100.2:80"),
      tuple("192.0.2.1:1000", "198.51.100.1:81"),
      tuple("192.0.2.1:1000", "198.51.100.1:80", Protocol::udp),
      tuple("[::c000:201]:1000", "[2001:db8::1]:80"),
  };
  CHECK(asrp::table_hash(base, 1) == asrp::table_hash(base, 1));
  CHECK(asrp::table_hash(base, 1) != asrp::table_hash(base, 2));
  CHECK(asrp::table_hash(base, 1) != asrp::table_hash(base, std::uint64_t{1} << 63 | 1));
  for (const auto& other : others) {
    CAPTURE(other.to_string());
    CHECK(asrp::table_hash(other, 1) != asrp::table_hash(base, 1));
  }
}

TEST_CASE("the family of a tuple is that of its source") {
  CHECK(tuple("192.0.2.1:1", "192.0.2.2:2").family() == asrp::Family::v4);
  CHECK(tuple("[::1]:1", "[::2]:2").family() == asrp::Family::v6);
}
