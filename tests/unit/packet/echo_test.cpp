// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/packet/echo.hpp"

#include <doctest/doctest.h>

#include "support/echo.hpp"

using namespace asrp;
using namespace asrp::packet;
using namespace asrp::test;

namespace {

std::optional<Tuple> tuple_of(const Buffer& octets) {
  const auto view = PacketView::parse(octets);
  REQUIRE(view);
  return echo_request_tuple(*view);
}

}  // namespace

TEST_CASE("an echo request has a tuple, with its identifier as the port of the one who asks; nothing else of ICMP has") {
  for (const Tuple& tuple : {echo_tuple("192.0.2.10:4660", "198.51.100.5"), echo_tuple("[2001:db8::1]:4660", "2001:db8::2")}) {
    CHECK(tuple_of(echo(tuple).build()) == tuple);
    CHECK_FALSE(tuple_of(echo(tuple.reversed()).build()));
    Buffer code = echo(tuple).build();
    code[PacketView::parse(code)->transport_offset() + 1] = 1;
    CHECK_FALSE(tuple_of(code));
    CHECK(is_icmp(tuple.protocol));
  }
  // The other family's number is another type here.
  CHECK_FALSE(tuple_of(icmp_error("192.0.2.99", "192.0.2.10").type(128, 0).build()));
  CHECK_FALSE(tuple_of(icmp_error("2001:db8::99", "2001:db8::1").type(8, 0).build()));
  CHECK_FALSE(tuple_of(udp("192.0.2.10:2048", "198.51.100.5:0").build()));
  CHECK_FALSE(is_icmp(Protocol::udp));
  CHECK_FALSE(is_icmp(Protocol::tcp));
}
