// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "io/lab.hpp"
#include "io/message_socket.hpp"
#include "io/packet_sender.hpp"

using namespace asrp;
using namespace asrp::io;
using namespace asrp::test;

namespace {

std::unique_ptr<MessageSocket> socket_on(std::uint16_t port, PeerErrors errors = PeerErrors::watch) {
  auto opened = open_message_socket(port, errors);
  REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : opened.error().to_string()));
  return std::move(*opened);
}

}  // namespace

TEST_CASE("messages come with both endpoints as they were on the wire, secondary addresses too") {
  Lab lab;
  run("ip addr add 10.1.0.9/24 dev n0");
  run("ip addr add 10.9.0.1/32 dev lo");
  run("ip addr add fd01::9/64 dev n0 nodad");
  auto socket = socket_on(51200);
  CHECK(socket->receive().empty());
  lab.client.enter();
  const UniqueFd v4 = udp_socket(at("10.1.0.2:4000"));
  const UniqueFd v6 = udp_socket(at("[fd01::2]:4000"));
  for (const char* to : {"10.1.0.1:51200", "10.1.0.9:51200", "10.9.0.1:51200"}) {
    send_to(v4.get(), at(to), Buffer{1, 2, 3});
    REQUIRE(wait_readable(socket->descriptor()));
    const auto burst = socket->receive();
    REQUIRE(burst.size() == 1);
    CHECK(burst[0].from == at("10.1.0.2:4000"));
    CHECK(burst[0].to == at(to));
    CHECK(Buffer(burst[0].octets.begin(), burst[0].octets.end()) == Buffer{1, 2, 3});
  }
  send_to(v6.get(), at("[fd01::9]:51200"), Buffer(3000, 7));
  REQUIRE(wait_readable(socket->descriptor()));
  const auto burst = socket->receive();
  REQUIRE(burst.size() == 1);
  CHECK(burst[0].from == at("[fd01::2]:4000"));
  CHECK(burst[0].to == at("[fd01::9]:51200"));
  CHECK(burst[0].octets.size() == 2048);
}

TEST_CASE("bursts of both families come in few calls, none lost") {
  const Namespace ns;
  auto socket = socket_on(51200);
  const UniqueFd v4 = udp_socket(at("127.0.0.1:0"));
  const UniqueFd v6 = udp_socket(at("[::1]:0"));
  for (std::uint8_t i = 0; i < 100; ++i) {
    send_to(v4.get(), at("127.0.0.1:51200"), Buffer{i});
    send_to(v6.get(), at("[::1]:51200"), Buffer{i});
  }
  std::size_t calls = 0;
  std::uint8_t next4 = 0;
  std::uint8_t next6 = 0;
  while (wait_readable(socket->descriptor(), 50) && calls < 100) {
    ++calls;
    for (const ReceivedMessage& m : socket->receive()) CHECK(m.octets[0] == (m.from.address.is_v4() ? next4++ : next6++));
  }
  CHECK(next4 == 100);
  CHECK(next6 == 100);
  CHECK(calls <= 6);
}

TEST_CASE("port unreachable about what left by raw sockets is told, other errors are not") {
  Lab lab;
  auto socket = socket_on(51200);
  auto sender = open_raw_sender({0});
  REQUIRE(sender.has_value());
  const std::vector<Buffer> packets = {
      udp_packet(at("10.2.0.1:23456"), at("10.2.0.2:51200"), Buffer{1}),
      udp_packet(at("10.2.0.1:23457"), at("10.2.0.2:51200"), Buffer{1}),
      udp_packet(at("10.1.0.1:23456"), at("10.1.0.2:51201"), Buffer{1}),
      udp_packet(at("[fd02::1]:23458"), at("[fd02::2]:51200"), Buffer{1}),
  };
  for (const Buffer& p : packets) (*sender)->stage(p, 0);
  (*sender)->flush();
  struct Told {
    IpAddress peer;
    std::uint16_t port;
    Buffer message;
  };
  std::vector<Told> told;
  while (told.size() < 3 && wait_readable(socket->descriptor())) {
    for (const auto& e : socket->unreachable_peers())
      told.push_back({e.peer, e.source_port, Buffer(e.message.begin(), e.message.end())});
    CHECK(socket->receive().empty());
  }
  REQUIRE(told.size() == 3);
  std::sort(told.begin(), told.end(), [](const Told& a, const Told& b) { return a.port < b.port; });
  CHECK(told[0].peer == *IpAddress::parse("10.2.0.2"));
  CHECK(told[0].port == 23456);
  CHECK(told[0].message == Buffer{1});
  CHECK(told[1].port == 23457);
  CHECK(told[2].peer == *IpAddress::parse("fd02::2"));
  CHECK(told[2].port == 23458);
  CHECK(told[2].message == Buffer{1});
  CHECK_FALSE(wait_readable(socket->descriptor(), 0));
}

TEST_CASE("who does not want to hear of unreachable peers is not woken by them") {
  Lab lab;
  auto socket = socket_on(51200, PeerErrors::ignore);
  const auto watching = open_raw_sender({0});
  REQUIRE(watching.has_value());
  const UniqueFd canary = UniqueFd(::socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMP));
  const Buffer packet = udp_packet(at("10.2.0.1:23456"), at("10.2.0.2:51200"), Buffer{1});
  (*watching)->stage(packet, 0);
  (*watching)->flush();
  REQUIRE(wait_readable(canary.get()));  // the error has come
  CHECK_FALSE(wait_readable(socket->descriptor(), 0));
  CHECK(socket->receive().empty());
  CHECK(socket->unreachable_peers().empty());
}

TEST_CASE("a port that is taken is an error that says so; IPv6 disabled by sysctl is none") {
  const Namespace ns;
  sysctl("net/ipv6/conf/all/disable_ipv6", "1");
  auto socket = socket_on(51200);
  auto second = open_message_socket(51200, PeerErrors::watch);
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().error_number == EADDRINUSE);
  const UniqueFd v4 = udp_socket(at("127.0.0.1:0"));
  send_to(v4.get(), at("127.0.0.1:51200"), Buffer{5});
  REQUIRE(wait_readable(socket->descriptor()));
  CHECK(socket->receive().size() == 1);
}
