// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <memory>
#include <sstream>

#include "io/conntrack.hpp"
#include "io/lab.hpp"
#include "io/packet_sender.hpp"
#include "io/rule_set.hpp"

using namespace asrp;
using namespace asrp::io;
using namespace asrp::test;
using engine::Flow;
using engine::FlowEntry;
using engine::FlowMark;
using engine::InstallResult;

namespace {

std::unique_ptr<Conntrack> table(std::uint32_t creation_timeout = 30) {
  ConntrackOptions options;
  options.creation_timeout = creation_timeout;
  auto opened = Conntrack::open(options);
  REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : opened.error().to_string()));
  return std::move(*opened);
}

// What the node needs for translation: an empty chain of ours in the nat table, and a rule that uses conntrack.
RuleSet hooks(Family family) {
  return {family,
          {{"nat", "POSTROUTING", "ASRP-T", {}},
           {"mangle", "PREROUTING", "ASRP-T", {"-m conntrack --ctstate NEW,INVALID -p tcp --dport 1 -j DROP"}}}};
}

void switch_on() {
  for (const Family family : {Family::v4, Family::v6}) {
    auto done = install_rules(hooks(family));
    REQUIRE_MESSAGE(done.has_value(), (done ? "" : done.error().to_string()));
  }
}

// All of one kind of topology: ports of the client, service, source towards the server, server.
struct Addresses {
  const char* client;
  const char* service;
  const char* source;
  const char* server;
};
constexpr Addresses kNat4{"10.1.0.2:4000", "10.9.0.1:80", "10.1.0.2:4000", "10.2.0.2:8080"};
constexpr Addresses kFull4{"10.1.0.2:4000", "10.9.0.1:80", "10.2.0.1:6000", "10.2.0.2:8080"};
constexpr Addresses kNat6{"[fd01::2]:4000", "[fd09::1]:80", "[fd01::2]:4000", "[fd02::2]:8080"};
constexpr Addresses kFull6{"[fd01::2]:4000", "[fd09::1]:80", "[fd02::1]:6000", "[fd02::2]:8080"};

Flow flow(const Addresses& a, Protocol protocol) {
  Flow f;
  f.tuples = {tuple(protocol, a.client, a.service), tuple(protocol, a.source, a.server)};
  return f;
}

InstallResult install_one(Conntrack& conntrack, const Flow& f) {
  InstallResult result = InstallResult::failed;
  conntrack.install({&f, 1}, {&result, 1});
  return result;
}

void udp_both_ways(const Addresses& a) {
  Lab lab;
  switch_on();
  auto conntrack = table();
  REQUIRE(install_one(*conntrack, flow(a, Protocol::udp)) == InstallResult::ok);
  lab.server.enter();
  const UniqueFd server = udp_socket(at(a.server));
  lab.client.enter();
  const UniqueFd client = udp_socket(at(a.client));
  send_to(client.get(), at(a.service), Buffer{1});
  Endpoint from;
  CHECK(receive(server.get(), &from) == Buffer{1});
  CHECK(from == at(a.source));
  send_to(server.get(), from, Buffer{2});
  CHECK(receive(client.get(), &from) == Buffer{2});
  CHECK(from == at(a.service));
}

void tcp_both_ways(const Addresses& a) {
  Lab lab;
  switch_on();
  auto conntrack = table();
  REQUIRE(install_one(*conntrack, flow(a, Protocol::tcp)) == InstallResult::ok);
  lab.server.enter();
  const UniqueFd listener = tcp_listener(at(a.server));
  lab.client.enter();
  const UniqueFd client = tcp_connect(at(a.service), at(a.client));
  const UniqueFd server(::accept(listener.get(), nullptr, nullptr));
  REQUIRE(server.get() >= 0);
  REQUIRE(::send(client.get(), "ab", 2, 0) == 2);
  CHECK(receive(server.get()) == Buffer{'a', 'b'});

  // In the middle of the session the entry is lost and made again: the session goes on in both directions.
  conntrack->remove(flow(a, Protocol::tcp).tuples.client_side);
  CHECK_FALSE(conntrack->find(flow(a, Protocol::tcp).tuples.client_side).has_value());
  Flow again = flow(a, Protocol::tcp);
  again.proven = true;
  REQUIRE(install_one(*conntrack, again) == InstallResult::ok);
  REQUIRE(::send(server.get(), "cd", 2, 0) == 2);
  CHECK(receive(client.get()) == Buffer{'c', 'd'});
  CHECK(conntrack->statistics().installed == 2);
  CHECK(conntrack->statistics().removed == 1);
}

}  // namespace

TEST_CASE("an empty own chain in nat and one conntrack rule suffice: installed entries translate UDP") {
  for (const Addresses& a : {kNat4, kFull4, kNat6, kFull6}) udp_both_ways(a);
}

TEST_CASE("installed entries translate TCP, made again in mid-stream they go on") {
  for (const Addresses& a : {kNat4, kFull4, kNat6, kFull6}) tcp_both_ways(a);
}

TEST_CASE("an entry is found by each of its four tuples, and by no other") {
  Lab lab;
  switch_on();
  auto conntrack = table();
  for (const Addresses& a : {kFull4, kFull6}) {
    Flow f = flow(a, Protocol::tcp);
    f.mark = FlowMark::waiting;
    REQUIRE(install_one(*conntrack, f) == InstallResult::ok);
    for (const Tuple& t :
         {f.tuples.client_side, f.tuples.client_side.reversed(), f.tuples.server_side, f.tuples.server_side.reversed()}) {
      const auto found = conntrack->find(t);
      REQUIRE(found.has_value());
      CHECK(found->tuples == f.tuples);
      CHECK(found->mark == FlowMark::waiting);
      CHECK_FALSE(found->closing);
    }
    Tuple other = f.tuples.client_side;
    other.protocol = Protocol::udp;
    CHECK_FALSE(conntrack->find(other).has_value());
    ++other.src.port;
    CHECK_FALSE(conntrack->find(other).has_value());
  }
}

TEST_CASE("results of a burst are in order, whatever fails in it") {
  Lab lab;
  switch_on();
  auto conntrack = table();
  constexpr std::size_t kCount = 300;  // more than one send
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < kCount; ++i) {
    Flow f = flow(kFull4, Protocol::tcp);
    f.tuples.client_side.src.port = static_cast<std::uint16_t>(1000 + i);
    f.tuples.server_side.src.port = static_cast<std::uint16_t>(2000 + i);
    if (i % 10 == 3) f = flows[i - 1];  // the same original tuple
    if (i % 10 == 5)
      f.tuples.server_side.src.port = flows[i - 1].tuples.server_side.src.port;  // the server-side tuple is taken
    flows.push_back(f);
  }
  std::vector<InstallResult> results(kCount);
  conntrack->install(flows, results);
  for (std::size_t i = 0; i < kCount; ++i)
    CHECK(results[i] == (i % 10 == 3 || i % 10 == 5 ? InstallResult::exists : InstallResult::ok));
  CHECK(conntrack->statistics().installed == kCount / 10 * 8);
  CHECK(conntrack->statistics().exists == kCount / 10 * 2);
  CHECK(conntrack->fill().count == kCount / 10 * 8);
  CHECK(conntrack->fill().maximum > 1000);
  // find() tells the two kinds of "exists" apart (decision 6).
  CHECK(conntrack->find(flows[3].tuples.client_side)->tuples == flows[2].tuples);
  CHECK_FALSE(conntrack->find(flows[5].tuples.client_side).has_value());
}

TEST_CASE("marks are set by bit, others' bits stay; dumps give the marked ones only") {
  Lab lab;
  switch_on();
  auto conntrack = table();
  std::vector<Flow> flows(9, flow(kFull4, Protocol::udp));
  for (std::size_t i = 0; i < flows.size(); ++i) {
    flows[i].tuples.client_side.src.port = static_cast<std::uint16_t>(1000 + i);
    flows[i].tuples.server_side.src.port = static_cast<std::uint16_t>(2000 + i);
    flows[i].mark = static_cast<FlowMark>(i % 3);
    REQUIRE(install_one(*conntrack, flows[i]) == InstallResult::ok);
  }
  auto other_program = Conntrack::open({.waiting_mark = 4, .unprotected_mark = 1, .creation_timeout = 30});
  REQUIRE(other_program.has_value());
  (*other_program)->set_mark(flows[1].tuples.client_side, FlowMark::waiting);
  const auto marked = [&] {
    std::vector<std::pair<int, FlowMark>> list;
    conntrack->for_each_marked([&](const FlowEntry& e) { list.emplace_back(e.tuples.client_side.src.port - 1000, e.mark); });
    std::sort(list.begin(), list.end());
    return list;
  };
  const auto w = FlowMark::waiting;
  const auto u = FlowMark::unprotected;
  CHECK(marked() == std::vector<std::pair<int, FlowMark>>{{1, w}, {2, u}, {4, w}, {5, u}, {7, w}, {8, u}});
  conntrack->set_mark(flows[1].tuples.client_side, u);
  conntrack->set_mark(flows[2].tuples.client_side, FlowMark::none);
  conntrack->set_mark(flows[3].tuples.client_side, w);
  conntrack->set_mark(tuple(Protocol::udp, "1.1.1.1:1", "2.2.2.2:2"), w);  // no entry: no error
  CHECK(marked() == std::vector<std::pair<int, FlowMark>>{{1, u}, {3, w}, {4, w}, {5, u}, {7, w}, {8, u}});
  CHECK(run("conntrack -L -p udp --orig-port-src 1001").find("mark=536870916") != std::string::npos);
  std::size_t all = 0;
  conntrack->for_each([&](const FlowEntry& e) {
    ++all;
    conntrack->remove(e.tuples.client_side);  // a visitor may use the table
  });
  CHECK(all == 9);
  CHECK(conntrack->fill().count == 0);
}

namespace {

/// A client's echo requests under another address and identifier, to another host, and the answers back.
void echo_both_ways(const Tuple& asks, const Tuple& as_server_sees) {
  Lab lab;
  switch_on();
  auto conntrack = table();
  Flow f;
  f.tuples = {asks, as_server_sees};
  REQUIRE(install_one(*conntrack, f) == InstallResult::ok);
  CHECK(install_one(*conntrack, f) == InstallResult::exists);
  Flow other = f;  // towards that host the identifier is taken
  ++other.tuples.client_side.src.port;
  CHECK(install_one(*conntrack, other) == InstallResult::exists);
  CHECK(!conntrack->find(other.tuples.client_side));
  lab.client.enter();
  const std::string ping = "ping -n -i 0.01 -e " + std::to_string(asks.src.port) + " " + asks.dst.address.to_string();
  run(ping + " -c 2 -W 5");
  for (const Tuple& each : {asks, as_server_sees, asks.reversed(), as_server_sees.reversed()}) {
    const auto entry = conntrack->find(each);
    REQUIRE(entry);
    CHECK(entry->tuples == f.tuples);
  }
  std::size_t seen = 0;
  conntrack->for_each([&](const FlowEntry& entry) { seen += entry.tuples == f.tuples ? 1u : 0u; });
  CHECK(seen == 1);
  conntrack->remove(asks);
  CHECK(!conntrack->find(asks));
  CHECK(try_run(ping + " -c 1 -W 1") != 0);
}

}  // namespace

TEST_CASE("ICMP echo has sessions, by its identifier (RFC 5508 REQ-1)") {
  SUBCASE("IPv4") {
    echo_both_ways({at("10.1.0.2:77"), at("10.9.0.1:0"), Protocol::icmp},
                   {at("10.2.0.1:6000"), at("10.2.0.2:0"), Protocol::icmp});
  }
  SUBCASE("IPv6") {
    echo_both_ways({at("[fd01::2]:77"), at("[fd09::1]:0"), Protocol::icmpv6},
                   {at("[fd02::1]:6000"), at("[fd02::2]:0"), Protocol::icmpv6});
  }
}

TEST_CASE("a visit ends early when it is told to, and none begins after it; all else goes on") {
  Lab lab;
  switch_on();
  auto conntrack = table(25);
  const Flow f = flow(kFull4, Protocol::udp);
  Flow other = f;
  ++other.tuples.client_side.src.port;
  ++other.tuples.server_side.src.port;
  REQUIRE(install_one(*conntrack, f) == InstallResult::ok);
  REQUIRE(install_one(*conntrack, other) == InstallResult::ok);
  std::size_t seen = 0;
  const auto visit = [&](const FlowEntry&) {
    ++seen;
    conntrack->end_visits();
  };
  conntrack->for_each(visit);
  CHECK(seen == 1);
  conntrack->for_each(visit);
  conntrack->for_each_marked(visit);
  conntrack->for_each_untranslated(visit);
  CHECK(seen == 1);
  CHECK(conntrack->find(f.tuples.client_side).has_value());
}

TEST_CASE("status and timeout of an entry follow what is known of the session (decision 3)") {
  Lab lab;
  switch_on();
  auto conntrack = table(25);
  Flow f = flow(kFull4, Protocol::tcp);
  const auto listed = [&](bool one_way, bool proven) {
    f.one_way_suffices = one_way;
    f.proven = proven;
    REQUIRE(install_one(*conntrack, f) == InstallResult::ok);
    const std::string line = run("conntrack -L -p tcp");
    conntrack->remove(f.tuples.client_side);
    return line;
  };
  const std::string unproven = listed(false, false);
  CHECK(unproven.find("[UNREPLIED]") != std::string::npos);
  CHECK(unproven.find("tcp      6 2") != std::string::npos);
  CHECK(unproven.find("ESTABLISHED") != std::string::npos);
  const std::string one_way = listed(true, false);
  CHECK(one_way.find("[UNREPLIED]") == std::string::npos);
  CHECK(one_way.find("[ASSURED]") == std::string::npos);
  CHECK(listed(false, true).find("[ASSURED]") != std::string::npos);
}

TEST_CASE("10,000 packets of one direction cause no queue hit after the entry is made (decision 3)") {
  for (const Protocol protocol : {Protocol::udp, Protocol::tcp}) {
    Lab lab;
    switch_on();
    run("iptables -t mangle -A PREROUTING -m conntrack --ctstate NEW,INVALID -d 10.9.0.1 -j DROP");
    run("iptables -t mangle -A POSTROUTING -d 10.2.0.2");
    auto conntrack = table();
    REQUIRE(install_one(*conntrack, flow(kFull4, protocol)) == InstallResult::ok);
    lab.client.enter();
    auto sender = open_raw_sender({0});
    REQUIRE(sender.has_value());
    for (std::uint32_t i = 0; i < 10000; ++i) {
      const Buffer payload(20, 1);
      const Buffer packet = protocol == Protocol::udp
                                ? udp_packet(at(kFull4.client), at(kFull4.service), payload)
                                : tcp_segment(at(kFull4.client), at(kFull4.service), 1000 + 20 * i, payload);
      (*sender)->stage(packet, 0);
      (*sender)->flush();
    }
    CHECK((*sender)->statistics().sent == 10000);
    lab.node.enter();
    CHECK(run("iptables -t mangle -L PREROUTING -v -x -n").find("       0        0 DROP       0    --") != std::string::npos);
    const std::string left = run("iptables -t mangle -L POSTROUTING -v -x -n");
    std::istringstream counter(left.substr(left.find('\n', left.find("destination")) + 1));
    long packets = 0;
    counter >> packets;
    CHECK(packets > 9000);  // the rest may be lost in a full backlog
  }
}

TEST_CASE("a TCP entry in a closing state is told as such") {
  Lab lab;
  switch_on();
  auto conntrack = table();
  const Flow f = flow(kNat4, Protocol::tcp);
  REQUIRE(install_one(*conntrack, f) == InstallResult::ok);
  lab.server.enter();
  const UniqueFd listener = tcp_listener(at(kNat4.server));
  lab.client.enter();
  {
    const UniqueFd client = tcp_connect(at(kNat4.service), at(kNat4.client));
    const linger reset{1, 0};
    ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
  const UniqueFd server(::accept(listener.get(), nullptr, nullptr));
  CHECK(receive(server.get()).empty());
  lab.node.enter();
  const auto found = conntrack->find(f.tuples.client_side);
  REQUIRE(found.has_value());
  CHECK(found->closing);
}

TEST_CASE("without CAP_NET_ADMIN opening says what is missing") {
  const Namespace ns;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    auto refused = Conntrack::open({});
    ::_exit(!refused && refused.error().advice.find("CAP_NET_ADMIN") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
}
