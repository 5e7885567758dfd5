// SPDX-License-Identifier: BSD-3-Clause
// The kernel has no room: a full conntrack table, and sockets whose buffers are full. What must hold each time: it is counted,
// the answer is the careful one, and nothing is stuck afterwards.
#include <dirent.h>
#include <doctest/doctest.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "io/conntrack.hpp"
#include "io/lab.hpp"
#include "io/local_sessions.hpp"
#include "io/message_socket.hpp"
#include "io/nfqueue.hpp"
#include "io/packet_sender.hpp"
#include "io/rule_set.hpp"

using namespace asrp;
using namespace asrp::io;
using namespace asrp::test;
using engine::Flow;
using engine::InstallResult;
using engine::LocalState;

namespace {

int option_of(int socket, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  ::getsockopt(socket, SOL_SOCKET, name, &value, &length);
  return value;
}

/// Sets a buffer of all this process's sockets of a kind; an adapter keeps its descriptor to itself.
void set_buffers(int domain, int protocol, int option, int octets) {
  DIR* const directory = ::opendir("/proc/self/fd");
  REQUIRE(directory != nullptr);
  int changed = 0;
  while (const dirent* const entry = ::readdir(directory)) {
    const int descriptor = std::atoi(entry->d_name);
    if (option_of(descriptor, SO_DOMAIN) != domain || option_of(descriptor, SO_PROTOCOL) != protocol) continue;
    REQUIRE(::setsockopt(descriptor, SOL_SOCKET, option, &octets, sizeof octets) == 0);
    ++changed;
  }
  ::closedir(directory);
  REQUIRE(changed > 0);
}

constexpr int kTiny = 1;  // the kernel makes it the least that it allows, a few KiB
constexpr int kAmple = 1 << 20;

void switch_on() {
  const RuleSet rules{Family::v4,
                      {{"nat", "POSTROUTING", "ASRP-T", {}},
                       {"mangle", "PREROUTING", "ASRP-T", {"-m conntrack --ctstate NEW,INVALID -p udp --dport 80 -j DROP"}}}};
  const auto done = install_rules(rules);
  REQUIRE_MESSAGE(done.has_value(), (done ? "" : done.error().to_string()));
}

std::unique_ptr<Conntrack> table() {
  ConntrackOptions options;
  options.creation_timeout = 600;
  auto opened = Conntrack::open(options);
  REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : opened.error().to_string()));
  return std::move(*opened);
}

/// The n-th of many flows, UDP from 10.1.0.2 to the service.
Flow flow(std::uint32_t n) {
  Flow f;
  f.proven = true;
  f.tuples = {tuple(Protocol::udp, "10.1.0.2:4000", "10.9.0.1:80"), tuple(Protocol::udp, "10.1.0.2:4000", "10.2.0.2:8080")};
  const auto high = static_cast<std::uint8_t>(n >> 12);
  const auto network = static_cast<std::uint8_t>(n >> 20 == 0 ? 1 : 100 + (n >> 20));  // beyond a million: not the servers'
  for (Endpoint* e : {&f.tuples.client_side.src, &f.tuples.server_side.src}) {
    e->address = IpAddress::v4(Buffer{10, network, high, 2});
    e->port = static_cast<std::uint16_t>(4000 + (n & 0xfff));
  }
  return f;
}

std::vector<Flow> flows(std::uint32_t first, std::uint32_t count) {
  std::vector<Flow> list;
  for (std::uint32_t i = 0; i < count; ++i) list.push_back(flow(first + i));
  return list;
}

std::size_t count_of(const std::vector<InstallResult>& results, InstallResult wanted) {
  return static_cast<std::size_t>(std::count(results.begin(), results.end(), wanted));
}

std::vector<InstallResult> install(Conntrack& conntrack, const std::vector<Flow>& list) {
  std::vector<InstallResult> results(list.size(), InstallResult::ok);
  conntrack.install(list, results);
  return results;
}

}  // namespace

TEST_CASE("a full table: refusals are counted, what is there works, and each entry that ends makes room") {
  Lab lab;
  switch_on();
  auto conntrack = table();
  const std::uint64_t maximum = conntrack->fill().maximum;
  // The limit is the whole machine's and not ours to change; each namespace counts for itself. A million entries take some
  // seconds.
  std::uint32_t next = 0;
  std::vector<InstallResult> results;
  do {
    results = install(*conntrack, flows(next, 4096));
    next += 4096;
  } while (count_of(results, InstallResult::full) == 0 && next < maximum + 8192);
  CHECK(count_of(results, InstallResult::full) > 0);
  CHECK(count_of(results, InstallResult::failed) == 0);
  CHECK(conntrack->statistics().full == count_of(results, InstallResult::full));
  CHECK(conntrack->fill().count >= maximum);
  CHECK(install(*conntrack, flows(next, 300)) == std::vector<InstallResult>(300, InstallResult::full));
  CHECK(install(*conntrack, flows(0, 300)) == std::vector<InstallResult>(300, InstallResult::exists));
  REQUIRE(conntrack->find(flow(7).tuples.server_side).has_value());
  CHECK(conntrack->find(flow(7).tuples.server_side)->tuples == flow(7).tuples);
  CHECK_FALSE(conntrack->find(flow(next).tuples.client_side).has_value());
  conntrack->set_mark(flow(7).tuples.client_side, engine::FlowMark::waiting);
  CHECK(conntrack->find(flow(7).tuples.client_side)->mark == engine::FlowMark::waiting);

  lab.server.enter();
  const UniqueFd server = udp_socket(at("10.2.0.2:8080"));
  lab.client.enter();
  const UniqueFd client = udp_socket(at("10.1.0.2:4007"));
  send_to(client.get(), at("10.9.0.1:80"), Buffer{1});
  CHECK(receive(server.get()) == Buffer{1});

  lab.node.enter();
  const auto surplus = static_cast<std::uint32_t>(conntrack->fill().count - maximum) + 1;
  for (std::uint32_t n = 100; n < 100 + surplus + 10; ++n) conntrack->remove(flow(n).tuples.client_side);
  results = install(*conntrack, flows(next, 50));
  CHECK(count_of(results, InstallResult::ok) >= 10);
  CHECK(count_of(results, InstallResult::ok) <= 12);
}

TEST_CASE("answers to a burst are lost: no entry is taken for made, and the next burst is as ever") {
  Lab lab;
  switch_on();
  auto conntrack = table();
  const auto known = flows(0, 200);
  REQUIRE(count_of(install(*conntrack, known), InstallResult::ok) == known.size());
  set_buffers(AF_NETLINK, NETLINK_NETFILTER, SO_RCVBUF, kTiny);
  auto mixed = known;
  for (const Flow& f : flows(1000, 56)) mixed.push_back(f);  // two sends, each with more errors than the socket holds
  auto results = install(*conntrack, mixed);
  CHECK(count_of(results, InstallResult::ok) == 0);
  CHECK(count_of(results, InstallResult::failed) > 0);
  CHECK(conntrack->statistics().failed == count_of(results, InstallResult::failed));
  CHECK(conntrack->statistics().last_errno == ENOBUFS);
  set_buffers(AF_NETLINK, NETLINK_NETFILTER, SO_RCVBUF, kAmple);
  CHECK(conntrack->find(flow(3).tuples.client_side).has_value());
  CHECK_FALSE(conntrack->find(flow(3000).tuples.client_side).has_value());
  CHECK(install(*conntrack, mixed) == std::vector<InstallResult>(mixed.size(), InstallResult::exists));
  CHECK(install(*conntrack, flows(2000, 200)) == std::vector<InstallResult>(200, InstallResult::ok));
}

TEST_CASE("a dump that does not fit the socket at once is whole all the same") {
  const Namespace ns;
  auto conntrack = table();
  REQUIRE(count_of(install(*conntrack, flows(0, 3000)), InstallResult::ok) == 3000);
  set_buffers(AF_NETLINK, NETLINK_NETFILTER, SO_RCVBUF, kTiny);
  std::size_t seen = 0;
  conntrack->for_each([&](const engine::FlowEntry&) { ++seen; });
  CHECK(seen == 3000);
}

TEST_CASE("notices of sockets' ends are lost: told once, and those that follow come") {
  const Namespace ns;
  auto host = HostSessions::open(false);
  REQUIRE(host.has_value());
  const UniqueFd listener = tcp_listener(at("127.0.0.1:80"));
  const auto come_and_go = [&] {
    UniqueFd client = tcp_connect(at("127.0.0.1:80"));
    const UniqueFd server(::accept(listener.get(), nullptr, nullptr));
    const Tuple session{local_endpoint(client.get()), at("127.0.0.1:80"), Protocol::tcp};
    client = {};
    return session;
  };
  set_buffers(AF_NETLINK, NETLINK_SOCK_DIAG, SO_RCVBUF, kTiny);
  for (int i = 0; i < 200; ++i) come_and_go();
  // The kernel gives notice from a work queue: the loss is waited for, and what comes behind it must not be lost, too.
  pollfd overflow{(*host)->descriptors()[0], 0, 0};
  REQUIRE(::poll(&overflow, 1, 2000) == 1);
  set_buffers(AF_NETLINK, NETLINK_SOCK_DIAG, SO_RCVBUF, kAmple);
  const auto first = (*host)->drain();
  CHECK(first.lost);
  CHECK(first.ended.size() < 200);
  CHECK_FALSE((*host)->drain().lost);
  const Tuple last = come_and_go();
  bool came = false;
  while (!came) {
    REQUIRE(wait_readable((*host)->descriptors()[0]));
    const auto then = (*host)->drain();
    CHECK_FALSE(then.lost);
    came = std::find(then.ended.begin(), then.ended.end(), last) != then.ended.end();
  }
}

TEST_CASE("notices of UDP flows' ends are lost: told once, and those that follow come") {
  const Namespace ns;
  run("iptables -A INPUT -m conntrack --ctstate INVALID -j DROP");
  auto host = HostSessions::open(true);
  REQUIRE(host.has_value());
  const UniqueFd server = udp_socket(at("127.0.0.1:53"));
  for (int i = 0; i < 200; ++i) send_to(udp_socket(at("127.0.0.1:0")).get(), at("127.0.0.1:53"), Buffer{1});
  set_buffers(AF_NETLINK, NETLINK_NETFILTER, SO_RCVBUF, kTiny);
  run("conntrack -D -p udp");
  CHECK((*host)->drain().lost);
  CHECK_FALSE((*host)->drain().lost);
  set_buffers(AF_NETLINK, NETLINK_NETFILTER, SO_RCVBUF, kAmple);
  const UniqueFd client = udp_socket(at("127.0.0.1:0"));
  send_to(client.get(), at("127.0.0.1:53"), Buffer{1});
  run("conntrack -D -p udp");
  const auto then = (*host)->drain();
  CHECK_FALSE(then.lost);
  REQUIRE(then.ended.size() == 1);
  CHECK(then.ended[0] == Tuple{local_endpoint(client.get()), at("127.0.0.1:53"), Protocol::udp});
}

TEST_CASE("answers to look-ups are lost: a session whose answer is missing is not taken for ended") {
  const Namespace ns;
  auto host = HostSessions::open(false);
  REQUIRE(host.has_value());
  const UniqueFd listener = tcp_listener(at("127.0.0.1:80"));
  const UniqueFd client = tcp_connect(at("127.0.0.1:80"));
  std::vector<Tuple> sessions(300, {at("127.0.0.1:0"), at("127.0.0.1:80"), Protocol::tcp});
  for (std::size_t i = 0; i < sessions.size(); ++i) sessions[i].src.port = static_cast<std::uint16_t>(1000 + i);
  sessions.push_back({local_endpoint(client.get()), at("127.0.0.1:80"), Protocol::tcp});
  std::vector<LocalState> states(sessions.size());
  set_buffers(AF_NETLINK, NETLINK_SOCK_DIAG, SO_RCVBUF, kTiny);
  (*host)->look_up(sessions, states);
  CHECK(states.back() == LocalState::live);
  CHECK(std::count(states.begin(), states.end(), LocalState::live) > 1);
  set_buffers(AF_NETLINK, NETLINK_SOCK_DIAG, SO_RCVBUF, kAmple);
  (*host)->look_up(sessions, states);
  CHECK(states.back() == LocalState::live);
  CHECK(std::count(states.begin(), states.end(), LocalState::none) == 300);
}

TEST_CASE("packets that neither queue nor socket holds are counted one by one") {
  const Namespace ns;
  run("iptables -t mangle -A INPUT -p udp --dport 7000 -j NFQUEUE --queue-num 5");
  const UniqueFd sender = udp_socket(at("127.0.0.1:0"));
  const UniqueFd receiver = udp_socket(at("127.0.0.1:7000"));
  NfQueueOptions options;
  options.numbers = {4, 5};
  options.length = 10;
  auto queue = open_nfqueue(options);
  REQUIRE(queue.has_value());
  for (int i = 0; i < 30; ++i) send_to(sender.get(), at("127.0.0.1:7000"), Buffer(10));
  CHECK((*queue)->statistics().dropped == 20);
  CHECK((*queue)->statistics().lost == 0);
  for (const QueuedPacket& p : (*queue)->receive()) (*queue)->stage_verdict(p.id, Verdict::drop, {}, 0);
  (*queue)->send_verdicts();
  set_buffers(AF_NETLINK, NETLINK_NETFILTER, SO_RCVBUF, kTiny);
  for (int i = 0; i < 10; ++i) send_to(sender.get(), at("127.0.0.1:7000"), Buffer(1000));
  const auto burst = (*queue)->receive();
  CHECK(burst.size() < 10);
  CHECK((*queue)->statistics().lost == 10 - burst.size());
  CHECK((*queue)->statistics().dropped == 20);
}

TEST_CASE("messages that the socket does not hold are counted, and those that follow come") {
  const Namespace ns;
  auto socket = open_message_socket(51200, PeerErrors::ignore);
  REQUIRE(socket.has_value());
  set_buffers(AF_INET, IPPROTO_UDP, SO_RCVBUF, kTiny);
  set_buffers(AF_INET6, IPPROTO_UDP, SO_RCVBUF, kTiny);
  const UniqueFd v4 = udp_socket(at("127.0.0.1:0"));
  const UniqueFd v6 = udp_socket(at("[::1]:0"));
  for (int i = 0; i < 50; ++i) {
    send_to(v4.get(), at("127.0.0.1:51200"), Buffer(40));
    send_to(v6.get(), at("[::1]:51200"), Buffer(40));
  }
  std::size_t came = 0;
  for (std::size_t got = 1; got != 0; came += got) got = (*socket)->receive().size();
  CHECK(came > 0);
  CHECK(came < 100);
  CHECK((*socket)->lost() == 100 - came);
  send_to(v4.get(), at("127.0.0.1:51200"), Buffer{1});
  send_to(v6.get(), at("[::1]:51200"), Buffer{1});
  CHECK((*socket)->receive().size() == 2);
  CHECK((*socket)->lost() == 100 - came);
}

TEST_CASE("a device that takes nothing: sending does not wait, what finds no room is counted") {
  Lab lab;
  lab.server.enter();
  const UniqueFd receiver = udp_socket(at("10.2.0.2:7000"));
  lab.node.enter();
  auto sender = open_raw_sender({0});
  REQUIRE(sender.has_value());
  const Buffer small = udp_packet(at("192.0.2.7:1234"), at("10.2.0.2:7000"), Buffer{1});
  (*sender)->stage(small, 0);
  (*sender)->flush();
  REQUIRE((*sender)->statistics().sent == 1);
  run("tc qdisc add dev n1 root tbf rate 8bit burst 1600 limit 100mb");
  set_buffers(AF_INET, IPPROTO_RAW, SO_SNDBUF, 64 * 1024);
  const Buffer large = udp_packet(at("192.0.2.7:1234"), at("10.2.0.2:7000"), Buffer(1400));
  for (int i = 0; i < 500; ++i) (*sender)->stage(large, 0);
  (*sender)->flush();
  const auto full = (*sender)->statistics();
  CHECK(full.sent < 200);
  CHECK(full.sent + full.failed == 501);
  CHECK(full.last_errno == EAGAIN);
  run("tc qdisc del dev n1 root");
  (*sender)->stage(small, 0);
  (*sender)->flush();
  CHECK((*sender)->statistics().sent == full.sent + 1);
  lab.server.enter();
  CHECK(receive(receiver.get()) == Buffer{1});
}
