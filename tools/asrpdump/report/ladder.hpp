// SPDX-License-Identifier: BSD-3-Clause
// --ladder: the exchange of sessions as a sequence diagram, on the terminal or as an SVG picture.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/follow.hpp"
#include "report/ladder_model.hpp"
#include "report/report.hpp"
#include "report/sink.hpp"

namespace asrp::dump {

struct LadderOptions {
  FollowOptions follow;
  unsigned limit = 20;           // sessions drawn: those that tell most, a move to another node more than a creation
  std::size_t most_rows = 300;   // of one session; what comes behind is counted
  std::optional<Endpoint> only;  // sessions with this end
  bool svg = false;
  bool color = false;  // terminal only
  int width = 100;     // columns of the terminal
  std::string title;   // of the picture
  std::string file;    // the picture goes there; empty: to `out`
};

class LadderReport final : public Report, private FollowListener {
 public:
  LadderReport(const LadderOptions& options, Sink out, Sink notes);

  void on_packet(const Packet& packet) override;
  void finish() override;
  [[nodiscard]] std::string error() const override { return error_; }

 private:
  void on_heard(const Heard& heard) override;
  void on_gone(Session& session) override;
  void write(const std::string& text);

  LadderOptions options_;
  Sink out_;
  Sink notes_;
  Follower follower_;
  std::vector<std::unique_ptr<Ladder>> chosen_;
  std::uint64_t sessions_ = 0;
  std::string error_;
};

/// The diagrams as text for a terminal of `width` columns.
std::string draw_text(const Ladder& ladder, int width, bool color);
/// All of them in one picture.
std::string draw_svg(const std::vector<const Ladder*>& ladders, const std::string& title);

}  // namespace asrp::dump
