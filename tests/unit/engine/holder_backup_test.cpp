// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/backup.hpp"
#include "support/holder_lab.hpp"

namespace asrp::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TuplePair full_nat(std::string_view client, std::string_view mapped) { return full_nat_session(client, mapped); }

/// Stores `session` and gives it a socket.
void establish(HolderLab& lab, const TuplePair& session) {
  REQUIRE(lab.in(syn_with(session, ns_of(session))).one().kind == OutputKind::replace);
  lab.sessions.known[session.server_side] = LocalState::live;
  lab.wait(seconds(2));
}

TEST_CASE("NS without F-NA is not answered, NS with F-NA by an NA that echoes it [spec 4.3.3-4, 4.3.2-2]") {
  const TuplePair session = full_nat_session();
  HolderLab lab;
  CHECK(lab.in(syn_with(session, ns_of(session))).one().kind == OutputKind::replace);
  const auto outs = lab.in(syn_with(session, ns_of(session).cookie(0x01020304).wants_ack().session_data("aa"))).burst();
  REQUIRE(outs.size() == 2);
  CHECK(outs[0].kind == OutputKind::replace);
  const wire::Message na = outs[1].message();
  CHECK(na.type == MsgType::NA);
  CHECK(na.tuples() == session);
  CHECK(na.cookie.value == 0x01020304);
  CHECK(na.flags == 0);
  CHECK(to_hex(na.session_data) == "aa");
}

TEST_CASE("the same NS again is a retransmission: refreshed, answered as the first time, no conflict") {
  const TuplePair session = full_nat_session();
  HolderLab lab;
  for (int i = 0; i < 3; ++i) {
    const auto outs = lab.in(syn_with(session, ns_of(session).wants_ack())).burst();
    REQUIRE(outs.size() == 2);
    CHECK(outs[0].octets == syn_of(session));
    CHECK(outs[1].message().type == MsgType::NA);
  }
  CHECK(lab.backups() == 1);
  CHECK(lab.store.size() == 1);
  CHECK(lab.count(HolderCounter::backups_stored) == 1);
  CHECK(lab.count(HolderCounter::backups_refreshed) == 2);
  CHECK(lab.store.commits == 1);  // what is the same already need not be written
}

TEST_CASE("a refreshed backup has the new cookie, Node-Local-IP and Session-Data [spec 4.3.2-4, 4.3.2-5]") {
  const TuplePair session = full_nat_session();
  HolderLab lab;
  lab.in(syn_with(session, ns_of(session).cookie(1))).one();
  lab.message(ns_of(session).cookie(2).session_data("0bad").node("192.0.2.99").build());
  CHECK(lab.quiet());
  const HolderOut syn_ack = lab.out(tcp(session.server_side.reversed()).syn_ack().build()).one();
  CHECK(syn_ack.carried().cookie.value == 2);
  CHECK(to_hex(syn_ack.carried().session_data) == "0bad");
  CHECK(session::decode_backup(lab.store.get(0))->node_local_ip == address("192.0.2.99"));
}

TEST_CASE("client-side conflict: NC with F-CC, nothing stored, the packet is not handed on [spec 4.3.3-1, 4.3.3-2, 4.3.5-1]") {
  const TuplePair older = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  const TuplePair newer = full_nat("203.0.113.7:50000", "10.9.0.1:2001");
  HolderLab lab;
  establish(lab, older);
  const auto outs = lab.in(syn_with(newer, ns_of(newer).cookie(9).wants_ack().node("192.0.2.44").session_data("77"))).burst();
  REQUIRE(outs.size() == 2);
  CHECK(outs[0].kind == OutputKind::drop);
  const wire::Message nc = outs[1].message();
  CHECK(nc.type == MsgType::NC);
  CHECK(nc.flags == wire::kFlagCc);
  CHECK(nc.st1 == newer.client_side);
  CHECK(nc.st2 == older.server_side);
  CHECK(nc.cookie.value == 9);
  CHECK(to_hex(nc.session_data) == "77");
  CHECK(outs[1].view().tuple().dst == endpoint("192.0.2.44:51200"));
  CHECK(lab.backups() == 1);
  CHECK(!lab.knows(newer.server_side));
  CHECK(lab.knows(older.client_side));
  CHECK(lab.count(HolderCounter::conflicts_client) == 1);
  CHECK(lab.count(HolderCounter::packets_dropped_conflict) == 1);
  CHECK(lab.log.count(engine::EventKind::backup_conflict) == 1);
}

TEST_CASE("server-side conflict: NC without F-CC and without F-NA [spec 4.3.3-2, 4.3.5-2]") {
  const TuplePair older = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  const TuplePair newer = full_nat("203.0.113.8:50000", "10.9.0.1:2000");
  HolderLab lab;
  establish(lab, older);
  const auto outs = lab.in(syn_with(newer, ns_of(newer).wants_ack())).burst();
  REQUIRE(outs.size() == 2);
  CHECK(outs[0].kind == OutputKind::drop);
  const wire::Message nc = outs[1].message();
  CHECK(nc.type == MsgType::NC);
  CHECK(nc.flags == 0);
  CHECK(nc.st1 == newer.client_side);
  CHECK(nc.st2 == older.server_side);
  CHECK(lab.count(HolderCounter::conflicts_server) == 1);
  CHECK(!lab.knows(newer.client_side));
}

TEST_CASE("a conflict on both sides is one of the client side [spec 4.3.3-1]") {
  const TuplePair a = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  const TuplePair b = full_nat("203.0.113.8:50000", "10.9.0.1:2001");
  const TuplePair both{a.client_side, b.server_side};
  HolderLab lab;
  establish(lab, a);
  establish(lab, b);
  const wire::Message nc = lab.in(syn_with(both, ns_of(both))).burst().at(1).message();
  CHECK(nc.flags == wire::kFlagCc);
  CHECK(nc.st2 == a.server_side);
}

TEST_CASE("a client-side tuple conflicts with either side of an older backup, either way round [spec 4.3.3-1]") {
  const TuplePair older = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  for (const Tuple& client_side : {older.server_side, older.server_side.reversed(), older.client_side.reversed()}) {
    const TuplePair newer{client_side, full_nat("203.0.113.9:1", "10.9.0.1:2005").server_side};
    HolderLab lab;
    establish(lab, older);
    const auto outs = lab.in(syn_with(newer, ns_of(newer))).burst();
    REQUIRE(outs.size() == 2);
    CHECK(outs[1].message().flags == wire::kFlagCc);
    CHECK(lab.backups() == 1);
  }
}

TEST_CASE("a server-side tuple that is another's client-side one conflicts too") {
  // The older session's client-side tuple is what the newer one uses towards this server.
  const Tuple shared{endpoint("10.9.0.1:2000"), endpoint("10.0.0.1:8080"), Protocol::tcp};
  const TuplePair older{shared, {endpoint("10.9.0.2:3000"), endpoint("10.0.0.1:8081"), Protocol::tcp}};
  const TuplePair newer{{endpoint("203.0.113.7:1"), endpoint("198.51.100.1:80"), Protocol::tcp}, shared};
  HolderLab lab;
  establish(lab, older);
  const auto outs = lab.in(syn_with(newer, ns_of(newer))).burst();
  REQUIRE(outs.size() == 2);
  CHECK(outs[1].message().type == MsgType::NC);
  CHECK(outs[1].message().flags == 0);
}

TEST_CASE("TCP and UDP sessions with the same addresses and ports do not conflict") {
  HolderLab lab;
  establish(lab, nat_session());
  const TuplePair over_udp = nat_session("203.0.113.7:50000", Protocol::udp);
  CHECK(lab.in(with_message(datagram_of(over_udp), ns_of(over_udp).build())).one().kind == OutputKind::replace);
  CHECK(lab.backups() == 2);
}

TEST_CASE("a standalone NS in conflict is answered NC") {
  const TuplePair older = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  const TuplePair newer = full_nat("203.0.113.8:50000", "10.9.0.1:2000");
  HolderLab lab;
  establish(lab, older);
  CHECK(lab.message(ns_of(newer).wants_ack().build()).one().message().type == MsgType::NC);
  CHECK(lab.backups() == 1);
}

TEST_CASE("an older session whose socket is gone gives way at once") {
  const TuplePair older = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  const TuplePair newer = full_nat("203.0.113.8:50000", "10.9.0.1:2000");
  HolderLab lab;
  establish(lab, older);
  lab.sessions.known.clear();
  CHECK(lab.in(syn_with(newer, ns_of(newer))).one().octets == syn_of(newer));
  CHECK(lab.knows(newer.client_side));
  CHECK(!lab.knows(older.client_side));
  CHECK(lab.count(HolderCounter::released_replaced) == 1);
  CHECK(lab.store.size() == 1);
}

TEST_CASE("an older session in TIME-WAIT gives way to its own client and to no other") {
  const TuplePair older = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  const TuplePair other_client = full_nat("203.0.113.8:50000", "10.9.0.1:2000");
  const TuplePair same_client = full_nat("203.0.113.7:50000", "10.9.0.1:2001");
  HolderLab lab;
  establish(lab, older);
  lab.sessions.known[older.server_side] = LocalState::time_wait;
  CHECK(lab.in(syn_with(other_client, ns_of(other_client))).burst().at(1).message().type == MsgType::NC);
  CHECK(lab.in(syn_with(same_client, ns_of(same_client))).one().octets == syn_of(same_client));
  CHECK(lab.knows(same_client.server_side));
  CHECK(!lab.knows(older.server_side));
}

TEST_CASE("two older sessions in the way, both gone: both give way; one alive: NC") {
  const TuplePair a = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  const TuplePair b = full_nat("203.0.113.8:50000", "10.9.0.1:2001");
  const TuplePair both{a.client_side, b.server_side};
  HolderLab lab;
  establish(lab, a);
  establish(lab, b);
  lab.sessions.known.erase(a.server_side);
  const wire::Message nc = lab.in(syn_with(both, ns_of(both))).burst().at(1).message();
  CHECK(nc.flags == 0);
  CHECK(nc.st2 == b.server_side);
  lab.sessions.known.erase(b.server_side);
  CHECK(lab.in(syn_with(both, ns_of(both))).one().octets == syn_of(both));
  CHECK(lab.backups() == 1);
  CHECK(lab.knows(both.client_side));
}

TEST_CASE("a handshake with SYN cookies has no socket: for its first second it yields to no other client") {
  const TuplePair older = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  const TuplePair newer = full_nat("203.0.113.8:50000", "10.9.0.1:2000");
  HolderLab lab;
  lab.in(syn_with(older, ns_of(older))).one();
  lab.wait(milliseconds(900));
  CHECK(lab.in(syn_with(newer, ns_of(newer))).burst().at(1).message().type == MsgType::NC);
  lab.wait(milliseconds(200));
  CHECK(lab.in(syn_with(newer, ns_of(newer))).one().octets == syn_of(newer));
}

TEST_CASE("a client that reuses its port within a millisecond is served at once") {
  const TuplePair older = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  const TuplePair newer = full_nat("203.0.113.7:50000", "10.9.0.1:2001");
  HolderLab lab;
  lab.in(syn_with(older, ns_of(older))).one();
  lab.wait(milliseconds(1));
  CHECK(lab.in(syn_with(newer, ns_of(newer))).one().octets == syn_of(newer));
  CHECK(lab.knows(newer.server_side));
}

TEST_CASE("conflicts inside one burst: the first comes first") {
  const TuplePair a = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  const TuplePair b = full_nat("203.0.113.8:50000", "10.9.0.1:2000");
  HolderLab lab;
  const auto outs = lab.in(syn_with(a, ns_of(a))).in(syn_with(b, ns_of(b))).burst();
  REQUIRE(outs.size() == 3);
  CHECK(outs[0].octets == syn_of(a));
  CHECK(outs[1].kind == OutputKind::drop);
  CHECK(outs[2].message().type == MsgType::NC);
  // Also of one client: both packets would reach the stack.
  const TuplePair c = full_nat("203.0.113.9:50000", "10.9.0.1:2001");
  const TuplePair d = full_nat("203.0.113.9:50000", "10.9.0.1:2002");
  const auto both = lab.in(syn_with(c, ns_of(c))).in(syn_with(d, ns_of(d))).burst();
  REQUIRE(both.size() == 3);
  CHECK(both[2].message().type == MsgType::NC);
  CHECK(lab.knows(c.server_side));
  // Also if the first is a retransmission.
  const auto again = lab.in(syn_with(c, ns_of(c))).in(syn_with(d, ns_of(d))).burst();
  REQUIRE(again.size() == 3);
  CHECK(again[2].message().type == MsgType::NC);
  CHECK(lab.knows(c.server_side));
}

TEST_CASE("a UDP backup gives way only when it is released") {
  const TuplePair older = full_nat_session("203.0.113.7:50000", "10.9.0.1:2000", Protocol::udp);
  const TuplePair newer = full_nat_session("203.0.113.8:50000", "10.9.0.1:2000", Protocol::udp);
  HolderLab lab;
  lab.in(with_message(datagram_of(older), ns_of(older).build())).one();
  lab.wait(seconds(10));
  CHECK(lab.in(with_message(datagram_of(newer), ns_of(newer).build())).burst().at(1).message().type == MsgType::NC);
}

TEST_CASE("full NAT: a session of this host that has no backup keeps its server-side tuple [spec 4.3.5-2]") {
  // Its NS passed while the holder was away. The host would answer the other client's SYN, however often repeated, for it.
  const TuplePair unknown = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  const TuplePair newer = full_nat("203.0.113.8:50000", "10.9.0.1:2000");
  HolderLab lab;
  lab.sessions.known[unknown.server_side] = LocalState::live;
  const auto outs = lab.in(syn_with(newer, ns_of(newer).wants_ack())).burst();
  REQUIRE(outs.size() == 2);
  CHECK(outs[0].kind == OutputKind::drop);
  const wire::Message nc = outs[1].message();
  CHECK(nc.type == MsgType::NC);
  CHECK(nc.flags == 0);
  CHECK(nc.st1 == newer.client_side);
  CHECK(nc.st2 == newer.server_side);
  CHECK(lab.backups() == 0);
  CHECK(lab.count(HolderCounter::conflicts_unknown) == 1);
  CHECK(lab.log.count(engine::EventKind::backup_conflict) == 1);
  // Gone, in a handshake (its own, repeated) or in TIME-WAIT: TCP itself knows what to do.
  for (const LocalState state : {LocalState::opening, LocalState::time_wait, LocalState::none}) {
    lab.sessions.known[unknown.server_side] = state;
    CHECK(lab.in(syn_with(newer, ns_of(newer))).one().octets == syn_of(newer));
    lab.sessions.known.clear();
    lab.wait(seconds(80));
    REQUIRE(lab.backups() == 0);
  }
}

TEST_CASE("a session without a backup gets one by an NS that is not inside its SYN") {
  const TuplePair session = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  HolderLab lab;
  lab.sessions.known[session.server_side] = LocalState::live;
  CHECK(lab.message(ns_of(session).wants_ack().build()).one().message().type == MsgType::NA);
  CHECK(lab.knows(session.client_side));
  // The repeated SYN of a session that has its backup is no other session's.
  CHECK(lab.in(syn_with(session, ns_of(session))).one().octets == syn_of(session));
  // Where the client's address is kept, the tuple is the client's own.
  const TuplePair kept = nat_session("203.0.113.9:50000");
  lab.sessions.known[kept.server_side] = LocalState::live;
  CHECK(lab.in(syn_with(kept, ns_of(kept))).one().octets == syn_of(kept));
}

TEST_CASE("all conflict look-ups of a burst are one call") {
  HolderLab lab;
  for (int i = 0; i < 20; ++i)
    establish(lab, full_nat("203.0.113.7:" + std::to_string(1000 + i), "10.9.0.1:" + std::to_string(2000 + i)));
  const std::size_t calls = lab.sessions.calls;
  for (int i = 0; i < 20; ++i) {
    const TuplePair newer = full_nat("203.0.113.8:" + std::to_string(1000 + i), "10.9.0.1:" + std::to_string(2000 + i));
    lab.in(syn_with(newer, ns_of(newer)));
  }
  CHECK(lab.burst().size() == 40);
  CHECK(lab.sessions.calls == calls + 1);
}

TEST_CASE("a full store: handed on unprotected or dropped, counted, shown, nothing answered") {
  for (const auto on_full : {engine::OnFull::pass, engine::OnFull::drop}) {
    auto options = HolderLab::default_options();
    options.on_full = on_full;
    options.max_backups = 1;
    HolderLab lab(options);
    const TuplePair first = nat_session("203.0.113.7:1000");
    const TuplePair second = nat_session("203.0.113.7:1001");
    lab.in(syn_with(first, ns_of(first))).one();
    const HolderOut verdict = lab.in(syn_with(second, ns_of(second).wants_ack())).one();
    CHECK((verdict.kind == OutputKind::replace) == (on_full == engine::OnFull::pass));
    CHECK((verdict.kind == OutputKind::drop) == (on_full == engine::OnFull::drop));
    if (on_full == engine::OnFull::pass) CHECK(verdict.octets == syn_of(second));
    CHECK(lab.count(HolderCounter::store_full) == 1);
    CHECK(lab.count(HolderCounter::packets_unprotected) + lab.count(HolderCounter::packets_dropped_full) == 1);
    CHECK(lab.log.count(engine::EventKind::limit_reached) == 1);
    CHECK(!lab.knows(second.client_side));
    // What is stored can still be refreshed.
    CHECK(lab.in(syn_with(first, ns_of(first).wants_ack())).burst().size() == 2);
  }
}

TEST_CASE("a store that refuses a record is a full store") {
  HolderLab lab;
  lab.store.capacity = 1;
  const TuplePair first = nat_session("203.0.113.7:1000");
  const TuplePair second = nat_session("203.0.113.7:1001");
  lab.in(syn_with(first, ns_of(first)));
  lab.in(syn_with(second, ns_of(second)));
  CHECK(lab.burst().size() == 2);
  CHECK(lab.backups() == 1);
  CHECK(lab.count(HolderCounter::packets_unprotected) == 1);
  CHECK(lab.count(HolderCounter::discarded_full) == 1);
}

TEST_CASE("a commit that fails: no NA, no RS, handed on unprotected, and it is as if the NS had not come") {
  const TuplePair session = full_nat_session();
  HolderLab lab;
  lab.store.fail_commits = true;
  lab.in(syn_with(session, ns_of(session).wants_ack()));
  lab.message(qs(session.client_side).build());
  lab.out(tcp(session.server_side.reversed()).syn_ack().build());
  const auto outs = lab.burst();
  REQUIRE(outs.size() == 3);
  CHECK(outs[0].octets == syn_of(session));
  CHECK(outs[1].message().type == MsgType::RX);
  CHECK(outs[2].kind == OutputKind::accept);
  CHECK(lab.backups() == 0);
  CHECK(lab.embryonic() == 0);
  CHECK(lab.count(HolderCounter::store_commit_failed) == 1);
  CHECK(lab.count(HolderCounter::backups_unsaved) == 1);
  CHECK(lab.count(HolderCounter::packets_unprotected) == 1);
  lab.store.fail_commits = false;
  CHECK(lab.in(syn_with(session, ns_of(session).wants_ack())).burst().size() == 2);
  CHECK(lab.knows(session.client_side));
}

TEST_CASE("a commit that fails, on_full = drop: the packet does not reach the stack") {
  auto options = HolderLab::default_options();
  options.on_full = engine::OnFull::drop;
  HolderLab lab(options);
  lab.store.fail_commits = true;
  const TuplePair session = full_nat_session();
  CHECK(lab.in(syn_with(session, ns_of(session).wants_ack())).one().kind == OutputKind::drop);
  CHECK(lab.count(HolderCounter::packets_dropped_full) == 1);
}

TEST_CASE("a commit that fails does not bring back what was released") {
  const TuplePair older = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  const TuplePair newer = full_nat("203.0.113.8:50000", "10.9.0.1:2000");
  HolderLab lab;
  establish(lab, older);
  lab.sessions.known.clear();
  lab.store.fail_commits = true;
  lab.in(syn_with(newer, ns_of(newer))).one();
  CHECK(lab.backups() == 0);
  lab.store.fail_commits = false;
  CHECK(!lab.knows(older.client_side));
  CHECK(!lab.knows(newer.client_side));
  CHECK(lab.store.size() == 0);  // the flush of that question erased it
}

TEST_CASE("the NS of a conflict in a separate packet: NC, and the packet is dropped with it") {
  const TuplePair older = full_nat("203.0.113.7:50000", "10.9.0.1:2000");
  const TuplePair newer = full_nat("203.0.113.8:50000", "10.9.0.1:2000");
  HolderLab lab;
  establish(lab, older);
  const Buffer segment = tcp(newer.server_side).push().data(10).build();
  const auto outs = lab.in(separate_with(segment, ns_of(newer).build())).burst();
  REQUIRE(outs.size() == 2);
  CHECK(outs[0].kind == OutputKind::drop);
  CHECK(outs[1].message().type == MsgType::NC);
}

}  // namespace
}  // namespace asrp::test
