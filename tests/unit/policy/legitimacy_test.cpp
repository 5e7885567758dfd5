// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/legitimacy.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::policy;
using namespace asrp::test;

namespace {

ServiceRule nat_rule() {
  ServiceRule rule;
  rule.address = endpoint("198.51.100.1:80");
  rule.backends = {endpoint("10.0.0.1:8080"), endpoint("10.0.0.2:8080")};
  return rule;
}

ServiceRule full_nat_rule() {
  ServiceRule rule = nat_rule();
  rule.full_nat = true;
  rule.range = NatRange(HashKey{}, {address("10.1.0.1")}, 2000, 2999);
  return rule;
}

TuplePair pair(std::string_view client, std::string_view service, std::string_view outside, std::string_view server) {
  return {tcp_tuple(client, service), tcp_tuple(outside, server)};
}

}  // namespace

TEST_CASE("which sessions a cluster can have [spec 5-1]") {
  const char* c = "203.0.113.7:5000";
  const char* vip = "198.51.100.1:80";
  CHECK(check_legitimacy(nat_rule(), pair(c, vip, c, "10.0.0.2:8080")) == Legitimacy::legitimate);
  CHECK(check_legitimacy(nat_rule(), pair(c, "198.51.100.1:81", c, "10.0.0.2:8080")) == Legitimacy::service);
  CHECK(check_legitimacy(nat_rule(), pair(c, "198.51.100.2:80", c, "10.0.0.2:8080")) == Legitimacy::service);
  CHECK(check_legitimacy(nat_rule(), pair(c, vip, c, "10.0.0.3:8080")) == Legitimacy::backend);
  CHECK(check_legitimacy(nat_rule(), pair(c, vip, c, "10.0.0.2:22")) == Legitimacy::backend);
  CHECK(check_legitimacy(nat_rule(), pair(c, vip, "203.0.113.7:5001", "10.0.0.2:8080")) == Legitimacy::client);
  CHECK(check_legitimacy(nat_rule(), pair(c, vip, "10.1.0.1:2000", "10.0.0.2:8080")) == Legitimacy::client);

  CHECK(check_legitimacy(full_nat_rule(), pair(c, vip, "10.1.0.1:2000", "10.0.0.2:8080")) == Legitimacy::legitimate);
  CHECK(check_legitimacy(full_nat_rule(), pair(c, vip, "10.1.0.1:2999", "10.0.0.2:8080")) == Legitimacy::legitimate);
  CHECK(check_legitimacy(full_nat_rule(), pair(c, vip, "10.1.0.1:1999", "10.0.0.2:8080")) == Legitimacy::range);
  CHECK(check_legitimacy(full_nat_rule(), pair(c, vip, "10.1.0.1:3000", "10.0.0.2:8080")) == Legitimacy::range);
  CHECK(check_legitimacy(full_nat_rule(), pair(c, vip, "10.1.0.2:2000", "10.0.0.2:8080")) == Legitimacy::range);
  CHECK(check_legitimacy(full_nat_rule(), pair(c, vip, c, "10.0.0.2:8080")) == Legitimacy::range);
}

TEST_CASE("protocol and family must be one [spec 5-1]") {
  TuplePair udp_session = pair("203.0.113.7:5000", "198.51.100.1:80", "203.0.113.7:5000", "10.0.0.2:8080");
  udp_session.client_side.protocol = udp_session.server_side.protocol = Protocol::udp;
  CHECK(check_legitimacy(nat_rule(), udp_session) == Legitimacy::service);
  ServiceRule mixed = nat_rule();
  mixed.backends.push_back(endpoint("[2001:db8::2]:8080"));
  CHECK(check_legitimacy(mixed, pair("203.0.113.7:5000", "198.51.100.1:80", "[2001:db8::1]:5000", "[2001:db8::2]:8080")) ==
        Legitimacy::family);
}

TEST_CASE("each outcome has a name") {
  for (int i = 0; i <= static_cast<int>(Legitimacy::range); ++i) CHECK(to_string(static_cast<Legitimacy>(i)) != "?");
}
