// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "io/lab.hpp"
#include "io/local_sessions.hpp"
#include "io/socket_address.hpp"

using namespace asrp;
using namespace asrp::io;
using namespace asrp::test;
using engine::LocalState;

namespace {

std::unique_ptr<HostSessions> sessions(bool follow_udp = false) {
  auto opened = HostSessions::open(follow_udp);
  REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : opened.error().to_string()));
  return std::move(*opened);
}

LocalState state_of(HostSessions& host, const Tuple& session) {
  LocalState state = LocalState::none;
  host.look_up({&session, 1}, {&state, 1});
  return state;
}

struct Connection {
  UniqueFd client;
  UniqueFd server;
  Tuple session;  // as ST2
};

Connection connect_to(const UniqueFd& listener, const Endpoint& service) {
  Connection c;
  c.client = tcp_connect(service);
  c.server = UniqueFd(::accept(listener.get(), nullptr, nullptr));
  REQUIRE(c.server.get() >= 0);
  c.session = {local_endpoint(c.client.get()), service, Protocol::tcp};
  return c;
}

std::vector<Tuple> notices(HostSessions& host, std::size_t descriptor) {
  std::vector<Tuple> all;
  while (wait_readable(host.descriptors()[descriptor], 300)) {
    const auto some = host.drain();
    CHECK_FALSE(some.lost);
    all.insert(all.end(), some.ended.begin(), some.ended.end());
  }
  return all;
}

bool has(const std::vector<Tuple>& list, const Tuple& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

void life_of_a_session(const char* listen_on, const char* service) {
  const Namespace ns;
  auto host = sessions();
  const UniqueFd listener = tcp_listener(at(listen_on));
  Connection c = connect_to(listener, at(service));
  CHECK(state_of(*host, c.session) == LocalState::live);
  Tuple other = c.session;
  ++other.src.port;
  CHECK(state_of(*host, other) == LocalState::none);  // the listener is there, the session is not
  other.dst.port = 9;
  CHECK(state_of(*host, other) == LocalState::none);

  SUBCASE("the server closes first: time-wait, no notice of its end later") {
    c.server = {};
    CHECK(has(notices(*host, 0), c.session));
    CHECK(state_of(*host, c.session) == LocalState::time_wait);  // FIN-WAIT-2
    c.client = {};
    CHECK(state_of(*host, c.session) == LocalState::time_wait);
  }
  SUBCASE("the client closes first: live until the server has closed too") {
    c.client = {};
    CHECK(state_of(*host, c.session) == LocalState::live);
    c.server = {};
    CHECK(has(notices(*host, 0), c.session));
    CHECK(state_of(*host, c.session) == LocalState::none);
  }
  SUBCASE("reset by the server: the notice lacks the peer's port, and this host's address on a dual-stack listener") {
    const linger reset{1, 0};
    ::setsockopt(c.server.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    c.server = {};
    Tuple without_port = c.session;
    without_port.src.port = 0;
    if (without_port.src.address.is_v4() && at(listen_on).address.is_unspecified()) without_port.dst.address = {};
    CHECK(has(notices(*host, 0), without_port));
    CHECK(state_of(*host, c.session) == LocalState::none);
  }
}

}  // namespace

TEST_CASE("states and notices of a TCP session, IPv4") { life_of_a_session("127.0.0.1:80", "127.0.0.1:80"); }
TEST_CASE("states and notices of a TCP session, IPv6") { life_of_a_session("[::1]:80", "[::1]:80"); }
TEST_CASE("states and notices of a TCP session, IPv4 on a dual-stack listener") {
  life_of_a_session("[::]:80", "127.0.0.1:80");
}

TEST_CASE("a handshake under way is opening") {
  const Namespace ns;
  auto host = sessions();
  const UniqueFd listener = tcp_listener(at("127.0.0.1:80"));
  run("iptables -A INPUT -p tcp --sport 80 -j DROP");  // the SYN/ACK never arrives
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  const SocketAddress service(at("127.0.0.1:80"));
  CHECK(::connect(client.get(), service.get(), service.size()) != 0);
  CHECK(state_of(*host, {local_endpoint(client.get()), at("127.0.0.1:80"), Protocol::tcp}) == LocalState::opening);
}

TEST_CASE("a session whose listener is bound to a device is found") {
  Lab lab;
  lab.server.enter();
  auto host = sessions();
  const UniqueFd listener = tcp_listener(at("10.2.0.2:80"));
  REQUIRE(::setsockopt(listener.get(), SOL_SOCKET, SO_BINDTODEVICE, "s0", 3) == 0);
  lab.client.enter();
  const UniqueFd client = tcp_connect(at("10.2.0.2:80"));
  const UniqueFd server(::accept(listener.get(), nullptr, nullptr));
  Tuple session{local_endpoint(client.get()), at("10.2.0.2:80"), Protocol::tcp};
  CHECK(state_of(*host, session) == LocalState::live);
  ++session.src.port;
  CHECK(state_of(*host, session) == LocalState::none);
}

TEST_CASE("a burst of look-ups of all kinds is answered in order") {
  const Namespace ns;
  auto host = sessions();
  const UniqueFd v4 = tcp_listener(at("127.0.0.1:80"));
  const UniqueFd v6 = tcp_listener(at("[::1]:80"));
  std::vector<Connection> open;
  std::vector<Tuple> asked;
  std::vector<LocalState> expected;
  for (std::uint16_t i = 0; i < 300; ++i) {
    if (i % 3 == 0) {
      open.push_back(i % 2 == 0 ? connect_to(v4, at("127.0.0.1:80")) : connect_to(v6, at("[::1]:80")));
      asked.push_back(open.back().session);
      expected.push_back(LocalState::live);
    } else {
      asked.push_back({{*IpAddress::parse("192.0.2.1"), i}, at("127.0.0.1:80"), i % 3 == 1 ? Protocol::tcp : Protocol::udp});
      expected.push_back(LocalState::none);
    }
  }
  std::vector<LocalState> states(asked.size(), LocalState::opening);
  host->look_up(asked, states);
  CHECK(states == expected);
}

TEST_CASE("UDP flows are looked up in conntrack, and their end is told; TCP's is not told twice") {
  const Namespace ns;
  run("iptables -A INPUT -m conntrack --ctstate INVALID -j DROP");
  run("ip6tables -A INPUT -m conntrack --ctstate INVALID -j DROP");
  auto host = sessions(true);
  CHECK(read_file("/proc/sys/net/netfilter/nf_conntrack_events") == "1\n");
  REQUIRE(host->descriptors().size() == 2);
  for (const char* service : {"127.0.0.1:53", "[::1]:53"}) {
    const UniqueFd server = udp_socket(at(service));
    const UniqueFd client = udp_socket({at(service).address, 0});
    Tuple session{local_endpoint(client.get()), at(service), Protocol::udp};
    CHECK(state_of(*host, session) == LocalState::none);
    send_to(client.get(), at(service), Buffer{1});
    CHECK(receive(server.get()) == Buffer{1});
    CHECK(state_of(*host, session) == LocalState::opening);  // until something has answered
    CHECK(state_of(*host, session.reversed()) == LocalState::opening);
    send_to(server.get(), session.src, Buffer{2});
    CHECK(receive(client.get()) == Buffer{2});
    CHECK(state_of(*host, session) == LocalState::live);
    CHECK(state_of(*host, session.reversed()) == LocalState::live);
    const UniqueFd listener = tcp_listener(at(service));
    { const Connection c = connect_to(listener, at(service)); }
    run("conntrack -D -p tcp");
    run("conntrack -D -p udp");
    const auto all = notices(*host, 1);
    CHECK(std::count_if(all.begin(), all.end(), [](const Tuple& t) { return t.protocol == Protocol::udp; }) == 1);
    CHECK(std::count_if(all.begin(), all.end(), [](const Tuple& t) { return t.protocol == Protocol::tcp; }) ==
          2);  // both sockets
    CHECK(has(all, session));
    CHECK(state_of(*host, session) == LocalState::none);
  }
}

TEST_CASE("the host's addresses, and notices of changes; loopback is none of them") {
  const Namespace ns;
  auto addresses = LocalAddresses::open();
  REQUIRE(addresses.has_value());
  CHECK((*addresses)->refresh().empty());
  run("ip link add d0 type veth peer name d1");
  run("ip addr add 10.0.0.1/24 dev d0");
  run("ip addr add 10.0.0.7 peer 10.0.0.8 dev d0");
  run("ip addr add 203.0.113.10/32 dev lo");
  run("ip addr add fd01::1/64 dev d0");
  CHECK(wait_readable((*addresses)->descriptor()));
  const auto now = (*addresses)->refresh();
  std::vector<std::string> texts;
  for (const IpAddress& a : now) texts.push_back(a.to_string());
  std::sort(texts.begin(), texts.end());
  CHECK(texts == std::vector<std::string>{"10.0.0.1", "10.0.0.7", "203.0.113.10", "fd01::1"});
  CHECK_FALSE(wait_readable((*addresses)->descriptor(), 0));
  run("ip addr del 10.0.0.1/24 dev d0");
  CHECK(wait_readable((*addresses)->descriptor()));
}
