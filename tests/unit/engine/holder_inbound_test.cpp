// SPDX-License-Identifier: BSD-3-Clause
#include "support/holder_lab.hpp"

namespace asrp::test {
namespace {

/// `packet` with its message octets changed by `change`.
template <typename Change>
Buffer damaged(Buffer packet, Change change) {
  const auto view = packet::PacketView::parse(packet);
  const auto located = packet::locate(*view, {});
  REQUIRE(located.found());
  change(MutableOctets(packet).subspan(located.message_offset, located.message_room));
  return packet;
}

/// What a stack would see if the message were taken out.
Buffer syn_with_octets(const TuplePair& session, const Buffer& octets) { return with_message(syn_of(session), octets); }

TEST_CASE("a SYN with an inline NS is stored, committed, and handed on as the client sent it [spec 4.3.3-3]") {
  for (const TuplePair& session : {nat_session(), full_nat_session(), nat_session6()}) {
    HolderLab lab;
    const HolderOut verdict = lab.in(syn_with(session, ns_of(session))).one();
    CHECK(verdict.kind == OutputKind::replace);
    CHECK(verdict.mark == 0);
    CHECK(verdict.octets == syn_of(session));
    CHECK(lab.store.commits == 1);
    CHECK(lab.backups() == 1);
    CHECK(lab.knows(session.client_side));
    CHECK(lab.count(HolderCounter::received_ns) == 1);
    CHECK(lab.count(HolderCounter::packets_stripped) == 1);
  }
}

TEST_CASE("a datagram with an inline NS loses its option area and nothing else [spec 4.3.3-3]") {
  for (const TuplePair& session : {nat_session("203.0.113.7:50000", Protocol::udp), nat_session6(Protocol::udp)}) {
    HolderLab lab;
    const HolderOut verdict = lab.in(with_message(datagram_of(session), ns_of(session).build())).one();
    CHECK(verdict.kind == OutputKind::replace);
    CHECK(verdict.octets == datagram_of(session));
    CHECK(lab.knows(session.server_side));
  }
}

TEST_CASE("a separate packet with an NS is taken and consumed, TCP and UDP") {
  const TuplePair over_tcp = nat_session();
  const TuplePair over_udp = nat_session("203.0.113.7:50000", Protocol::udp);
  HolderLab lab;
  const Buffer segment = tcp(over_tcp.server_side).push().data(1400).build();
  CHECK(lab.in(separate_with(segment, ns_of(over_tcp).build())).one().kind == OutputKind::drop);
  CHECK(lab.in(separate_with(datagram_of(over_udp), ns_of(over_udp).build())).one().kind == OutputKind::drop);
  CHECK(lab.count(HolderCounter::packets_consumed) == 2);
  CHECK(lab.knows(over_tcp.client_side));
  CHECK(lab.knows(over_udp.client_side));
}

TEST_CASE("packets without a message of ours pass untouched") {
  HolderLab lab;
  const TuplePair session = nat_session();
  const packet::Marker foreign{.exid = 0x1234};
  const Buffer other_exid = with_message(syn_of(session), ns_of(session).build(), foreign);
  const auto verdicts = lab.in(syn_of(session)).in(other_exid).in(icmp_error("192.0.2.1", "10.0.0.1").build()).burst();
  REQUIRE(verdicts.size() == 3);
  for (const HolderOut& verdict : verdicts) CHECK(verdict.kind == OutputKind::accept);
  CHECK(lab.backups() == 0);
  CHECK(lab.count(HolderCounter::packets_untouched) == 3);
}

TEST_CASE("a packet for another host or namespace passes untouched, message and all") {
  HolderLab lab;
  TuplePair session = nat_session();
  session.server_side.dst = endpoint("10.0.0.2:8080");
  CHECK(lab.in(syn_with(session, ns_of(session))).one().kind == OutputKind::accept);
  CHECK(lab.backups() == 0);
  CHECK(lab.count(HolderCounter::packets_forwarded) == 1);
}

TEST_CASE("the host's addresses come from the driver unless they are configured") {
  auto options = HolderLab::default_options();
  options.local_ips.clear();
  HolderLab lab(options);
  const TuplePair session = nat_session();
  CHECK(lab.in(syn_with(session, ns_of(session))).one().kind == OutputKind::accept);
  const std::vector<IpAddress> addresses{address("10.0.0.7"), address("10.0.0.1")};
  lab.engine->on_local_addresses(addresses);
  CHECK(lab.in(syn_with(session, ns_of(session))).one().kind == OutputKind::replace);
  lab.engine->on_local_addresses({});
  CHECK(lab.in(syn_with(session, ns_of(session))).one().kind == OutputKind::accept);
}

TEST_CASE("an invalid message whose extent is known is taken out of the segment [spec 4.3.1-1]") {
  const TuplePair session = nat_session();
  const Buffer good = syn_with(session, ns_of(session));
  struct Case {
    std::size_t offset;
    std::uint8_t value;
    HolderCounter reason;
  };
  for (const Case& each : {Case{1, 99, HolderCounter::discarded_type}, Case{2, 5, HolderCounter::discarded_sttype},
                           Case{2, 77, HolderCounter::discarded_sttype}}) {
    HolderLab lab;
    const HolderOut verdict = lab.in(damaged(good, [&](MutableOctets m) { m[each.offset] = each.value; })).one();
    REQUIRE(verdict.kind == OutputKind::replace);
    CHECK(verdict.view().payload_size() == 0);
    CHECK(lab.count(each.reason) == 1);
    CHECK(lab.backups() == 0);
    CHECK(lab.log.count(engine::EventKind::message_discarded) == 1);
  }
}

TEST_CASE("a segment whose message has no known extent is dropped, so that no application reads it [spec 4.3.1-1]") {
  const TuplePair session = nat_session();
  const Buffer good = syn_with(session, ns_of(session));
  struct Case {
    std::size_t offset;
    std::uint8_t value;
    HolderCounter reason;
  };
  for (const Case& each : {Case{0, 1, HolderCounter::discarded_version}, Case{5, 255, HolderCounter::discarded_truncated},
                           Case{5, 20, HolderCounter::discarded_length}}) {
    HolderLab lab;
    CHECK(lab.in(damaged(good, [&](MutableOctets m) { m[each.offset] = each.value; })).one().kind == OutputKind::drop);
    CHECK(lab.count(each.reason) == 1);
    CHECK(lab.count(HolderCounter::packets_dropped_message) == 1);
    CHECK(lab.backups() == 0);
  }
  HolderLab lab;
  CHECK(lab.in(syn_with_octets(session, hex("00 00 01"))).one().kind == OutputKind::drop);
  CHECK(lab.count(HolderCounter::discarded_truncated) == 1);
  CHECK(lab.in(syn_with_octets(session, hex("00 99 01 00 00 05 00 06 00 00 00 00"))).one().kind == OutputKind::drop);
  CHECK(lab.count(HolderCounter::discarded_type) == 1);
}

TEST_CASE("an invalid message in a datagram's option area is taken out, and an empty datagram with it consumed") {
  const TuplePair session = nat_session("203.0.113.7:50000", Protocol::udp);
  HolderLab lab;
  Buffer message = ns_of(session).build();
  message[0] = 9;
  const HolderOut verdict = lab.in(with_message(datagram_of(session), message)).one();
  CHECK(verdict.octets == datagram_of(session));
  CHECK(lab.in(separate_with(datagram_of(session), message)).one().kind == OutputKind::drop);
  CHECK(lab.count(HolderCounter::discarded_version) == 2);
  CHECK(lab.backups() == 0);
}

TEST_CASE("a wrong option checksum hides the option: the datagram passes as if it had none") {
  const TuplePair session = nat_session("203.0.113.7:50000", Protocol::udp);
  HolderLab lab;
  Buffer packet = with_message(datagram_of(session), ns_of(session).build());
  packet.back() ^= 1;
  CHECK(lab.in(packet).one().kind == OutputKind::accept);
  CHECK(lab.count(HolderCounter::discarded_ocs) == 1);
  CHECK(lab.backups() == 0);
}

TEST_CASE("our TCP option twice: dropped, the place of the message is not certain") {
  const TuplePair session = nat_session();
  HolderLab lab;
  const Buffer packet = tcp(session.server_side).syn().options("fd044153 fd044153").payload(ns_of(session).build()).build();
  CHECK(lab.in(packet).one().kind == OutputKind::drop);
  CHECK(lab.count(HolderCounter::discarded_option) == 1);
}

TEST_CASE("an NS that is not for this holder is taken out of its packet and not stored") {
  const TuplePair session = nat_session();
  const auto check = [&](const Buffer& packet, HolderCounter reason) {
    HolderLab lab;
    const HolderOut verdict = lab.in(packet).one();
    REQUIRE(verdict.kind == OutputKind::replace);
    CHECK(verdict.octets == syn_of(session));
    CHECK(lab.count(reason) == 1);
    CHECK(lab.backups() == 0);
    CHECK(lab.count(HolderCounter::packets_stripped) == 1);
  };
  TuplePair other = session;
  other.server_side.src.port = 50001;
  check(syn_with(session, ns_of(other)), HolderCounter::discarded_tuple);
  other = session;
  other.server_side = session.server_side.reversed();
  check(syn_with(session, ns_of(other)), HolderCounter::discarded_address);
  other = session;
  other.server_side.dst.address = address("10.0.0.2");
  check(syn_with(session, ns_of(other)), HolderCounter::discarded_address);
  other = session;
  other.client_side.dst.port = 0;
  check(syn_with(session, ns_of(other)), HolderCounter::discarded_unspecified);
  other = session;
  other.client_side.src.address = IpAddress{};
  check(syn_with(session, ns_of(other)), HolderCounter::discarded_unspecified);
  check(syn_with(session, ns_of(session).protocol(static_cast<Protocol>(132))), HolderCounter::discarded_protocol);
  check(syn_with(session, ns_of(session).session_data(pattern(65))), HolderCounter::discarded_session_data);
  for (const MsgType type : {MsgType::NA, MsgType::RS, MsgType::PS, MsgType::NC}) {
    check(syn_with(session, with_tuples(type, session)), HolderCounter::discarded_unexpected);
  }
  check(syn_with(session, qs(session.client_side)), HolderCounter::discarded_unexpected);
  check(syn_with(session, hs(Protocol::tcp)), HolderCounter::discarded_unexpected);
}

TEST_CASE("64 octets of Session-Data are stored and come back in NA and RS") {
  const TuplePair session = nat_session();
  HolderLab lab;
  auto outs = lab.in(syn_with(session, ns_of(session).wants_ack().session_data(pattern(64)))).burst();
  REQUIRE(outs.size() == 2);
  const auto data = outs[1].message().session_data;
  CHECK(Buffer(data.begin(), data.end()) == pattern(64));
  lab.message(qs(session.server_side).build());
  const HolderOut answer = lab.one();
  const auto stored = answer.message().session_data;
  CHECK(Buffer(stored.begin(), stored.end()) == pattern(64));
}

TEST_CASE("a standalone NS is taken only from a configured node") {
  const TuplePair session = nat_session();
  HolderLab lab;
  lab.message(ns_of(session).wants_ack().build(), "192.0.3.10:40000");
  CHECK(lab.quiet());
  CHECK(lab.count(HolderCounter::discarded_sender) == 1);
  CHECK(lab.backups() == 0);
  CHECK(lab.message(ns_of(session).wants_ack().build()).one().message().type == MsgType::NA);
  CHECK(lab.backups() == 1);
}

TEST_CASE("a standalone NS must name an address of this host; other types are for nodes") {
  TuplePair session = nat_session();
  session.server_side.dst.address = address("10.0.0.2");
  HolderLab lab;
  CHECK(lab.message(ns_of(session).build()).quiet());
  CHECK(lab.count(HolderCounter::discarded_address) == 1);
  CHECK(lab.message(rx(session.client_side).build()).quiet());
  CHECK(lab.message(rs(session).build()).quiet());
  CHECK(lab.message(hs(Protocol::tcp).build()).quiet());
  CHECK(lab.count(HolderCounter::discarded_unexpected) == 3);
  CHECK(lab.count(HolderCounter::received_rx) == 1);
  CHECK(lab.count(HolderCounter::received_rs) == 1);
  CHECK(lab.count(HolderCounter::received_hs) == 1);
}

TEST_CASE("a standalone message that is damaged is discarded in silence [spec 4.3.1-1]") {
  const Buffer good = qs(nat_session().client_side).build();
  HolderLab lab;
  for (std::size_t n = 0; n < good.size(); ++n)
    CHECK(lab.message(Buffer(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n))).quiet());
  Buffer longer = good;
  longer.push_back(0);
  CHECK(lab.message(longer).quiet());
  Buffer version = good;
  version[0] = 3;
  CHECK(lab.message(version).quiet());
  CHECK(lab.count(HolderCounter::discarded_truncated) == kHeaderSize);
  CHECK(lab.count(HolderCounter::discarded_length) == good.size() - kHeaderSize + 1);
  CHECK(lab.count(HolderCounter::discarded_version) == 1);
  CHECK(lab.count(HolderCounter::sent_rx) == 0);
}

TEST_CASE("reserved bits and octets do not matter [spec 4.1-1, 4.1-2]") {
  const TuplePair session = nat_session();
  HolderLab lab;
  Buffer message = ns_of(session).build();
  message[3] |= 0xf0;
  message[6] = 0xff;
  CHECK(lab.in(with_message(syn_of(session), message)).one().octets == syn_of(session));
  CHECK(lab.backups() == 1);
}

TEST_CASE("before the store is loaded the holder is silent and lets no message through") {
  const TuplePair session = nat_session();
  const TuplePair over_udp = nat_session("203.0.113.7:50000", Protocol::udp);
  HolderLab lab;
  engine::HolderEngine unloaded(HolderLab::default_options(), lab.store, lab.sessions, lab.paths, lab.random, lab.log);
  const Buffer syn = syn_with(session, ns_of(session));
  const Buffer datagram = with_message(datagram_of(over_udp), ns_of(over_udp).build());
  const Buffer plain = tcp(session.server_side.reversed()).syn_ack().build();
  unloaded.on_packet(lab.now, {0, 1}, Direction::inbound, syn);
  unloaded.on_packet(lab.now, {0, 2}, Direction::inbound, datagram);
  unloaded.on_packet(lab.now, {0, 3}, Direction::outbound, plain);
  unloaded.on_message(lab.now, endpoint("192.0.2.10:4000"), endpoint("10.0.0.1:51200"), qs(session.client_side).build());
  unloaded.on_session_end(lab.now, session.server_side);
  unloaded.on_notices_lost(lab.now);
  unloaded.on_timeout(lab.now);
  unloaded.flush(lab.now);
  const auto outputs = unloaded.outbox().outputs();
  REQUIRE(outputs.size() == 3);
  CHECK(outputs[0].kind == OutputKind::drop);
  CHECK(outputs[1].kind == OutputKind::accept);
  CHECK(outputs[2].kind == OutputKind::accept);
  CHECK(unloaded.counters()[HolderCounter::discarded_start] == 3);
  CHECK(unloaded.counters()[HolderCounter::packets_dropped_start] == 1);
  CHECK(!unloaded.next_timeout());
}

TEST_CASE("unreadable packets: dropped where a message may hide in them, else the stack may judge") {
  HolderLab lab;
  Buffer fragment = syn_with(nat_session(), ns_of(nat_session()));
  fragment[6] = 0x20;
  CHECK(lab.in(fragment).one().kind == OutputKind::drop);
  CHECK(lab.in(hex("00")).one().kind == OutputKind::accept);
  CHECK(lab.in({}).one().kind == OutputKind::accept);
  CHECK(lab.count(HolderCounter::packets_unreadable) == 3);
}

TEST_CASE("verdicts keep the order of the packets, whatever is in them") {
  const TuplePair first = nat_session("203.0.113.7:1000");
  const TuplePair second = nat_session("203.0.113.7:1001");
  HolderLab lab;
  const auto outs = lab.in(syn_with(first, ns_of(first)))
                        .in(syn_of(second))
                        .out(tcp(first.server_side.reversed()).syn_ack().build())
                        .in(syn_with(second, ns_of(second)))
                        .burst();
  REQUIRE(outs.size() == 4);
  CHECK(outs[0].kind == OutputKind::replace);
  CHECK(outs[1].kind == OutputKind::accept);
  CHECK(outs[2].kind == OutputKind::accept);
  CHECK(outs[3].kind == OutputKind::replace);
  CHECK(lab.store.commits == 1);
}

}  // namespace
}  // namespace asrp::test
