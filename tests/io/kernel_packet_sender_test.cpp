// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include "io/lab.hpp"
#include "io/packet_sender.hpp"

using namespace asrp;
using namespace asrp::io;
using namespace asrp::test;

namespace {

std::unique_ptr<PacketSender> sender(std::initializer_list<std::uint32_t> marks) {
  auto opened = open_raw_sender(marks);
  REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : opened.error().to_string()));
  return std::move(*opened);
}

}  // namespace

TEST_CASE("packets with foreign sources leave in order, with their mark, in both families") {
  Lab lab;
  lab.server.enter();
  const UniqueFd v4 = udp_socket(at("10.2.0.2:7000"));
  const UniqueFd v6 = udp_socket(at("[fd02::2]:7000"));
  lab.node.enter();
  run("iptables -t mangle -A OUTPUT -m mark --mark 0x40000000/0x40000000 -j DROP");
  auto out = sender({0x40000000, 0x80000000, 0});
  std::vector<Buffer> packets;
  for (std::uint8_t i = 0; i < 100; ++i) {
    packets.push_back(udp_packet(at("192.0.2.7:1234"), at("10.2.0.2:7000"), Buffer{i}));
    packets.push_back(udp_packet(at("[2001:db8::7]:1234"), at("[fd02::2]:7000"), Buffer{i}));
  }
  const Buffer dropped = udp_packet(at("192.0.2.7:1234"), at("10.2.0.2:7000"), Buffer{0xee});
  out->stage(dropped, 0x40000000);
  for (const Buffer& p : packets) out->stage(p, 0x80000000);
  out->flush();
  lab.server.enter();
  Endpoint from;
  for (std::uint8_t i = 0; i < 100; ++i) {
    CHECK(receive(v4.get(), &from) == Buffer{i});
    CHECK(from == at("192.0.2.7:1234"));
    CHECK(receive(v6.get(), &from) == Buffer{i});
    CHECK(from == at("[2001:db8::7]:1234"));
  }
  CHECK(out->statistics().sent == 200);
  CHECK(out->statistics().failed == 1);  // the guard's refusal comes back as EPERM
}

TEST_CASE("what is larger than the route's MTU and must not be cut, has no route or is no packet is counted; the others go") {
  Lab lab;
  lab.server.enter();
  const UniqueFd receiver = udp_socket(at("10.2.0.2:7000"));
  lab.node.enter();
  auto out = sender({0});
  Buffer large = udp_packet(at("192.0.2.7:1234"), at("10.2.0.2:7000"), Buffer(2000));
  large[6] = 0x40;  // DF
  Buffer large6 = udp_packet(at("[2001:db8::7]:1234"), at("[fd02::2]:7000"), Buffer(2000));
  large6[6] = 6;  // TCP is never cut
  const Buffer nowhere = udp_packet(at("192.0.2.7:1234"), at("198.51.100.1:7000"), Buffer{1});
  const Buffer good = udp_packet(at("192.0.2.7:1234"), at("10.2.0.2:7000"), Buffer{1, 2});
  for (const Buffer* p : std::initializer_list<const Buffer*>{&good, &large, &nowhere, &large6, &good}) out->stage(*p, 0);
  out->stage(Octets(good).first(10), 0);
  out->stage({}, 0);
  out->flush();
  lab.server.enter();
  CHECK(receive(receiver.get()) == Buffer{1, 2});
  CHECK(receive(receiver.get()) == Buffer{1, 2});
  const auto statistics = out->statistics();
  CHECK(statistics.sent == 2);
  CHECK(statistics.too_big == 2);
  CHECK(statistics.failed == 3);
}

TEST_CASE("a datagram above the route's MTU goes in fragments, also through conntrack and its translation") {
  Lab lab;
  lab.server.enter();
  const UniqueFd v4 = udp_socket(at("10.2.0.2:7000"));
  const UniqueFd v6 = udp_socket(at("[fd02::2]:7000"));
  lab.node.enter();
  bool translated = false;
  SUBCASE("as it is") {}
  SUBCASE("translated") {
    translated = true;
    run("iptables -t nat -A OUTPUT -p udp --dport 7001 -j DNAT --to-destination 10.2.0.2:7000");
    run("ip6tables -t nat -A OUTPUT -p udp --dport 7001 -j DNAT --to-destination [fd02::2]:7000");
  }
  auto out = sender({0x40000000});
  for (const std::size_t size : {1473u, 4000u, 4003u, 60000u}) {
    Buffer data(size);
    for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::uint8_t>(i * 7 / 3);
    const std::string port = translated ? "7001" : "7000";
    Buffer packet4 = udp_packet(at("192.0.2.7:1234"), at(("10.2.0.2:" + port).c_str()), data);
    packet4[6] = 0;  // may be cut
    const Buffer packet6 = udp_packet(at("[2001:db8::7]:1234"), at(("[fd02::2]:" + port).c_str()), data);
    out->stage(packet4, 0x40000000);
    out->stage(packet6, 0x40000000);
    out->flush();
    lab.server.enter();
    CHECK(receive(v4.get()) == data);
    CHECK(receive(v6.get()) == data);
    lab.node.enter();
  }
  CHECK(out->statistics().sent == 8);
  CHECK(out->statistics().too_big == 0);
}

TEST_CASE("where routes depend on the source a packet goes by that of its header, if asked for") {
  const Namespace other;
  const Namespace host;
  run("ip link add d0 type veth peer name d1");
  run("ip link set d0 up");
  run("ip link set d1 up");
  run("ip addr add 10.0.0.1/24 dev d0");
  run("ip addr add fd00::1/64 dev d0 nodad");
  run("ip link add d2 type veth peer name d3 netns " + other.path());
  run("ip link set d2 up");
  run("ip addr add 10.7.0.1/24 dev d2");
  run("ip addr add fd07::1/64 dev d2 nodad");
  run("ip route add default via 10.0.0.2");
  run("ip -6 route add default via fd00::2");
  run("ip route add default via 10.7.0.2 table 7");
  run("ip rule add from 10.7.0.1 table 7");
  run("ip -6 route add default via fd07::2 table 7");
  run("ip -6 rule add from fd07::1 table 7");
  other.enter();
  run("ip link set d3 up");
  run("ip addr add 10.7.0.2/24 dev d3");
  run("ip addr add fd07::2/64 dev d3 nodad");
  run("ip addr add 198.51.100.1/32 dev lo");
  run("ip addr add 2001:db8::1/128 dev lo nodad");
  sysctl("net/ipv4/conf/all/rp_filter", "0");
  const UniqueFd v4 = udp_socket(at("198.51.100.1:7000"));
  const UniqueFd v6 = udp_socket(at("[2001:db8::1]:7000"));
  host.enter();
  auto out = open_raw_sender({0x80000000}, RouteBy::source_too);
  REQUIRE(out.has_value());
  const Buffer one = udp_packet(at("10.7.0.1:1234"), at("198.51.100.1:7000"), Buffer{4});
  const Buffer two = udp_packet(at("[fd07::1]:1234"), at("[2001:db8::1]:7000"), Buffer{6});
  const Buffer elsewhere = udp_packet(at("10.0.0.1:1234"), at("198.51.100.1:7000"), Buffer{9});
  for (const Buffer* packet : {&one, &two, &elsewhere}) (*out)->stage(*packet, 0x80000000);
  (*out)->flush();
  CHECK((*out)->statistics().sent == 3);
  CHECK((*out)->statistics().failed == 0);
  other.enter();
  Endpoint from;
  CHECK(receive(v4.get(), &from) == Buffer{4});
  CHECK(from == at("10.7.0.1:1234"));
  CHECK(receive(v6.get(), &from) == Buffer{6});
  CHECK_FALSE(wait_readable(v4.get(), 100));
}
