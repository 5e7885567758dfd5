// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/packet/carriage.hpp"

#include <doctest/doctest.h>

using namespace asrp::packet;

TEST_CASE("carriages have the names of asrpdump") {
  CHECK(to_string(Carriage::inline_tcp) == "inline-tcp");
  CHECK(to_string(Carriage::inline_udp) == "inline-udp");
  CHECK(to_string(Carriage::separate_tcp) == "separate-tcp");
  CHECK(to_string(Carriage::separate_udp) == "separate-udp");
  CHECK(to_string(Carriage::standalone) == "standalone");
  CHECK(to_string(static_cast<Carriage>(99)) == "?");
}

TEST_CASE("[spec 7.4-1] the default kinds are the experimental ones, with an ExID") {
  const Marker marker;
  CHECK(marker.tcp_kind == 253);
  CHECK(marker.udp_kind == 127);
  CHECK(marker.tcp_has_exid());
  CHECK(marker.udp_has_exid());
  CHECK(Marker{254, 127, 1}.tcp_has_exid());
  CHECK_FALSE(Marker{77, 66, 1}.tcp_has_exid());
  CHECK_FALSE(Marker{77, 66, 1}.udp_has_exid());
}
