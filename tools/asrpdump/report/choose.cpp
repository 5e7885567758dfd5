// SPDX-License-Identifier: BSD-3-Clause
#include "report/choose.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "report/check.hpp"
#include "report/json.hpp"
#include "report/ladder.hpp"
#include "report/sessions.hpp"
#include "report/stats.hpp"
#include "report/text.hpp"

namespace asrp::dump {
namespace {

/// Columns of the terminal; 120 of what is none.
int width_of_output() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) return size.ws_col;
  const char* const columns = std::getenv("COLUMNS");
  const int given = columns != nullptr ? std::atoi(columns) : 0;
  return given > 0 ? given : 120;
}

LadderOptions ladder_options(const Options& options, const FollowOptions& follow, const Out& out) {
  LadderOptions ladder;
  ladder.follow = follow;
  ladder.only = options.session;
  if (options.ladder_limit != 0) ladder.limit = options.ladder_limit;
  ladder.file = options.ladder_file;
  ladder.svg = !options.ladder_file.empty();
  ladder.color = out.color();
  ladder.width = width_of_output();
  ladder.title = options.read.empty() ? options.live.interface : options.read.substr(options.read.rfind('/') + 1);
  return ladder;
}

/// Each report on sessions has a follower of its own, with its share of the memory.
FollowOptions follow_options(const Options& options) {
  constexpr std::size_t kPerSession = 2560;                // octets; most have less, some much more
  constexpr std::size_t kAtLeast = std::size_t{16} << 20;  // few sessions may be long
  const int reports = int{options.sessions} + int{options.stats} + int{options.check} + int{options.ladder};
  FollowOptions follow;
  follow.max_sessions = options.max_sessions;
  follow.max_octets = std::max(options.max_sessions * kPerSession, kAtLeast) / static_cast<std::size_t>(std::max(reports, 1));
  return follow;
}

}  // namespace

std::vector<std::unique_ptr<Report>> choose_reports(const Options& options, Out& out) {
  std::vector<std::unique_ptr<Report>> reports;
  const Sink lines = [&out](std::string_view text) {
    out.text(text);
    out.end_of_item();
  };
  const Sink notes = [&out](std::string_view text) {
    out.flush();
    std::fwrite(text.data(), 1, text.size(), stderr);
  };
  const FollowOptions follow = follow_options(options);
  if (options.wants_text()) reports.push_back(std::make_unique<TextReport>(out, options.text));
  if (options.wants_json_of_messages()) reports.push_back(std::make_unique<JsonReport>(out));
  if (options.sessions)
    reports.push_back(std::make_unique<SessionsReport>(SessionsOptions{follow, options.json, options.session}, lines, notes));
  if (options.stats) reports.push_back(std::make_unique<StatsReport>(StatsOptions{follow, options.json}, lines, notes));
  if (options.check) {
    CheckOptions check;
    check.follow = follow;
    check.json = options.json;
    check.port = options.port;
    reports.push_back(std::make_unique<CheckReport>(check, lines, notes));
  }
  if (options.ladder) reports.push_back(std::make_unique<LadderReport>(ladder_options(options, follow, out), lines, notes));
  return reports;
}

}  // namespace asrp::dump
