// SPDX-License-Identifier: BSD-3-Clause
// What a backup and an answer cost the holder, store included (LMDB on a tmpfs), in bursts as the daemon takes them. Time is
// that of a burst of 64; items_per_second counts packets and messages.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "asrp/engine/holder_engine.hpp"
#include "asrp/packet/packet_view.hpp"
#include "asrp/packet/surgery.hpp"
#include "io/lmdb_store.hpp"
#include "runtime/clock.hpp"
#include "support/builders.hpp"

namespace {

using asrp::Buffer;
using asrp::engine::Direction;
using asrp::engine::HolderEngine;
using asrp::engine::LocalState;
namespace test = asrp::test;

constexpr std::size_t kBurst = 64;
constexpr std::size_t kSessions = 64'000;

class EverythingLives final : public asrp::engine::LocalSessions {
 public:
  void look_up(std::span<const asrp::Tuple>, std::span<LocalState> states) override {
    std::fill(states.begin(), states.end(), LocalState::live);
  }
};

class FixedPaths final : public asrp::engine::Paths {
 public:
  std::size_t mtu_towards(const asrp::IpAddress&) override { return 1500; }
};

class NoEvents final : public asrp::engine::EventSink {
 public:
  void on_event(const asrp::engine::Event&) override {}
};

asrp::TuplePair session(std::size_t n) {
  const std::string client =
      "20.0." + std::to_string(n / 256) + "." + std::to_string(n % 256) + ":" + std::to_string(1024 + n % 60'000);
  return {test::tcp_tuple(client, "203.0.113.10:80"), test::tcp_tuple(client, "10.3.1.2:80")};
}

/// A holder with an empty store in a directory of its own.
class Holder {
 public:
  Holder() : directory_("/dev/shm/asrp-holder-bench-" + std::to_string(::getpid())) {
    std::filesystem::remove_all(directory_);
    auto store = asrp::io::open_lmdb_store({.directory = directory_});
    if (!store) throw std::runtime_error(store.error().to_string());
    store_ = std::move(*store);
    asrp::engine::HolderOptions options;
    options.local_ips = {test::address("10.3.1.2")};
    options.nodes = {{test::address("10.2.0.0"), 16}};
    engine_ = std::make_unique<HolderEngine>(options, *store_, sessions_, paths_, random_, events_);
    engine_->load(now_);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() {
    engine_.reset();
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  void packet(const Buffer& octets) { engine_->on_packet(now_, {1, number_++}, Direction::inbound, octets); }
  void message(const Buffer& octets) {
    engine_->on_message(now_, test::endpoint("10.2.1.2:40000"), test::endpoint("10.3.1.2:51200"), octets);
  }
  std::size_t burst() {
    engine_->flush(now_);
    const std::size_t outputs = engine_->outbox().outputs().size();
    engine_->outbox().clear();
    now_ += std::chrono::milliseconds(2);
    while (engine_->next_timeout() && *engine_->next_timeout() <= now_) {
      engine_->on_timeout(now_);
      engine_->flush(now_);
    }
    return outputs;
  }
  [[nodiscard]] std::size_t backups() const { return engine_->gauges().backups; }

 private:
  std::string directory_;
  std::unique_ptr<asrp::session::RecordStore> store_;
  EverythingLives sessions_;
  FixedPaths paths_;
  NoEvents events_;
  asrp::runtime::SystemRandom random_;
  asrp::TimePoint now_{};
  std::uint32_t number_ = 0;
  std::unique_ptr<HolderEngine> engine_;
};

Buffer syn_with_ns(std::size_t n) {
  const auto pair = session(n);
  const auto syn = test::tcp(pair.server_side.src.to_string(), pair.server_side.dst.to_string()).syn().build();
  const auto view = asrp::packet::PacketView::parse(syn);
  Buffer out;
  if (!asrp::packet::insert_inline(*view, {}, test::ns(pair).node("10.2.1.2").build(), 1500, out)) {
    throw std::runtime_error("no room");
  }
  return out;
}

void backup_from_syn(benchmark::State& state) {
  std::vector<Buffer> packets;
  for (std::size_t n = 0; n < kSessions; ++n) packets.push_back(syn_with_ns(n));
  Holder holder;
  std::size_t next = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBurst; ++i) holder.packet(packets[next++ % kSessions]);
    if (holder.burst() != kBurst) state.SkipWithError("a packet without verdict");
  }
  if (holder.backups() != kSessions) state.SkipWithError("backups are missing");
  state.SetItemsProcessed(static_cast<std::int64_t>(next));
}
BENCHMARK(backup_from_syn)->Iterations(kSessions / kBurst)->Unit(benchmark::kMicrosecond);

void answer_query(benchmark::State& state) {
  Holder holder;
  for (std::size_t n = 0; n < kSessions; ++n) {
    holder.message(test::ns(session(n)).node("10.2.1.2").build());
    if (n % kBurst == kBurst - 1) holder.burst();
  }
  if (holder.backups() != kSessions) state.SkipWithError("backups are missing");
  std::vector<Buffer> queries;
  for (std::size_t n = 0; n < kSessions; ++n) queries.push_back(test::qs(session(n * 7919 % kSessions).client_side).build());
  std::size_t next = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBurst; ++i) holder.message(queries[next++ % kSessions]);
    if (holder.burst() != kBurst) state.SkipWithError("a query without answer");
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(next));
}
BENCHMARK(answer_query)->Unit(benchmark::kMicrosecond);

}  // namespace
