// SPDX-License-Identifier: BSD-3-Clause
// What a new session and a recovery cost the node's engine, in bursts as the daemon takes them, with a session table that says
// yes to everything: the kernel's share is not in it. Time is that of a burst of 64; items_per_second counts sessions.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "asrp/engine/node_engine.hpp"
#include "asrp/packet/packet_view.hpp"
#include "asrp/wire/decode.hpp"
#include "support/builders.hpp"

namespace {

using asrp::Buffer;
using asrp::engine::NodeEngine;
using asrp::engine::OutputKind;
using asrp::engine::Tap;
namespace engine = asrp::engine;
namespace test = asrp::test;
namespace wire = asrp::wire;

constexpr std::size_t kBurst = 64;
constexpr std::size_t kSessions = 64'000;

class YesTable final : public engine::FlowTable {
 public:
  void install(std::span<const engine::Flow>, std::span<engine::InstallResult> results) override {
    std::fill(results.begin(), results.end(), engine::InstallResult::ok);
  }
  std::optional<engine::FlowEntry> find(const asrp::Tuple&) override { return std::nullopt; }
  void remove(const asrp::Tuple&) override {}
  void set_mark(const asrp::Tuple&, engine::FlowMark) override {}
};

class FixedPaths final : public engine::Paths {
 public:
  std::size_t mtu_towards(const asrp::IpAddress&) override { return 1500; }
};

class NoEvents final : public engine::EventSink {
 public:
  void on_event(const engine::Event&) override {}
};

class CountingRandom final : public asrp::RandomSource {
 public:
  void fill(asrp::MutableOctets out) override {
    for (auto& octet : out) octet = static_cast<std::uint8_t>(state_ = state_ * 1664525 + 1013904223, state_ >> 24);
  }

 private:
  std::uint32_t state_ = 1;
};

engine::NodeOptions options(engine::ForwardMode forward) {
  engine::NodeOptions options;
  options.local_ips = {test::address("10.2.1.2")};
  options.placement_key.fill(1);
  options.cookie_keys.sign.fill(2);
  engine::Service service;
  service.name = "web";
  service.address = test::endpoint("203.0.113.10:80");
  service.forward = forward;
  service.full_nat = {{test::address("10.9.0.1"), test::address("10.9.0.2")}, 1024, 65535};
  for (int i = 1; i <= 4; ++i) {
    engine::Backend backend;
    backend.id = "s" + std::to_string(i);
    backend.address = test::endpoint("10.3." + std::to_string(i) + ".2:80");
    service.backends.push_back(backend);
  }
  options.services = {service};
  return options;
}

std::string client(std::size_t n) {
  return "20.0." + std::to_string(n / 256) + "." + std::to_string(n % 256) + ":" + std::to_string(1024 + n % 60'000);
}

class Node {
 public:
  explicit Node(engine::ForwardMode forward) : engine_(options(forward), flows_, paths_, random_, events_) { pass({}); }
  void packet(Tap tap, const Buffer& octets) { engine_.on_packet(now_, {1, number_++}, tap, octets); }
  void flush() { engine_.flush(now_); }
  void clear() { engine_.outbox().clear(); }
  void pass(asrp::Duration duration) {
    now_ += duration;
    engine_.on_timeout(now_);
    flush();
    clear();
  }
  NodeEngine& engine() { return engine_; }
  /// Packets of the burst that go on or end.
  std::size_t verdicts() {
    const auto outputs = engine_.outbox().outputs();
    return static_cast<std::size_t>(std::count_if(outputs.begin(), outputs.end(), [](const engine::Output& output) {
      return output.kind != OutputKind::send_own && output.kind != OutputKind::send_flow;
    }));
  }

  /// Answers the burst's queries: RS from server 1 for what it would have, RX from the others.
  void answer_queries() {
    answers_.clear();
    for (const auto& output : engine_.outbox().outputs()) {
      if (output.kind != OutputKind::send_own) continue;
      const auto view = asrp::packet::PacketView::parse(engine_.outbox().octets(output));
      const auto query = wire::decode(view->payload());
      if (!query || query->message.type != wire::MsgType::QS) throw std::runtime_error("no query");
      const auto tuple = view->tuple();
      answers_.push_back({{tuple.dst.address, tuple.src.port}, answer(query->message, tuple.dst.address)});
    }
    clear();
    for (const auto& one : answers_) engine_.on_message(now_, one.from, test::address("10.2.1.2"), one.octets);
    flush();
    clear();
  }

 private:
  struct Answer {
    asrp::Endpoint from;
    Buffer octets;
  };
  static Buffer answer(const wire::Message& query, const asrp::IpAddress& server) {
    const asrp::TuplePair pair{query.st1, {query.st1.src, {server, 80}, query.protocol}};
    Buffer out;
    wire::encode(wire::with_tuples(wire::MsgType::RS, pair, query.cookie, {}), out);
    return out;
  }

  YesTable flows_;
  FixedPaths paths_;
  NoEvents events_;
  CountingRandom random_;
  asrp::TimePoint now_{};
  std::uint32_t number_ = 0;
  NodeEngine engine_;
  std::vector<Answer> answers_;
};

void session_from_syn(benchmark::State& state) {
  std::vector<Buffer> packets;
  for (std::size_t n = 0; n < kSessions; ++n) packets.push_back(test::tcp(client(n), "203.0.113.10:80").syn().build());
  Node node(state.range(0) != 0 ? engine::ForwardMode::full_nat : engine::ForwardMode::nat);
  std::size_t next = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBurst; ++i) node.packet(Tap::first, packets[next++ % kSessions]);
    node.flush();
    if (node.verdicts() != kBurst) {
      state.SkipWithError("a packet without its verdict");
      break;
    }
    node.clear();
    if (next % 4096 == 0) {
      state.PauseTiming();
      node.pass(std::chrono::milliseconds(250));
      state.ResumeTiming();
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(next));
}
BENCHMARK(session_from_syn)->ArgName("full_nat")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

void recovery_from_segment(benchmark::State& state) {
  std::vector<Buffer> packets;
  for (std::size_t n = 0; n < kSessions; ++n) packets.push_back(test::tcp(client(n), "203.0.113.10:80").payload("x").build());
  Node node(engine::ForwardMode::nat);
  std::size_t next = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBurst; ++i) node.packet(Tap::stray, packets[next++ % kSessions]);
    node.flush();
    node.answer_queries();
    if (node.engine().gauges().held_packets != 0) {
      state.SkipWithError("a packet is still held");
      break;
    }
    if (next % 4096 == 0) {
      state.PauseTiming();
      node.pass(std::chrono::milliseconds(500));
      state.ResumeTiming();
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(next));
}
BENCHMARK(recovery_from_segment)->Unit(benchmark::kMicrosecond);

}  // namespace
