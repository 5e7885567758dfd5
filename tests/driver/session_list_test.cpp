// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-node/session_list.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::node;
using nlohmann::json;

namespace {

io::Conntrack::Detail detail(const std::string& client, const std::string& service = "198.51.100.1:80",
                             const std::string& server = "10.0.0.1:8080") {
  io::Conntrack::Detail out;
  out.flow.tuples = {test::tcp_tuple(client, service), test::tcp_tuple(client, server)};
  out.state = "ESTABLISHED";
  out.timeout = 77;
  return out;
}

std::vector<engine::Service> services() {
  engine::Service web;
  web.name = "web";
  web.address = *Endpoint::parse("198.51.100.1:80");
  engine::Backend server;
  server.id = "s1";
  server.address = *Endpoint::parse("10.0.0.1:8080");
  web.backends.push_back(server);
  engine::Service dns = web;
  dns.name = "dns";
  dns.protocol = Protocol::udp;
  return {web, dns};
}

io::Conntrack::Detail counted(const std::string& client, std::uint64_t from_client, std::uint64_t from_server) {
  auto out = detail(client);
  out.from_client = io::Traffic{1, from_client};
  out.from_server = io::Traffic{2, from_server};
  return out;
}

}  // namespace

TEST_CASE("session list: service and server are found by protocol, address and port") {
  const SessionDirectory directory(services());
  const auto known = directory.place_of(detail("192.0.2.1:1000").flow.tuples);
  CHECK(known.service == "web");
  CHECK(known.server == "s1");
  CHECK(directory.place_of(detail("192.0.2.1:1000", "198.51.100.1:80", "10.0.0.1:8081").flow.tuples).server.empty());
  CHECK(directory.place_of(detail("192.0.2.1:1000", "198.51.100.1:81").flow.tuples).service.empty());
  auto udp = detail("192.0.2.1:1000").flow.tuples;
  udp.client_side.protocol = udp.server_side.protocol = Protocol::udp;
  CHECK(directory.place_of(udp).service == "dns");
  CHECK(directory.has_service("dns"));
  CHECK(!directory.has_service("smtp"));
}

TEST_CASE("session list: each filter by itself matches what it says, and nothing else") {
  const auto session = detail("192.0.2.1:1000");
  const SessionDirectory::Place place{"web", "s1"};
  const auto good = [&](const SessionFilter& filter) { return matches(filter, session, place); };
  CHECK(good({}));
  SessionFilter filter;
  for (const auto& [client, expected] :
       {std::pair("192.0.2.0/24", true), {"192.0.2.1", true}, {"192.0.2.2", false}, {"::/0", false}}) {
    filter = {};
    filter.client = Prefix::parse(client);
    CHECK(good(filter) == expected);
  }
  for (const auto& [server, expected] : {std::pair("10.0.0.0/8", true),
                                         {"10.0.0.1", true},
                                         {"10.0.0.1:8080", true},
                                         {"10.0.0.1:80", false},
                                         {"10.0.0.2", false},
                                         {"s1", true},
                                         {"s2", false},
                                         {"198.51.100.1", false}}) {
    filter = {};
    CHECK(read_server(server, filter));
    CHECK(good(filter) == expected);
  }
  CHECK(!read_server("", filter));
  filter = {};
  filter.service = "web";
  CHECK(good(filter));
  filter.service = "dns";
  CHECK(!good(filter));
  filter = {};
  filter.protocol = Protocol::tcp;
  CHECK(good(filter));
  filter.protocol = Protocol::udp;
  CHECK(!good(filter));
}

TEST_CASE("session list: states of the protocol, and of the backup") {
  auto session = detail("192.0.2.1:1000");
  const auto good = [&](const char* state) {
    SessionFilter filter;
    filter.state = state;
    return matches(filter, session, {});
  };
  CHECK(good("ESTABLISHED"));
  CHECK(!good("TIME_WAIT"));
  CHECK(!good("WAITING"));
  session.flow.mark = engine::FlowMark::waiting;
  CHECK(good("WAITING"));
  CHECK(!good("UNPROTECTED"));
  session.flow.mark = engine::FlowMark::unprotected;
  CHECK(good("UNPROTECTED"));
  CHECK(good("ESTABLISHED"));
}

TEST_CASE("session list: an object has what there is; octets only where they are counted") {
  CHECK(json::parse(session_object(detail("192.0.2.1:1000"), {"web", "s1"})) == json::parse(R"({"service":"web","server":"s1",
      "protocol":"tcp","client":"192.0.2.1:1000","address":"198.51.100.1:80","server_address":"10.0.0.1:8080",
      "source":"192.0.2.1:1000","state":"ESTABLISHED","backup":"yes","timeout_s":77})"));
  const json with = json::parse(session_object(counted("192.0.2.1:1000", 10, 20), {}));
  CHECK(with["octets_from_client"] == 10);
  CHECK(with["octets_from_server"] == 20);
  CHECK(with["packets_from_client"] == 1);
  CHECK(with["packets_from_server"] == 2);
}

TEST_CASE("talkers: by sessions and by octets, ties by address") {
  for (const auto by : {Talkers::By::sessions, Talkers::By::octets}) {
    Talkers talkers(by);
    for (const char* client : {"192.0.2.3:1", "192.0.2.1:1", "192.0.2.2:1", "192.0.2.2:2"}) talkers.add(counted(client, 1, 1));
    talkers.add(counted("192.0.2.9:1", 100, 200));
    const auto top = talkers.top(3);
    REQUIRE(top.size() == 3);
    const bool sessions = by == Talkers::By::sessions;
    CHECK(top[0].client.to_string() == (sessions ? "192.0.2.2" : "192.0.2.9"));
    CHECK(top[1].client.to_string() == (sessions ? "192.0.2.1" : "192.0.2.2"));
    CHECK(top[2].client.to_string() == (sessions ? "192.0.2.3" : "192.0.2.1"));
    CHECK(top[sessions ? 0 : 1].sessions == 2);
    CHECK(top[sessions ? 0 : 1].traffic.octets == 4);
    CHECK(talkers.error() == 0);
    CHECK(talkers.top(100).size() == 4);
  }
}

TEST_CASE("talkers: in bounded memory who has much is found among any number, and no figure is too low by more than is told") {
  Talkers talkers(Talkers::By::sessions, 8);
  std::uint32_t other = 0;
  const auto add_others = [&](int count) {
    for (int i = 0; i < count; ++i) {
      auto session = detail("192.0.2.1:1");
      session.flow.tuples.client_side.src.address = IpAddress::v4(0x0a000000 + other++);
      talkers.add(session);
    }
  };
  for (int i = 0; i < 50; ++i) {
    add_others(20);
    for (int j = 0; j < 10; ++j) talkers.add(detail("192.0.2.1:1"));
    talkers.add(detail("192.0.2.2:1"));
    talkers.add(detail("192.0.2.2:1"));
    talkers.add(detail("192.0.2.2:1"));
    talkers.add(detail("192.0.2.2:1"));
    talkers.add(detail("192.0.2.2:1"));
  }
  const auto top = talkers.top(2);
  REQUIRE(top.size() == 2);
  CHECK(top[0].client.to_string() == "192.0.2.1");
  CHECK(top[1].client.to_string() == "192.0.2.2");
  CHECK(talkers.error() > 0);
  CHECK(talkers.error() < 250);
  CHECK(top[0].sessions <= 500);
  CHECK(top[0].sessions + talkers.error() >= 500);
  CHECK(talkers.top(1000).size() <= 16);
}
