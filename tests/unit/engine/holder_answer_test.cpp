// SPDX-License-Identifier: BSD-3-Clause
#include "support/holder_lab.hpp"

namespace asrp::test {
namespace {

TEST_CASE("QS by any tuple of a backup, either way round, is answered RS [spec 4.3.6-5, 4.3.6-6, 4.3.6-7, 4.1.2-1, 4.1.2-2]") {
  for (const TuplePair& session : {nat_session(), full_nat_session(), nat_session6()}) {
    HolderLab lab;
    lab.in(syn_with(session, ns_of(session).session_data("0102"))).one();
    for (const Tuple& tuple :
         {session.client_side, session.client_side.reversed(), session.server_side, session.server_side.reversed()}) {
      lab.message(qs(tuple).cookie(0xabcdef01).build());
      const HolderOut answer = lab.one();
      CHECK(answer.kind == OutputKind::send_own);
      const wire::Message m = answer.message();
      CHECK(m.type == MsgType::RS);
      CHECK(m.st1 == session.client_side);
      CHECK(m.st2 == session.server_side);
      CHECK(m.cookie.value == 0xabcdef01);
      CHECK(m.flags == 0);
      CHECK(to_hex(m.session_data) == "0102");
    }
    CHECK(lab.count(HolderCounter::sent_rs) == 4);
  }
}

TEST_CASE("QS without a match is answered RX with its own tuple, cookie and Session-Data [spec 4.3.6-8, 4.3.2-2, 4.1.2-3]") {
  HolderLab lab;
  const TuplePair stored = nat_session();
  lab.in(syn_with(stored, ns_of(stored))).one();
  Tuple other = stored.client_side;
  other.src.port = 50001;
  lab.message(qs(other).cookie(77).session_data("beef").build());
  const HolderOut answer = lab.one();
  const wire::Message m = answer.message();
  CHECK(m.type == MsgType::RX);
  CHECK(m.st1 == other);
  CHECK(m.cookie.value == 77);
  CHECK(to_hex(m.session_data) == "beef");
  Tuple udp_twin = stored.client_side;
  udp_twin.protocol = Protocol::udp;
  CHECK(!lab.knows(udp_twin));
  CHECK(lab.count(HolderCounter::sent_rx) == 2);
}

TEST_CASE("RS and RX reuse the header of QS with only the addresses swapped [spec 4.3.7-1]") {
  HolderLab lab;
  const TuplePair session = nat_session();
  lab.in(syn_with(session, ns_of(session))).one();
  for (const Tuple& tuple : {session.client_side, Tuple{}}) {
    lab.message(qs(tuple).build(), "192.0.2.77:34567");
    const Tuple sent = lab.one().view().tuple();
    CHECK(sent.src == endpoint("10.0.0.1:34567"));
    CHECK(sent.dst == endpoint("192.0.2.77:51200"));
    CHECK(sent.protocol == Protocol::udp);
  }
  lab.message(qs(nat_session6().client_side).build(), "[2001:db8:0:2::77]:34567", "[2001:db8:0:a::1]:51200");
  const Tuple sent = lab.one().view().tuple();
  CHECK(sent.src == endpoint("[2001:db8:0:a::1]:34567"));
  CHECK(sent.dst == endpoint("[2001:db8:0:2::77]:51200"));
}

TEST_CASE("QS for the all-zero tuple asks whether a holder is there: RX") {
  HolderLab lab;
  for (const Protocol protocol : {Protocol::tcp, Protocol::udp, static_cast<Protocol>(0)}) {
    const Tuple zero{{}, {}, protocol};
    lab.message(qs(zero).cookie(5).build());
    const wire::Message m = lab.one().message();
    CHECK(m.type == MsgType::RX);
    CHECK(m.st1 == zero);
  }
}

TEST_CASE("QS from a stranger gets no answer") {
  HolderLab lab;
  CHECK(lab.message(qs(nat_session().client_side).build(), "203.0.113.9:4000").quiet());
  CHECK(lab.count(HolderCounter::discarded_sender) == 1);
  CHECK(lab.count(HolderCounter::received_qs) == 0);
}

TEST_CASE("QS in the same burst as its NS, also before it, is answered from what is committed") {
  const TuplePair session = nat_session();
  HolderLab lab;
  lab.message(qs(session.client_side).build());
  lab.in(syn_with(session, ns_of(session)));
  const auto outs = lab.burst();
  REQUIRE(outs.size() == 2);
  CHECK(outs[0].message().type == MsgType::RS);
  CHECK(outs[1].kind == OutputKind::replace);
}

TEST_CASE("QS with more Session-Data than a datagram holds beside an IP header is not answered") {
  HolderLab lab;
  Buffer message;
  wire::Message m = wire::query_session(nat_session().client_side, Cookie{1});
  const Buffer data = pattern(65'000);
  m.session_data = data;
  wire::encode(m, message);
  CHECK(lab.message(message).quiet());
  CHECK(lab.count(HolderCounter::unanswered_size) == 1);
}

TEST_CASE("NA goes from the session's own address to Node-Local-IP and ASRP-PORT [spec 4.3.4-1, 4.3.4-2]") {
  auto options = HolderLab::default_options();
  options.port = 51999;
  HolderLab lab(options);
  const TuplePair session = nat_session();
  lab.message(ns_of(session).wants_ack().node("192.0.2.33").build(), "192.0.2.10:40000");
  const HolderOut answer = lab.one();
  CHECK(answer.message().type == MsgType::NA);
  CHECK(answer.view().tuple().src == endpoint("10.0.0.1:51999"));
  CHECK(answer.view().tuple().dst == endpoint("192.0.2.33:51999"));
}

TEST_CASE("a Node-Local-IP of the other family is answered from an address of that family, if there is one") {
  const TuplePair session = nat_session();
  HolderLab lab;
  lab.message(ns_of(session).wants_ack().node(HolderLab::kNode6).build());
  const HolderOut answer = lab.one();
  CHECK(answer.view().tuple().src == endpoint("[2001:db8:0:a::1]:51200"));
  CHECK(answer.view().tuple().dst == endpoint("[2001:db8:0:2::10]:51200"));

  auto options = HolderLab::default_options();
  options.local_ips = {address("10.0.0.1")};
  HolderLab v4_only(options);
  CHECK(v4_only.message(ns_of(session).wants_ack().node(HolderLab::kNode6).build()).quiet());
  CHECK(v4_only.count(HolderCounter::unanswered_address) == 1);
  CHECK(v4_only.backups() == 1);
}

TEST_CASE("a Node-Local-IP that is nobody or ourselves gets no answer") {
  const TuplePair session = nat_session();
  HolderLab lab;
  CHECK(lab.message(ns_of(session).wants_ack().node("0.0.0.0").build()).quiet());
  CHECK(lab.message(ns_of(session).wants_ack().node("10.0.0.1").build()).quiet());
  CHECK(lab.count(HolderCounter::unanswered_address) == 2);
}

TEST_CASE("everything sent is told in events with type and carriage") {
  HolderLab lab;
  const TuplePair session = full_nat_session();
  lab.in(syn_with(session, ns_of(session).wants_ack())).burst();
  lab.message(qs(session.client_side).build()).one();
  std::vector<std::string_view> sent;
  for (const auto& event : lab.log.events) {
    if (event.kind == engine::EventKind::message_sent) sent.push_back(event.detail);
  }
  CHECK(sent == std::vector<std::string_view>{"NA standalone", "RS standalone"});
}

}  // namespace
}  // namespace asrp::test
