// SPDX-License-Identifier: BSD-3-Clause
// --stats: how many messages of each type, carriage and reason; how quickly queries are answered; what was repeated; rates.
#pragma once

#include <array>
#include <string>

#include "report/follow.hpp"
#include "report/report.hpp"
#include "report/sink.hpp"
#include "report/stats_figures.hpp"

namespace asrp::dump {

struct StatsOptions {
  FollowOptions follow;
  bool json = false;  // one object
};

class StatsReport final : public Report, private FollowListener {
 public:
  StatsReport(const StatsOptions& options, Sink out, Sink notes);

  void on_packet(const Packet& packet) override;
  void finish() override;

 private:
  static constexpr std::size_t kCarriages = 5;
  static constexpr std::size_t kReasons = 8;
  using Row = std::array<std::uint64_t, kCarriages>;

  void on_heard(const Heard& heard) override;
  void on_gone(Session& session) override;
  void on_probe_gone(const Asked& asked) override;
  void text();
  void text_queries();
  void json();

  StatsOptions options_;
  Sink out_;
  Sink notes_;
  Follower follower_;

  std::uint64_t packets_ = 0;
  std::uint64_t with_message_ = 0;       // packets; a message is in several if several links were captured
  std::uint64_t last_with_message_ = 0;  // its number
  std::int64_t begin_ = 0;
  std::array<Row, wire::kMsgTypeCount> sent_{};
  std::array<Row, kReasons> invalid_{};
  std::uint64_t cut_ = 0;
  std::uint64_t not_asrp_ = 0;
  std::uint64_t sessions_ = 0;
  std::uint64_t restored_rs_ = 0;
  std::uint64_t restored_ps_ = 0;
  std::uint64_t ns_again_ = 0;
  std::uint64_t qs_again_ = 0;
  std::uint64_t rs_answers_ = 0;
  std::uint64_t rx_answers_ = 0;
  std::uint64_t unanswered_ = 0;
  std::uint64_t probes_ = 0;
  std::uint64_t probes_unanswered_ = 0;
  Histogram latency_;
  Histogram held_;
  Rates rates_;
};

}  // namespace asrp::dump
