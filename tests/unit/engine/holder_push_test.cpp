// SPDX-License-Identifier: BSD-3-Clause
#include "support/holder_lab.hpp"

namespace asrp::test {
namespace {

constexpr std::uint32_t kDone = 0x1;  // the mark that takes a flow off the outgoing queue

engine::HolderOptions with_service(engine::Push push, Protocol protocol = Protocol::tcp) {
  auto options = HolderLab::default_options();
  options.services = {{.protocol = protocol, .port = 8080, .push = push}};
  return options;
}

Buffer syn_ack_of(const TuplePair& session) {
  return tcp(session.server_side.reversed()).syn_ack().options("020405b4 0101 0402").build();
}
Buffer answer_of(const TuplePair& session) { return udp(session.server_side.reversed()).payload("answer").build(); }

void store_with_data(HolderLab& lab, const TuplePair& session) {
  const Buffer packet = session.server_side.protocol == Protocol::tcp ? syn_of(session) : datagram_of(session);
  REQUIRE(lab.in(with_message(packet, ns_of(session).session_data("5d").build())).one().kind == OutputKind::replace);
}

TEST_CASE("the SYN/ACK of a full-NAT session carries PS with the stored cookie [spec 4.3.10-1, 4.3.2-5, 4.1-5, 3.4.1-1]") {
  HolderLab lab;
  const TuplePair session = full_nat_session();
  store_with_data(lab, session);
  for (int i = 0; i < 2; ++i) {  // each time that it is sent: the first may be lost
    const HolderOut verdict = lab.out(syn_ack_of(session)).one();
    REQUIRE(verdict.kind == OutputKind::replace);
    CHECK(verdict.mark == 0);
    CHECK(verdict.view().tuple() == session.server_side.reversed());
    const wire::Message ps = verdict.carried();
    CHECK(ps.type == MsgType::PS);
    CHECK(ps.tuples() == session);
    CHECK(ps.cookie.value == 0xc0ffee);
    CHECK(ps.flags == 0);
    CHECK(to_hex(ps.session_data) == "5d");
    Buffer stripped;
    const auto view = verdict.view();
    packet::strip(view, packet::locate(view, {}), wire::encoded_size(ps), stripped);
    CHECK(stripped == syn_ack_of(session));
  }
  CHECK(lab.count(HolderCounter::push_inline) == 2);
  CHECK(lab.count(HolderCounter::sent_ps) == 2);
}

TEST_CASE("push = auto: a session whose client address is kept gets no PS") {
  HolderLab lab;
  store_with_data(lab, nat_session());
  CHECK(lab.out(syn_ack_of(nat_session())).one().kind == OutputKind::accept);
  CHECK(lab.count(HolderCounter::push_unwanted) == 1);
}

TEST_CASE("push = always and never") {
  HolderLab always(with_service(engine::Push::always));
  store_with_data(always, nat_session());
  CHECK(always.out(syn_ack_of(nat_session())).one().carried().type == MsgType::PS);
  HolderLab never(with_service(engine::Push::never));
  store_with_data(never, full_nat_session());
  CHECK(never.out(syn_ack_of(full_nat_session())).one().kind == OutputKind::accept);
  HolderLab other_protocol(with_service(engine::Push::never, Protocol::udp));
  store_with_data(other_protocol, full_nat_session());
  CHECK(other_protocol.out(syn_ack_of(full_nat_session())).one().kind == OutputKind::replace);
}

TEST_CASE("the first answer of a UDP session carries PS and takes the flow off the queue") {
  HolderLab lab;
  const TuplePair session = full_nat_session("203.0.113.7:50000", "10.9.0.1:2000", Protocol::udp);
  store_with_data(lab, session);
  const HolderOut verdict = lab.out(answer_of(session)).one();
  REQUIRE(verdict.kind == OutputKind::replace);
  CHECK(verdict.mark == kDone);
  CHECK(verdict.carried().type == MsgType::PS);
  const auto view = verdict.view();
  CHECK(Buffer(view.payload().begin(), view.payload().end()) == octets_of("answer"));
}

TEST_CASE("a connection that came without NS does not inherit the backup of the tuple's earlier session") {
  HolderLab lab;
  const TuplePair session = full_nat_session();
  store_with_data(lab, session);
  lab.sessions.known[session.server_side] = LocalState::live;
  lab.wait(std::chrono::seconds(2));
  SUBCASE("its socket lived") {}
  SUBCASE("its socket was in TIME-WAIT") {
    lab.sessions.known[session.server_side] = LocalState::time_wait;
    lab.ended(session.server_side);
    CHECK(lab.quiet());
  }
  CHECK(lab.knows(session.client_side));
  const HolderOut verdict = lab.out(syn_ack_of(session)).one();
  CHECK(verdict.kind == OutputKind::accept);
  CHECK(!lab.knows(session.client_side));
  CHECK(lab.count(HolderCounter::released_replaced) == 1);
}

TEST_CASE("a SYN/ACK that is repeated for long still gets its PS") {
  HolderLab lab;
  const TuplePair session = full_nat_session();
  store_with_data(lab, session);
  lab.sessions.known[session.server_side] = LocalState::opening;
  lab.wait(std::chrono::seconds(30));
  CHECK(lab.out(syn_ack_of(session)).one().carried().type == MsgType::PS);
}

TEST_CASE("IPv6 SYN/ACK with PS") {
  HolderLab lab(with_service(engine::Push::always));
  store_with_data(lab, nat_session6());
  const HolderOut verdict = lab.out(syn_ack_of(nat_session6())).one();
  CHECK(verdict.carried().tuples() == nat_session6());
}

TEST_CASE("what does not fit the route's MTU goes in a separate packet in front [spec 3.4.1-1, 4.3.10-1]") {
  HolderLab lab;
  const TuplePair session = full_nat_session("203.0.113.7:50000", "10.9.0.1:2000", Protocol::udp);
  store_with_data(lab, session);
  const Buffer answer = udp(session.server_side.reversed()).data(1470).build();
  const auto outs = lab.out(answer).burst();
  REQUIRE(outs.size() == 2);
  CHECK(outs[0].kind == OutputKind::send_own);
  CHECK(outs[0].carried().type == MsgType::PS);
  CHECK(outs[0].view().tuple() == session.server_side.reversed());
  CHECK(outs[0].view().payload_size() == 0);
  CHECK(outs[1].kind == OutputKind::accept);
  CHECK(outs[1].mark == kDone);
  CHECK(lab.count(HolderCounter::push_separate) == 1);
}

TEST_CASE("no room among the TCP options: nothing can carry the PS, the packet goes as it is") {
  HolderLab lab;
  const TuplePair session = full_nat_session();
  store_with_data(lab, session);
  const Buffer full = tcp(session.server_side.reversed()).syn_ack().options(Buffer(40, 1)).build();
  const auto outs = lab.out(full).burst();
  REQUIRE(!outs.empty());
  CHECK(outs.back().kind == OutputKind::accept);
  CHECK(lab.count(HolderCounter::push_separate) + lab.count(HolderCounter::push_impossible) == 1);
  CHECK(outs.size() == 1 + lab.count(HolderCounter::push_separate));
}

TEST_CASE("an MTU below the message itself: no PS") {
  HolderLab lab;
  const TuplePair session = full_nat_session();
  store_with_data(lab, session);
  lab.paths.mtu = 68;
  CHECK(lab.out(syn_ack_of(session)).one().kind == OutputKind::accept);
  CHECK(lab.count(HolderCounter::push_impossible) == 1);
}

TEST_CASE("outgoing packets that need no PS leave the queue, SYN/ACKs of sessions yet to be stored do not") {
  HolderLab lab;
  const TuplePair session = full_nat_session();
  store_with_data(lab, session);
  const HolderOut data = lab.out(tcp(session.server_side.reversed()).push().data(100).build()).one();
  CHECK(data.kind == OutputKind::accept);
  CHECK(data.mark == kDone);
  const TuplePair unknown = full_nat_session("203.0.113.9:1", "10.9.0.1:3000");
  const HolderOut syn_ack = lab.out(syn_ack_of(unknown)).one();
  CHECK(syn_ack.kind == OutputKind::accept);
  CHECK(syn_ack.mark == 0);
  CHECK(lab.count(HolderCounter::push_no_backup) == 1);
  CHECK(lab.count(HolderCounter::packets_outbound) == 2);
}

TEST_CASE("a packet that goes the client's way of a backup's other tuple gets no PS") {
  HolderLab lab;
  const TuplePair session = full_nat_session();
  store_with_data(lab, session);
  const Buffer odd = tcp(session.client_side.reversed()).syn_ack().build();
  CHECK(lab.out(odd).one().kind == OutputKind::accept);
  CHECK(lab.out(tcp(session.server_side).syn_ack().build()).one().kind == OutputKind::accept);
  CHECK(lab.count(HolderCounter::push_no_backup) == 2);
}

TEST_CASE("outgoing packets that are no flow pass") {
  HolderLab lab;
  CHECK(lab.out(icmp_error("10.0.0.1", "203.0.113.7").build()).one().kind == OutputKind::accept);
  CHECK(lab.out(hex("ff")).one().kind == OutputKind::accept);
}

TEST_CASE("a PS is told with its carriage") {
  HolderLab lab;
  store_with_data(lab, full_nat_session());
  lab.out(syn_ack_of(full_nat_session())).one();
  REQUIRE(!lab.log.events.empty());
  CHECK(lab.log.events.back().kind == engine::EventKind::message_sent);
  CHECK(lab.log.events.back().detail == "PS inline-tcp");
}

}  // namespace
}  // namespace asrp::test
