// SPDX-License-Identifier: BSD-3-Clause
// --sessions: one row for each session, when it leaves.
#pragma once

#include <string>

#include "report/follow.hpp"
#include "report/report.hpp"
#include "report/sink.hpp"

namespace asrp::dump {

struct SessionsOptions {
  FollowOptions follow;
  bool json = false;                            // one object per session and line
  std::optional<Endpoint> only = std::nullopt;  // sessions with this end
};

class SessionsReport final : public Report, private FollowListener {
 public:
  /// `out` takes the rows, `notes` what is to be said about them.
  SessionsReport(const SessionsOptions& options, Sink out, Sink notes);

  void on_packet(const Packet& packet) override;
  void finish() override;

 private:
  void on_heard(const Heard&) override {}
  void on_gone(Session& session) override;
  void row(const Session& session);
  void object(const Session& session);

  SessionsOptions options_;
  Sink out_;
  Sink notes_;
  Follower follower_;
  std::string text_;
  std::uint64_t rows_ = 0;
  int decimals_ = 6;
};

}  // namespace asrp::dump
