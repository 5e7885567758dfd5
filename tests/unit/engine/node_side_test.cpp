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
