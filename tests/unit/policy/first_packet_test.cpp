// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/first_packet.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"

using namespace asrp;
using asrp::policy::is_dns_query;
using asrp::policy::is_quic_initial;
using asrp::test::hex;

TEST_CASE("DNS queries, and what only resembles one") {
  static constexpr struct {
    const char* octets;
    bool query;
    const char* what;
  } kRows[] = {
      {"123401000001000000000000 037777770474657374 00 00010001", true, "a query"},
      {"123401000001000000000001 00 00020001 0000291000000000000000", true, "the root, with EDNS"},
      {"123401200001000000000000 00 00010001", true, "AD set"},
      {"123481800001000100000000 00 00010001", false, "a response"},
      {"123428000001000000000000 00 00060001", false, "UPDATE"},
      {"123401000002000000000000 00 00010001 00 00010001", false, "two questions"},
      {"123401000000000000000000", false, "no question"},
      {"123401000001000100000000 00 00010001", false, "an answer"},
      {"123401000001000000000000 037777770474657374 00 000100", false, "cut in the class"},
      {"123401000001000000000000 037777770474657374", false, "a name without end"},
      {"123401000001000000000000 3f77", false, "a label beyond the end"},
      {"123401000001000000000000 c00c 00010001", false, "a pointer"},
      {"1234010000010000000000", false, "11 octets"},
      {"", false, "nothing"},
  };
  for (const auto& row : kRows) {
    CAPTURE(row.what);
    CHECK(is_dns_query(hex(row.octets)) == row.query);
  }
}

TEST_CASE("QUIC Initials, and what only resembles one") {
  static constexpr struct {
    const char* octets;
    std::size_t size;
    bool initial;
    const char* what;
  } kRows[] = {
      {"c3 00000001 08 0102030405060708", 1200, true, "version 1"},
      {"d3 6b3343cf 08 0102030405060708", 1200, true, "version 2"},
      {"c3 00000001 14", 1500, true, "longest connection ID"},
      {"c3 00000001 08", 1199, false, "too small"},
      {"c3 00000001 07", 1200, false, "short connection ID"},
      {"c3 00000001 15", 1200, false, "connection ID too long"},
      {"e3 00000001 08", 1200, false, "a Handshake packet"},
      {"43 00000001 08", 1200, false, "short header"},
      {"83 00000001 08", 1200, false, "fixed bit clear"},
      {"c3 6b3343cf 08", 1200, false, "version 2's Retry"},
      {"c3 00000000 08", 1200, false, "version negotiation"},
      {"", 0, false, "nothing"},
  };
  for (const auto& row : kRows) {
    CAPTURE(row.what);
    Buffer octets = hex(row.octets);
    octets.resize(row.size);
    CHECK(is_quic_initial(octets) == row.initial);
  }
}
