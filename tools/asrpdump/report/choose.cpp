// SPDX-License-Identifier: BSD-3-Clause
#include "report/choose.hpp"

#include <cstdio>

#include "report/json.hpp"
#include "report/sessions.hpp"
#include "report/stats.hpp"
#include "report/text.hpp"

namespace asrp::dump {

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
  FollowOptions follow;
  follow.max_sessions = options.max_sessions;
  if (options.wants_text()) reports.push_back(std::make_unique<TextReport>(out, options.text));
  if (options.json && !options.has_report()) reports.push_back(std::make_unique<JsonReport>(out));
  if (options.sessions)
    reports.push_back(std::make_unique<SessionsReport>(SessionsOptions{follow, options.json}, lines, notes));
  if (options.stats) reports.push_back(std::make_unique<StatsReport>(StatsOptions{follow, options.json}, lines, notes));
  return reports;
}

}  // namespace asrp::dump
