// SPDX-License-Identifier: BSD-3-Clause
// How certain --check is, and what it needs for that: each case lacks one thing that the certain one has. (report/rules)
#include "report/check.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tape.hpp"

using namespace asrp;
using namespace asrp::test;
using namespace asrp::test::lab;

namespace {

const Tuple& kSt1 = kPair.client_side;
const Tuple& kSt2 = kPair.server_side;
const TuplePair kOtherPair{kSt1, tcp_tuple("203.0.113.7:40000", "10.0.0.1:81")};
const char* const kNode = "10.9.0.1:51200";
const char* const kServer = "10.0.0.1:51200";

struct Run {
  std::string out;
  dump::CheckReport report{
      {.follow = {}, .json = true}, [this](std::string_view text) { out += text; }, [](std::string_view) {}};
  Tape tape{report};

  Run& add(const Buffer& ip) { return tape.add(ip), *this; }
  Run& wait_ms(std::int64_t ms) { return tape.wait_ms(ms), *this; }
  /// "push-cookie certain", in the order in which they were found, with ", " between them.
  std::string found() {
    std::string text;
    for (std::size_t at = out.find("\"rule\":\""); at != std::string::npos; at = out.find("\"rule\":\"", at)) {
      at += 8;
      text += (text.empty() ? "" : ", ") + out.substr(at, out.find('"', at) - at);
      text += out.compare(out.find("\"certain\":", at) + 10, 4, "true") == 0 ? " certain" : " possible";
    }
    return text;
  }
  std::string found_at_end() { return tape.end(), found(); }

  /// The client's SYN, in front of the node.
  Run& syn() { return add(tcp(kSt1).syn().identification(9).ttl(64).build()); }
  Buffer syn_behind(std::uint16_t id = 9) { return tcp(kSt2).syn().identification(id).ttl(63).build(); }
  /// The same behind it, with the node's NS.
  Run& create(const MessageBuilder& message) { return add(inline_of(syn_behind(), message)); }
  Run& to_node(const MessageBuilder& message, const char* node = kNode) { return add(standalone(kServer, node, message)); }
  Run& to_server(const MessageBuilder& message, const char* from = kNode) { return add(standalone(from, kServer, message)); }
  /// The server's SYN/ACK with its PS.
  Run& push(const MessageBuilder& message) { return add(inline_of(tcp(kSt2.reversed()).syn_ack().build(), message)); }
};

MessageBuilder ns_of(std::uint32_t cookie, const std::string& node = kNode1) { return ns(kPair).node(node).cookie(cookie); }

}  // namespace

TEST_CASE("a PS without the cookie of its NS: certain where the SYN's NS was the only one and this its SYN/ACK") {
  CHECK(Run().syn().create(ns_of(7)).push(ps(kPair).cookie(7)).found() == "");
  CHECK(Run().syn().create(ns_of(7)).push(ps(kPair).cookie(8)).found() == "push-cookie certain");

  Run standalone_ns;
  standalone_ns.syn().add(standalone_ns.syn_behind()).to_server(ns_of(7)).push(ps(kPair).cookie(8));
  CHECK(standalone_ns.found() == "push-cookie possible");
  CHECK(Run().to_server(ns_of(6)).syn().create(ns_of(7)).push(ps(kPair).cookie(8)).found() == "push-cookie possible");
  CHECK(Run().syn().create(ns_of(7)).wait_ms(300).push(ps(kPair).cookie(8)).found() == "push-cookie possible");
  const Buffer data = tcp(kSt2.reversed()).push().payload("data").build();
  CHECK(Run().syn().create(ns_of(7)).add(inline_of(data, ps(kPair).cookie(8))).found() == "push-cookie possible");
  Run twice_behind;
  twice_behind.syn().create(ns_of(7)).add(twice_behind.syn_behind(10)).push(ps(kPair).cookie(8));
  CHECK(twice_behind.found() == "push-cookie possible");
  const Buffer question = tcp(kSt1).push().payload("question").identification(10).ttl(64).build();  // not seen behind the node
  CHECK(Run().add(question).create(ns_of(7)).push(ps(kPair).cookie(8)).found() == "push-cookie possible");
  CHECK(Run().syn().create(ns_of(7)).push(ps(kOtherPair).cookie(8)).found().find("push-cookie possible") != std::string::npos);
}

TEST_CASE("an NS that was refused is nobody's to be echoed") {
  CHECK(Run().syn().create(ns_of(7)).to_node(nc(kPair).cookie(7)).push(ps(kPair).cookie(8)).found() == "");
}

TEST_CASE("a PS for another session than its NS said: certain by its cookie, unless that NS was refused") {
  const Buffer other = inline_of(tcp(kOtherPair.server_side.reversed()).syn_ack().build(), ps(kOtherPair).cookie(7));
  const Buffer without = inline_of(tcp(kOtherPair.server_side.reversed()).syn_ack().build(), ps(kOtherPair).cookie(0));
  CHECK(Run().syn().create(ns_of(7)).add(other).found() == "backup-tuples certain");
  CHECK(Run().syn().create(ns_of(7)).to_node(nc(kPair).cookie(7)).add(other).found() == "backup-tuples possible");
  CHECK(Run().syn().create(ns_of(0)).add(without).found() == "backup-tuples possible");
}

TEST_CASE("an NA with other tuples or another cookie: certain where there is one NS that it can answer") {
  CHECK(Run().syn().create(ns_of(7)).to_node(na(kPair).cookie(7)).found() == "");
  CHECK(Run().syn().create(ns_of(7)).to_node(na(kOtherPair).cookie(7)).found() == "ack-tuples certain");
  CHECK(Run().syn().create(ns_of(0)).to_node(na(kOtherPair).cookie(0)).found() == "ack-tuples possible");
  CHECK(Run().to_server(ns_of(6)).syn().create(ns_of(7)).to_node(na(kOtherPair).cookie(7)).found() == "ack-tuples possible");
  CHECK(Run().syn().create(ns_of(7)).to_node(na(kPair).cookie(8)).found() == "ack-cookie certain");
  CHECK(Run().syn().create(ns_of(7)).to_node(na(kOtherPair).cookie(8)).found() == "ack-cookie possible");
}

TEST_CASE("two nodes may send NS with one cookie: each gets its NA") {
  const char* const other = "10.9.0.2:51200";
  CHECK(Run().to_server(ns_of(7)).to_server(ns_of(7, kNode2), other).to_node(na(kPair).cookie(7)).found() == "");
  CHECK(Run().to_server(ns_of(7, kNode2), other).to_node(na(kPair).cookie(7)).found() == "ack-destination possible");
}

TEST_CASE("each NA begins anew: an NS after it is told of once") {
  Run run;
  run.syn().create(ns_of(7).wants_ack()).to_node(na(kPair).cookie(7)).wait_ms(600);
  run.to_server(ns_of(8).wants_ack()).wait_ms(600).to_server(ns_of(8).wants_ack());
  CHECK(run.found() == "ns-after-na possible");
  run.to_node(na(kPair).cookie(8)).wait_ms(600).to_server(ns_of(9).wants_ack());
  CHECK(run.found() == "ns-after-na possible, ns-after-na possible");
}

TEST_CASE("a holder that says that it has no backup contradicts itself once") {
  Run run;
  run.syn().create(ns_of(7)).push(ps(kPair).cookie(7));
  for (const std::uint32_t cookie : {50u, 51u}) {
    run.add(standalone("10.9.0.1:1000", kServer, qs(kSt1).cookie(cookie)));
    run.add(standalone("10.0.0.1:1000", kNode, rx(kSt1).cookie(cookie)));
  }
  CHECK(run.found() == "answer-wrong possible");
}

TEST_CASE("an RX for another tuple is certain only by its cookie") {
  const auto answered = [](std::uint32_t cookie) {
    Run run;
    run.add(standalone("10.9.0.1:1000", kServer, qs(kSt1).cookie(cookie)));
    return run.add(standalone("10.0.0.1:1000", kNode, rx(kOtherPair.server_side).cookie(cookie))).found();
  };
  CHECK(answered(5) == "answer-tuple certain");
  CHECK(answered(0) == "answer-tuple possible");
}

TEST_CASE("an answer that travels with a flow: the draft says of RS what its header is") {
  const Buffer data = tcp(kSt2.reversed()).push().payload("data").build();
  const auto has = [&](const MessageBuilder& message, const char* finding) {
    return Run().add(inline_of(data, message)).found().find(finding) != std::string::npos;
  };
  CHECK(has(rs(kPair).cookie(5), "answer-header certain"));
  CHECK(has(rx(kSt1).cookie(5), "answer-header possible"));
}

TEST_CASE("a holder that answers none of several queries is named once") {
  Run run;
  for (const std::uint32_t cookie : {5u, 6u}) run.add(standalone("10.9.0.1:1000", kServer, qs(kSt1).cookie(cookie)));
  run.wait_ms(5000).add(tcp("192.0.2.1:1", "192.0.2.2:2").build());
  CHECK(run.found_at_end() == "answer-missing possible");
  CHECK(run.out.find("to 10.0.0.1 not answered") != std::string::npos);
}

TEST_CASE("an HS and an NS without cookies have nothing to do with each other, nor has an NS that isn't standalone") {
  const auto with = [](std::uint32_t cookie, bool is_inline) {
    Run run;
    run.syn().create(ns_of(1));
    run.add(inline_of(tcp(kSt1).push().payload("data").build(), hs(Protocol::tcp).cookie(cookie)));
    const MessageBuilder message = ns_of(cookie);
    run.add(is_inline ? inline_of(tcp(kSt2).push().payload("data").build(), message) : standalone(kNode, kServer, message));
    return run.found();
  };
  const auto tells = [&](std::uint32_t cookie, bool is_inline) {
    return with(cookie, is_inline).find("hello-destination certain") != std::string::npos;
  };
  CHECK(tells(5, false));
  CHECK_FALSE(tells(0, false));
  CHECK_FALSE(tells(5, true));
}

TEST_CASE("an NS to the client with another cookie than its HS: certain where there was one HS, and one SYN a moment ago") {
  const auto found = [](int hellos, std::int64_t later_ms) {
    Run run;
    run.syn();
    for (int n = 0; n < hellos; ++n) {
      run.add(
          separate_of(tcp(kSt1).push().payload("data").build(), hs(Protocol::tcp).cookie(static_cast<std::uint32_t>(5 + n))));
    }
    run.add(run.syn_behind()).wait_ms(later_ms);
    return run.add(standalone(kNode, "203.0.113.7:51200", ns_of(9))).found();
  };
  CHECK(found(1, 0) == "hello-cookie certain");
  CHECK(found(2, 0) == "hello-cookie possible");
  CHECK(found(1, 300) == "hello-cookie possible");
}

TEST_CASE("an NS after NA may answer an HS") {
  const auto found = [](std::uint32_t cookie) {
    Run run;
    run.syn().create(ns_of(7).wants_ack()).to_node(na(kPair).cookie(7)).wait_ms(600);
    run.add(inline_of(tcp(kSt1).push().payload("data").build(), hs(Protocol::tcp).cookie(5)));
    return run.add(standalone(kNode, "203.0.113.7:51200", ns_of(cookie))).found().find("ns-after-na") != std::string::npos;
  };
  CHECK(found(6));
  CHECK_FALSE(found(5));
}

TEST_CASE("a node may leave an HS in a datagram") {
  const TuplePair pair{udp_tuple("203.0.113.7:40000", "198.51.100.1:80"), udp_tuple("203.0.113.7:40000", "10.0.0.1:80")};
  Run run;
  run.add(inline_of(udp(pair.server_side).payload("question").build(), ns(pair).node(kNode1).cookie(7)));
  run.add(inline_of(udp(pair.server_side).payload("another").build(), hs(Protocol::udp).cookie(5)));
  CHECK(run.found() == "");
  Run of_tcp;
  of_tcp.syn().create(ns_of(7)).add(inline_of(tcp(kSt2).push().payload("data").build(), hs(Protocol::tcp).cookie(5)));
  CHECK(of_tcp.found() == "not-removed certain");
}

TEST_CASE("ports of queries: by chance, in both directions, and of one query") {
  const auto found = [](auto port_of, auto query_of, bool probe_first = false) {
    Run run;
    if (probe_first) run.add(standalone("10.9.0.1:40000", kServer, qs(Tuple{}).cookie(0)));
    for (int n = 0; n + (probe_first ? 1 : 0) < static_cast<int>(dump::Memory::Ports::kNotByChance); ++n) {
      run.add(standalone("10.9.0.1:" + std::to_string(port_of(n)), kServer, query_of(n)));
    }
    return run.found();
  };
  const auto another = [](int n) {
    return qs(tcp_tuple("203.0.113.7:" + std::to_string(2000 + n), "198.51.100.1:80")).cookie(5);
  };
  const auto same = [](int n) { return qs(kSt1).cookie(static_cast<std::uint32_t>(5 + n)); };
  const auto one_port = [](int) { return 40000; };
  const auto counted = [](int n) { return 40000 + n; };
  const auto around = [](int n) { return 40000 + (n % 2 == 0 ? n : 50 - n); };
  CHECK(found(one_port, another) == "query-random certain");
  CHECK(found(counted, another) == "query-random certain");
  CHECK(found(around, another) == "");
  CHECK(found(one_port, same) == "");
  CHECK(found(one_port, another, true) == "");
}

TEST_CASE("between two other ports a message counts only where it belongs") {
  const auto is_taken = [](const char* from, const char* to, const MessageBuilder& message) {
    Run run;
    run.add(standalone(from, to, message));
    return !run.found_at_end().empty();
  };
  CHECK(is_taken("10.9.0.1:1000", "10.0.0.1:2000", ns_of(7)));
  CHECK_FALSE(is_taken("10.9.0.2:1000", "10.0.0.1:2000", ns_of(7)));
  CHECK_FALSE(is_taken("10.9.0.1:1000", "10.0.0.9:2000", ns_of(7)));
  CHECK_FALSE(is_taken("10.0.0.1:1000", "10.9.0.1:2000", na(kPair).cookie(7)));
  CHECK_FALSE(is_taken("10.9.0.1:1000", "10.0.0.1:2000", qs(kSt1).cookie(7)));
}

TEST_CASE("a query to another port is one finding, wherever it is seen") {
  Run run;
  run.syn().create(ns_of(7));
  for (const std::uint8_t ttl : {std::uint8_t{64}, std::uint8_t{63}}) {
    run.add(udp("10.9.0.1:1000", "10.0.0.1:2000").identification(77).ttl(ttl).payload(qs(kSt1).cookie(5).build()).build());
  }
  CHECK(run.found() == "query-port certain");
}
