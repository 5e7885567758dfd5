// SPDX-License-Identifier: BSD-3-Clause
#include "engine/node_config.hpp"

#include <doctest/doctest.h>

#include "support/node_fakes.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::NodeConfig;

TEST_CASE("services are found by address, port and protocol") {
  const NodeConfig config(basic_options());
  REQUIRE(config.service_at(endpoint("198.51.100.1:80"), Protocol::tcp) != nullptr);
  CHECK(config.service_at(endpoint("198.51.100.1:80"), Protocol::tcp)->options->name == "web");
  CHECK(config.service_at(endpoint("[2001:db8:1::1]:80"), Protocol::tcp)->options->name == "web6");
  CHECK(config.service_at(endpoint("198.51.100.1:80"), Protocol::udp) == nullptr);
  CHECK(config.service_at(endpoint("198.51.100.1:81"), Protocol::tcp) == nullptr);
}

TEST_CASE("a server's packet belongs to a service by source, and by destination where that tells more (decision 2)") {
  auto options = basic_options();
  engine::Service outside = options.services[0];
  outside.name = "outside";
  outside.address = endpoint("198.51.100.9:80");
  outside.forward = engine::ForwardMode::full_nat;
  outside.full_nat = {{address("10.1.0.1")}, 2000, 2999};
  outside.backends.push_back(backend("only", "10.0.0.9:8080"));
  options.services.push_back(outside);
  const NodeConfig config(options);
  const auto service_of = [&](std::string_view src, std::string_view dst) {
    const auto ref = config.server_of(tcp_tuple(src, dst));
    return ref ? config.service(ref->service).options->name : std::string("none");
  };
  CHECK(service_of("10.0.0.1:8080", "203.0.113.7:5000") == "web");
  CHECK(service_of("10.0.0.1:8080", "10.1.0.1:2000") == "outside");
  CHECK(service_of("10.0.0.1:8080", "10.1.0.1:3000") == "web");
  CHECK(service_of("10.0.0.9:8080", "10.1.0.1:2500") == "outside");
  CHECK(service_of("10.0.0.9:8080", "203.0.113.7:5000") == "none");
  CHECK(service_of("10.0.0.1:8081", "203.0.113.7:5000") == "none");
  CHECK(service_of("10.0.0.5:8080", "203.0.113.7:5000") == "none");
}

TEST_CASE("disabled servers belong to nothing, joining ones do") {
  auto options = basic_options();
  options.services[0].backends[0].state = engine::BackendState::disabled;
  options.services[0].backends[1].state = engine::BackendState::joining;
  const NodeConfig config(options);
  CHECK_FALSE(config.server_of(tcp_tuple("10.0.0.1:8080", "203.0.113.7:5000")));
  CHECK(config.server_of(tcp_tuple("10.0.0.2:8080", "203.0.113.7:5000")));
}

TEST_CASE("servers of another family than their service take no sessions") {
  auto options = basic_options();
  for (auto& b : options.services[0].backends) b.address = endpoint("[2001:db8:2::1]:8080");
  const NodeConfig config(options);
  std::uint16_t rank = 0;
  CHECK(config.service(0).pool.ranks(tcp_tuple("203.0.113.7:5000", "198.51.100.1:80"), {&rank, 1}) == 0);
}

TEST_CASE("own addresses by family") {
  const NodeConfig config(basic_options());
  CHECK(*config.local_ip(Family::v4) == address("192.0.2.10"));
  CHECK(*config.local_ip(Family::v6) == address("2001:db8:10::10"));
  CHECK(config.is_local(address("192.0.2.10")));
  CHECK_FALSE(config.is_local(address("192.0.2.11")));
}

TEST_CASE("ACT mode is off unless there are networks; with it, ports are chosen as configured") {
  CHECK(NodeConfig(basic_options()).nat() == nullptr);
  auto options = nat_options();
  options.nat->port_parity = true;
  options.nat->untranslated = {*Prefix::parse("192.168.0.0/16")};
  options.nat->past_ranges = {options.nat->ranges};
  const NodeConfig config(options);
  const engine::NatState* nat = config.nat();
  REQUIRE(nat != nullptr);
  CHECK(nat->ranges.range_of(address("10.0.0.1"))->first_port == 2048);
  CHECK(nat->past.size() == 1);
  CHECK(nat->choice.key == options.placement_key);
  CHECK(nat->choice.slice == 3);
  CHECK(nat->choice.slices == 16);
  CHECK(nat->choice.keep_parity);
  CHECK(nat->choice.reserved == options.port);
  CHECK(nat->use_of(Protocol::udp) == policy::PortUse::endpoint);
  CHECK(nat->use_of(Protocol::tcp) == policy::PortUse::session);
  CHECK(nat->is_untranslated(address("192.168.3.4")));
  CHECK_FALSE(nat->is_untranslated(address("198.51.100.1")));
}
