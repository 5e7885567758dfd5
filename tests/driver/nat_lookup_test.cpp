// SPDX-License-Identifier: BSD-3-Clause
// "Who was that": outside address and port to client, from the configuration alone.
#include "asrpd-node/nat_lookup.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "asrp/policy/port_choice.hpp"
#include "asrpd-node/config.hpp"
#include "driver/node_texts.hpp"
#include "support/builders.hpp"

using namespace asrp;
using nlohmann::json;

namespace {

constexpr const char* kNat = R"(
[node]
local_ips = ["198.51.100.1", "2001:db8:9::1"]
slice = 3
[keys]
placement_key = "000102030405060708090a0b0c0d0e0f"
cookie_keys = [{ key = "101112131415161718191a1b1c1d1e1f", use = "sign" }]
[[networks]]
name = "office"
clients = ["10.1.0.254/31", "10.1.1.0/30"]
outside = ["192.0.2.0/29"]
[[networks]]
name = "six"
clients = ["fd00:1::/64"]
outside = ["2001:db8:ff::/64"]
mapping = "prefix"
[[overrides]]
client = "10.1.1.2"
outside = "192.0.2.9"
ports = "1024-9999"
)";

node::NatConfig nat_of(const char* text) { return *test::config_of(text).nat; }

json lookup(const node::NatConfig& nat, const std::string& endpoint) {
  return json::parse("{" + node::lookup_members(nat, *Endpoint::parse(endpoint)) + "}");
}

}  // namespace

TEST_CASE("lookup names client, network, range and the gateway's slice") {
  const auto nat = nat_of(kNat);
  CHECK(lookup(nat, "192.0.2.0:2100") == json::parse(R"({"address":"192.0.2.0","port":2100,"client":"10.1.0.255",
    "network":"office","outside":"192.0.2.0","ports":"2048-3071","override":false,"slice":0})"));
  CHECK(lookup(nat, "192.0.2.0:3071")["slice"] == 15);
  CHECK(lookup(nat, "192.0.2.9:9999")["client"] == "10.1.1.2");
  CHECK(lookup(nat, "192.0.2.9:9999")["override"] == true);
  CHECK(lookup(nat, "[2001:db8:ff::7]:5")["client"] == "fd00:1::7");
  CHECK(!lookup(nat, "[2001:db8:ff::7]:5").contains("slice"));
}

TEST_CASE("lookup of what is nobody's says so") {
  const auto nat = nat_of(kNat);
  for (const char* endpoint : {"192.0.2.0:1023", "192.0.2.0:60000", "192.0.2.9:10000", "203.0.113.1:2000"})
    CHECK(lookup(nat, endpoint)["client"].is_null());
  CHECK(lookup(nat, "192.0.2.0:5120")["client"].is_null());  // by formula 10.1.1.2's, which has an override
}

TEST_CASE("each port is in the slice of the gateway that would choose it") {
  const auto nat = nat_of(kNat);
  const policy::PortRange range = *policy::PortRanges(nat.settings.ranges).range_of(test::address("10.1.1.2"));
  for (unsigned slice = 0; slice < 16; ++slice) {
    const policy::PortRange part = policy::slice_of(range, slice, 16);
    for (const std::uint16_t port : {part.first_port, part.last_port})
      CHECK(lookup(nat, "192.0.2.9:" + std::to_string(port))["slice"] == slice);
  }
}

TEST_CASE("ranges: one line for each client, over the ends of octets, and one for a network with addresses of its own") {
  std::vector<std::string> clients;
  node::put_ranges(nat_of(kNat), [&](std::string_view line) {
    const json object = json::parse(line);
    clients.push_back(object["client"].get<std::string>() + " " + object["outside"].get<std::string>() + " " +
                      object["ports"].get<std::string>() + (object["override"] == true ? " override" : ""));
    return true;
  });
  CHECK(clients == std::vector<std::string>{
                       "10.1.0.254 192.0.2.0 1024-2047",
                       "10.1.0.255 192.0.2.0 2048-3071",
                       "10.1.1.0 192.0.2.0 3072-4095",
                       "10.1.1.1 192.0.2.0 4096-5119",
                       "10.1.1.2 192.0.2.9 1024-9999 override",
                       "10.1.1.3 192.0.2.0 6144-7167",
                       "fd00:1::/64 2001:db8:ff::/64 kept",
                   });
  int seen = 0;
  node::put_ranges(nat_of(kNat), [&](std::string_view) { return ++seen < 2; });
  CHECK(seen == 2);
}

TEST_CASE("every range leads back to its client") {
  const auto nat = nat_of(kNat);
  node::put_ranges(nat, [&](std::string_view line) {
    const json object = json::parse(line);
    if (object["ports"] == "kept") return true;
    const std::string ports = object["ports"].get<std::string>();
    for (const std::string& port : {ports.substr(0, ports.find('-')), ports.substr(ports.find('-') + 1)})
      CHECK(lookup(nat, object["outside"].get<std::string>() + ":" + port)["client"] == object["client"]);
    return true;
  });
}

TEST_CASE("whose it was: former ranges, each with its time") {
  auto nat = nat_of(kNat);
  policy::PortRangeConfig former = nat.settings.ranges;
  former.networks[0].first_port = 2048;  // all move up by one
  nat.former = {{former, {"old", "six"}, 1000, 2000}};
  const json found = lookup(nat, "192.0.2.0:2100");
  CHECK(found["client"] == "10.1.0.255");
  REQUIRE(found["former"].size() == 1);
  CHECK(found["former"][0] == json::parse(R"({"client":"10.1.0.254","network":"old","outside":"192.0.2.0","ports":"2048-3071",
    "override":false,"slice":0,"began":1000,"ended":2000})"));
  CHECK(lookup(nat, "192.0.2.0:1024")["former"].empty());
  CHECK(lookup(nat, "203.0.113.1:2000")["client"].is_null());
  std::size_t today = 0;
  std::size_t before = 0;
  node::put_ranges(nat, [&](std::string_view line) {
    const json object = json::parse(line);
    ++(object.contains("ended") ? before : today);
    if (object.contains("ended")) CHECK(object["ended"] == 2000);
    return true;
  });
  CHECK(today == 7);
  CHECK(before == 7);
  CHECK(!lookup(nat_of(kNat), "192.0.2.0:2100").contains("former"));
}
