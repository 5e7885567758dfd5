// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/act_rule.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"
#include "support/policy_builders.hpp"

using namespace asrp;
using namespace asrp::policy;
using namespace asrp::test;

namespace {

// 10.0.0.0 has 203.0.113.8:1024-2047, 10.0.0.1 has 2048-3071, and so on.
const PortRanges& office() {
  static const PortRanges ranges{{{network({"10.0.0.0/24"}, {"203.0.113.8/30"})}, {}}};
  return ranges;
}

Legitimacy judge(std::string_view client, std::string_view to, std::string_view outside, std::string_view server,
                 std::span<const PortRanges> past = {}) {
  return check_legitimacy(office(), past, {tcp_tuple(client, to), tcp_tuple(outside, server)});
}

constexpr const char* kClient = "10.0.0.1:5000";
constexpr const char* kServer = "198.51.100.1:80";

}  // namespace

TEST_CASE("ACT: the outside endpoint is one of the client's own range, in any slice [spec 5-1]") {
  CHECK(judge(kClient, kServer, "203.0.113.8:2048", kServer) == Legitimacy::legitimate);
  CHECK(judge(kClient, kServer, "203.0.113.8:3071", kServer) == Legitimacy::legitimate);
  CHECK(judge(kClient, kServer, "203.0.113.8:2047", kServer) == Legitimacy::range);
  CHECK(judge(kClient, kServer, "203.0.113.8:3072", kServer) == Legitimacy::range);
  CHECK(judge(kClient, kServer, "203.0.113.9:2048", kServer) == Legitimacy::range);
  CHECK(judge(kClient, kServer, "198.51.100.77:2048", kServer) == Legitimacy::range);  // a foreign outside address
  CHECK(judge(kClient, kServer, kClient, kServer) == Legitimacy::range);
  CHECK(judge("10.0.1.1:5000", kServer, "203.0.113.8:2048", kServer) == Legitimacy::client);
  CHECK(judge("10.0.0.2:5000", kServer, "203.0.113.8:2048", kServer) == Legitimacy::range);  // another client's range
}

TEST_CASE("ACT: both tuples go to the same destination [spec 5-1]") {
  CHECK(judge(kClient, kServer, "203.0.113.8:2048", "198.51.100.2:80") == Legitimacy::destination);
  CHECK(judge(kClient, kServer, "203.0.113.8:2048", "198.51.100.1:81") == Legitimacy::destination);
  CHECK(judge(kClient, kServer, "203.0.113.8:2048", "10.0.0.2:80") == Legitimacy::destination);
}

TEST_CASE("ACT: through another client's outside endpoint to that client and no other [spec 5-1]") {
  const char* mapping = "203.0.113.8:3100";  // of 10.0.0.2
  CHECK(judge(kClient, mapping, "203.0.113.8:2048", "10.0.0.2:7000") == Legitimacy::legitimate);
  CHECK(judge(kClient, mapping, "203.0.113.8:2048", "10.0.0.3:7000") == Legitimacy::destination);
  CHECK(judge(kClient, mapping, "203.0.113.8:2048", mapping) == Legitimacy::destination);
  CHECK(judge(kClient, mapping, "203.0.113.8:4100", "10.0.0.2:7000") == Legitimacy::range);
}

TEST_CASE("ACT: ranges of former configurations hold for their sessions [spec 5-1]") {
  const std::vector<PortRanges> past = {PortRanges({{network({"10.0.0.0/24"}, {"203.0.113.64/30"})}, {}})};
  CHECK(judge(kClient, kServer, "203.0.113.64:2048", kServer) == Legitimacy::range);
  CHECK(judge(kClient, kServer, "203.0.113.64:2048", kServer, past) == Legitimacy::legitimate);
  CHECK(judge(kClient, kServer, "203.0.113.64:3072", kServer, past) == Legitimacy::range);
  // Between two clients one may have its former endpoint and the other its new one.
  CHECK(judge(kClient, "203.0.113.64:3100", "203.0.113.8:2048", "10.0.0.2:7000", past) == Legitimacy::legitimate);
  CHECK(judge(kClient, "203.0.113.64:3100", "203.0.113.8:2048", "10.0.0.3:7000", past) == Legitimacy::destination);
}

TEST_CASE("ACT: families and protocols are not mixed") {
  const TuplePair sound{tcp_tuple(kClient, kServer), tcp_tuple("203.0.113.8:2048", kServer)};
  TuplePair session = sound;
  session.server_side.protocol = Protocol::udp;
  CHECK(check_legitimacy(office(), {}, session) == Legitimacy::family);
  for (Endpoint* end :
       {&session.client_side.src, &session.client_side.dst, &session.server_side.src, &session.server_side.dst}) {
    session.server_side.protocol = Protocol::tcp;
    REQUIRE(session == sound);
    const Endpoint before = *end;
    end->address = address("2001:db8::1");
    CHECK(check_legitimacy(office(), {}, session) == Legitimacy::family);
    *end = before;
  }
}

TEST_CASE("ACT: a prefix mapping keeps the port") {
  ClientNetwork whole = network({"fd00:1::/64"}, {"2001:db8:ff::/64"});
  whole.mapping = ClientMapping::prefix;
  const PortRanges ranges({{whole}, {}});
  const auto of = [&](std::string_view outside) {
    return check_legitimacy(ranges, {},
                            {tcp_tuple("[fd00:1::5]:5000", "[2001:db8::1]:80"), tcp_tuple(outside, "[2001:db8::1]:80")});
  };
  CHECK(of("[2001:db8:ff::5]:5000") == Legitimacy::legitimate);
  CHECK(of("[2001:db8:ff::5]:5001") == Legitimacy::range);
  CHECK(of("[2001:db8:ff::6]:5000") == Legitimacy::range);
}
