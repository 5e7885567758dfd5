// SPDX-License-Identifier: BSD-3-Clause
// What tuples belong to, and which sessions may exist.
#include <doctest/doctest.h>

#include "engine/node_config.hpp"
#include "support/node_fakes.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::NodeConfig;
using engine::Side;

TEST_CASE("a packet to a service is a client's, one from a server's address is that server's") {
  const NodeConfig config(basic_options());
  const Side client = config.side_of(tcp_tuple("203.0.113.7:5000", "198.51.100.1:80"));
  CHECK(client.is_clients());
  REQUIRE(client.service != nullptr);
  CHECK(client.service->options->name == "web");
  const Side server = config.side_of(tcp_tuple("10.0.0.2:8080", "203.0.113.7:5000"));
  CHECK(server.is_servers());
  REQUIRE(server.service != nullptr);
  CHECK(server.service->options->backends[server.backend].id == "s2");
  const Side neither = config.side_of(tcp_tuple("203.0.113.7:5000", "203.0.113.8:80"));
  CHECK(neither.kind == Side::Kind::none);
}

TEST_CASE("sessions of a service may exist if they comply with its rules; its server has the backup [spec 5-1]") {
  const NodeConfig config(basic_options());
  const Tuple client_side = tcp_tuple("203.0.113.7:5000", "198.51.100.1:80");
  const TuplePair session{client_side, tcp_tuple("203.0.113.7:5000", "10.0.0.2:8080")};
  CHECK(config.may_exist(session));
  CHECK(config.holder_of(session) == address("10.0.0.2"));
  CHECK_FALSE(config.may_exist({client_side, tcp_tuple("203.0.113.7:5000", "10.0.0.9:8080")}));
  CHECK_FALSE(config.may_exist({client_side, tcp_tuple("203.0.113.8:5000", "10.0.0.2:8080")}));
  CHECK_FALSE(config.may_exist({tcp_tuple("203.0.113.7:5000", "198.51.100.9:80"), session.server_side}));
}

TEST_CASE("one server's holder knows all its sessions, and no other server's") {
  const NodeConfig config(basic_options());
  const TuplePair one{tcp_tuple("203.0.113.7:5000", "198.51.100.1:80"), tcp_tuple("203.0.113.7:5000", "10.0.0.2:8080")};
  const TuplePair two{tcp_tuple("203.0.113.8:5000", "198.51.100.1:80"), tcp_tuple("203.0.113.8:5000", "10.0.0.2:8080")};
  const TuplePair elsewhere{one.client_side, tcp_tuple("203.0.113.7:5000", "10.0.0.3:8080")};
  CHECK(config.same_holder(one, two));
  CHECK_FALSE(config.same_holder(one, elsewhere));
}

TEST_CASE("ACT: a packet from our networks is a client's, one to an outside endpoint is for whom that endpoint is or was") {
  auto options = nat_options();
  options.nat->untranslated = {*Prefix::parse("192.168.0.0/16")};
  options.nat->past_ranges = {options.nat->ranges};
  options.nat->past_ranges[0].networks[0].outside = {*Prefix::parse("203.0.113.64/30")};
  const NodeConfig config(options);
  const Side client = config.side_of(tcp_tuple("10.0.0.1:5000", "198.51.100.1:80"));
  CHECK(client.kind == Side::Kind::act_client);
  CHECK(client.is_clients());
  CHECK(client.is_act());
  CHECK(client.client == address("10.0.0.1"));
  CHECK(client.range.first_port == 2048);
  const Side outside = config.side_of(tcp_tuple("198.51.100.1:80", "203.0.113.8:2048"));
  CHECK(outside.kind == Side::Kind::act_server);
  CHECK(outside.is_servers());
  CHECK(outside.client == address("10.0.0.1"));
  CHECK(config.side_of(tcp_tuple("198.51.100.1:80", "203.0.113.64:2048")).client == address("10.0.0.1"));
  // Between two clients it is the sender's.
  CHECK(config.side_of(tcp_tuple("10.0.0.1:5000", "203.0.113.8:3100")).kind == Side::Kind::act_client);
  for (const Tuple& foreign : {tcp_tuple("10.0.9.1:5000", "198.51.100.1:80"), tcp_tuple("198.51.100.1:80", "203.0.113.8:1023"),
                               tcp_tuple("10.0.0.1:5000", "192.168.3.4:80")}) {
    CHECK(config.side_of(foreign).kind == Side::Kind::none);
  }
}

TEST_CASE("ACT: the client has the backup of its sessions, and knows all of its own [spec 5-1]") {
  auto options = nat_options();
  options.services = basic_options().services;  // an engine may have both modes
  const NodeConfig config(options);
  const auto act = [](std::string_view inside, std::string_view outside) {
    return TuplePair{tcp_tuple(inside, "198.51.100.7:80"), tcp_tuple(outside, "198.51.100.7:80")};
  };
  const TuplePair session = act("10.0.0.1:5000", "203.0.113.8:2048");
  CHECK(config.may_exist(session));
  CHECK(config.is_act(session));
  CHECK(config.holder_of(session) == address("10.0.0.1"));
  CHECK(config.same_holder(session, act("10.0.0.1:6000", "203.0.113.8:2049")));
  CHECK_FALSE(config.same_holder(session, act("10.0.0.2:5000", "203.0.113.8:3072")));
  CHECK_FALSE(config.may_exist(act("10.0.0.2:5000", "203.0.113.8:2048")));
  const TuplePair psv{tcp_tuple("203.0.113.7:5000", "198.51.100.1:80"), tcp_tuple("203.0.113.7:5000", "10.0.0.2:8080")};
  CHECK(config.may_exist(psv));
  CHECK_FALSE(config.is_act(psv));
  CHECK_FALSE(config.same_holder(session, psv));
}
