// SPDX-License-Identifier: BSD-3-Clause
// Entries that a dump found marked: what a new daemon goes on with, and the minute's NS (decision 7).
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::FlowMark;
using wire::MsgType;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";
constexpr const char* kNode = "192.0.2.10";

Buffer na_to(const Datagram& d) { return na(d.message.tuples()).cookie(d.message.cookie.value).build(); }

TuplePair numbered(std::uint16_t port) {
  const std::string client = "203.0.113.7:" + std::to_string(port);
  return {tcp_tuple(client, kVip), tcp_tuple(client, "10.0.0.2:8080")};
}

/// A dump with `count` entries of one mark.
std::vector<Out> dump(NodeScript& s, std::uint16_t count, FlowMark mark) {
  s.begin_burst();
  for (std::uint16_t i = 0; i < count; ++i) s.marked_flow({numbered(static_cast<std::uint16_t>(1000 + i)), mark, false});
  s.engine.on_marked_flows_end(s.now);
  return s.end_burst();
}

}  // namespace

TEST_CASE("after a restart marks and entries are the whole state") {
  NodeScript s(basic_options());
  const TuplePair pair{tcp_tuple(kClient, kVip), tcp_tuple(kClient, "10.0.0.2:8080")};
  SUBCASE("waiting: NS and cookie are rebuilt, the tries begin anew") {
    s.flows.add(pair, FlowMark::waiting);
    const Datagram d = only_datagram(s.marked_flow({pair, FlowMark::waiting, false}), MsgType::NS);
    CHECK(d.message.cookie == policy::keyed_cookie(key_of(0x22), pair));
    CHECK(d.message.has(wire::kFlagNa));
    CHECK(s.marked_flow({pair, FlowMark::waiting, false}).empty());
    CHECK(kinds(s.advance(milliseconds(100))) == "send_own:NS");
    s.message({d.to.address, 51200}, kNode, na_to(d));
    CHECK(s.flows.entry(pair.client_side)->mark == FlowMark::none);
  }
  SUBCASE("unprotected: one NS for each visit of the dump; an NA protects the session") {
    s.flows.add(pair, FlowMark::unprotected);
    CHECK(kinds(s.marked_flow({pair, FlowMark::unprotected, false})) == "send_own:NS");
    CHECK(s.advance(seconds(60)).empty());
    CHECK(s.flows.entry(pair.client_side)->mark == FlowMark::unprotected);
    const Datagram d = only_datagram(s.marked_flow({pair, FlowMark::unprotected, false}), MsgType::NS);
    s.message({d.to.address, 51200}, kNode, na_to(d));
    CHECK(s.flows.entry(pair.client_side)->mark == FlowMark::none);
  }
  SUBCASE("holder gone, or the session is none of ours: no NS") {
    s.flows.add(pair, FlowMark::waiting);
    s.port_unreachable("10.0.0.2");
    CHECK(s.marked_flow({pair, FlowMark::waiting, false}).empty());
    CHECK(s.flows.entry(pair.client_side)->mark == FlowMark::unprotected);
    const TuplePair foreign{tcp_tuple("192.0.2.1:1", "192.0.2.2:2"), tcp_tuple("192.0.2.1:1", "192.0.2.3:3")};
    CHECK(s.marked_flow({foreign, FlowMark::waiting, false}).empty());
  }
}

TEST_CASE("what an NA or NC has settled since the dump read it is left alone") {
  NodeScript s(basic_options());
  const TuplePair pair{tcp_tuple(kClient, kVip), tcp_tuple(kClient, "10.0.0.2:8080")};
  const TuplePair other{tcp_tuple(kClient, kVip), tcp_tuple(kClient, "10.0.0.1:8080")};
  for (const bool is_holder_gone : {false, true}) {
    if (is_holder_gone) s.port_unreachable("10.0.0.2");
    s.flows.entries.clear();  // removed after an NC
    CHECK(s.marked_flow({pair, FlowMark::waiting, false}).empty());
    s.flows.add(pair, FlowMark::none);  // acknowledged
    CHECK(s.marked_flow({pair, FlowMark::waiting, false}).empty());
    CHECK(s.flows.entry(pair.client_side)->mark == FlowMark::none);
    s.flows.entries.clear();
    s.flows.add(other, FlowMark::waiting);  // made anew at another server
    CHECK(s.marked_flow({pair, FlowMark::waiting, false}).empty());
    CHECK(s.flows.entry(pair.client_side)->mark == FlowMark::waiting);
    CHECK(s.engine.gauges().waiting == 0);
  }
}

TEST_CASE("what ends needs no backup: closing entries get no NS, and no longer wait") {
  NodeScript s(basic_options());
  const TuplePair pair{tcp_tuple(kClient, kVip), tcp_tuple(kClient, "10.0.0.2:8080")};
  for (const FlowMark mark : {FlowMark::waiting, FlowMark::unprotected}) {
    s.flows.entries.clear();
    s.flows.add(pair, mark, true);
    CHECK(s.marked_flow({pair, mark, true}).empty());
    CHECK(s.engine.gauges().waiting == 0);
    CHECK((s.flows.entries.at(0).mark == FlowMark::unprotected) == (mark == FlowMark::unprotected));
  }
}

TEST_CASE("the minute's NS are spread over the minute") {
  NodeScript s(basic_options());
  for (std::uint16_t i = 0; i < 1000; ++i) s.flows.add(numbered(static_cast<std::uint16_t>(1000 + i)), FlowMark::unprotected);
  for (int minute = 0; minute < 2; ++minute) {
    std::size_t sent = dump(s, 1000, FlowMark::unprotected).size();
    std::size_t most = sent;
    for (int i = 0; i < 600; ++i) {
      const std::size_t now = s.advance(milliseconds(100)).size();
      sent += now;
      most = std::max(most, now);
    }
    CHECK(sent == 1000);
    CHECK(most == 2);
  }
}

TEST_CASE("a dump that comes in several bursts is one") {
  NodeScript s(basic_options());
  std::size_t sent = 0;
  for (std::uint16_t i = 0; i < 1000; ++i) {
    s.flows.add(numbered(static_cast<std::uint16_t>(1000 + i)), FlowMark::unprotected);
    s.begin_burst();
    s.marked_flow({numbered(static_cast<std::uint16_t>(1000 + i)), FlowMark::unprotected, false});
    sent += s.end_burst().size();
  }
  CHECK(sent == 0);
  s.engine.on_marked_flows_end(s.now);
  sent += s.advance(seconds(60)).size();
  CHECK(sent == 1000);
}

TEST_CASE("an unprotected session is looked at again before its NS goes: it may have ended, or have its backup") {
  NodeScript s(basic_options());
  for (std::uint16_t i = 0; i < 600; ++i) s.flows.add(numbered(static_cast<std::uint16_t>(1000 + i)), FlowMark::unprotected);
  dump(s, 600, FlowMark::unprotected);
  for (auto& entry : s.flows.entries) {
    const std::uint16_t port = entry.tuples.client_side.src.port;
    if (port % 3 == 0) entry.closing = true;
    if (port % 3 == 1) entry.mark = FlowMark::none;
    if (port % 3 == 2) entry.tuples.server_side.dst.address = address("10.0.0.3");
  }
  CHECK(s.advance(seconds(60)).empty());
}

TEST_CASE("of more unprotected sessions than a minute has NS for, chance takes some") {
  auto options = basic_options();
  options.limits.unprotected = 10;
  NodeScript s(options);
  for (std::uint16_t i = 0; i < 100; ++i) s.flows.add(numbered(static_cast<std::uint16_t>(1000 + i)), FlowMark::unprotected);
  std::set<Endpoint> asked;
  for (int minute = 0; minute < 50; ++minute) {
    auto sent = dump(s, 100, FlowMark::unprotected);
    for (Out& out : s.advance(seconds(60))) sent.push_back(std::move(out));
    CHECK(sent.size() == 10);
    for (const Out& out : sent) asked.insert(datagram(out)->message.st1.src);
  }
  CHECK(asked.size() > 90);
  CHECK(s.counter(NodeCounter::limit_unprotected) == 50 * 90);
}

TEST_CASE("after a restart the NS of many waiting sessions go out in groups, and each gets its ten") {
  NodeScript s(basic_options());
  for (std::uint16_t i = 0; i < 1000; ++i) s.flows.add(numbered(static_cast<std::uint16_t>(1000 + i)), FlowMark::waiting);
  CHECK(dump(s, 1000, FlowMark::waiting).size() == 64);
  CHECK(s.engine.gauges().waiting == 1000);
  CHECK(s.advance(milliseconds(1)).size() == 64);
  CHECK(s.advance(milliseconds(14)).size() == 1000 - 128);
  s.advance(seconds(2));
  CHECK(s.counter(NodeCounter::sent_ns_standalone) == 10'000);
  CHECK(s.counter(NodeCounter::sessions_unprotected) == 1000);
}

TEST_CASE("the gauge of sessions without a backup is what the last whole dump had, also where no holder is left to ask") {
  NodeScript s(basic_options());
  dump(s, 7, FlowMark::unprotected);
  CHECK(s.engine.gauges().unprotected == 7);
  dump(s, 3, FlowMark::waiting);
  CHECK(s.engine.gauges().unprotected == 0);
  s.port_unreachable("10.0.0.2");
  dump(s, 5, FlowMark::unprotected);
  CHECK(s.engine.gauges().unprotected == 5);
  s.begin_burst();
  s.marked_flow({numbered(9), FlowMark::unprotected, false});  // the next dump has begun
  s.end_burst();
  CHECK(s.engine.gauges().unprotected == 5);
  s.engine.on_marked_flows_end(s.now);
  CHECK(s.engine.gauges().unprotected == 1);
  s.engine.on_marked_flows_end(s.now);  // of a dump without a marked entry
  CHECK(s.engine.gauges().unprotected == 0);
}
