// SPDX-License-Identifier: BSD-3-Clause
// --check: does the exchange conform to the draft? One line or object per finding. docs/asrpdump-check.md says what each means.
#pragma once

#include <array>
#include <string>

#include "asrp/base/limits.hpp"
#include "report/follow.hpp"
#include "report/report.hpp"
#include "report/rules/rule.hpp"
#include "report/sink.hpp"

namespace asrp::dump {

struct CheckOptions {
  FollowOptions follow;
  bool json = false;
  std::uint16_t port = kDefaultPort;
  std::uint64_t most_per_rule = 1000;  // findings shown of one rule; the others are only counted
};

class CheckReport final : public Report, private FollowListener {
 public:
  CheckReport(const CheckOptions& options, Sink out, Sink notes);

  void on_packet(const Packet& packet) override;
  void finish() override;
  [[nodiscard]] bool has_certain_findings() const override { return certain_ != 0; }

 private:
  void on_heard(const Heard& heard) override;
  void on_gone(Session& session) override;
  void tell(const Finding& finding);
  void line(const Finding& finding);
  void object(const Finding& finding);

  CheckOptions options_;
  Sink out_;
  Sink notes_;
  FindingSink sink_;
  Memory memory_;
  Copies invalid_seen_;
  Follower follower_;
  std::string text_;
  std::uint64_t packets_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t sessions_ = 0;
  std::uint64_t certain_ = 0;
  std::uint64_t possible_ = 0;
  std::array<std::uint64_t, kRules.size()> told_{};
  int decimals_ = 6;
};

}  // namespace asrp::dump
