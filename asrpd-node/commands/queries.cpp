// SPDX-License-Identifier: GPL-2.0-or-later
// `queries`: the recoveries in flight: for which packet, who was asked, what was said.
#include <cstdio>
#include <memory>
#include <vector>

#include "asrpd-node/commands/commands.hpp"
#include "runtime/clock.hpp"
#include "runtime/log.hpp"

namespace asrp::node {
namespace {

constexpr std::size_t kMost = 10000;  // of a listing, of all workers: they come and go in less than a second

std::string_view word(engine::QueryInFlight::Kind kind) {
  switch (kind) {
    case engine::QueryInFlight::Kind::client:
      return "client";
    case engine::QueryInFlight::Kind::server:
      return "server";
    case engine::QueryInFlight::Kind::conflict:
      return "conflict";
  }
  return "";
}

std::string_view word(engine::QueryInFlight::Answer answer) {
  switch (answer) {
    case engine::QueryInFlight::Answer::not_asked:
      return "not asked";
    case engine::QueryInFlight::Answer::silent:
      return "silent";
    case engine::QueryInFlight::Answer::no_session:
      return "no session";
    case engine::QueryInFlight::Answer::session:
      return "session";
  }
  return "";
}

std::string query_object(const engine::QueryInFlight& query, TimePoint now) {
  char age[32];
  std::snprintf(age, sizeof age, "%.3f", std::chrono::duration<double, std::milli>(now - query.started).count());
  std::string holders;
  for (const engine::QueryInFlight::Asked& each : query.asked)
    holders += std::string(holders.empty() ? "" : ",") + "{\"address\":\"" + each.address.to_string() + "\",\"answer\":\"" +
               std::string(word(each.answer)) + "\"}";
  return "{\"flow\":" + runtime::json_quoted(query.flow.to_string()) + ",\"from\":\"" + std::string(word(query.kind)) +
         "\",\"age_ms\":" + age + ",\"repeats\":" + std::to_string(query.repeats) +
         ",\"held_packets\":" + std::to_string(query.held_packets) + ",\"holders\":[" + holders + "]}";
}

/// All of a moment, handed on as it is read.
class Lines final : public runtime::LineSource {
 public:
  explicit Lines(std::vector<std::string> lines) : lines_(std::move(lines)) {}
  More append(std::string& out) override {
    for (std::size_t begin = out.size(); next_ < lines_.size() && out.size() - begin < kPiece; ++next_)
      out += lines_[next_] + "\n";
    return next_ < lines_.size() ? More::yes : More::no;
  }
  std::string end_members() override { return "\"queries\":" + std::to_string(lines_.size()); }

 private:
  std::vector<std::string> lines_;
  std::size_t next_ = 0;
};

}  // namespace

runtime::ControlCommand queries_command(NodeAccess& node) {
  return {"queries", {}, [&node](const runtime::ControlRequest&, const runtime::ControlAnswer& answer) {
            std::vector<std::string> lines;
            std::size_t all = 0;
            const TimePoint now = runtime::monotonic_now();
            node.for_each_worker([&](Worker& worker) {
              all += worker.engine().gauges().recoveries;
              for (const engine::QueryInFlight& query : worker.engine().queries(kMost - lines.size()))
                lines.push_back(query_object(query, now));
            });
            answer.stream("\"in_flight\":" + std::to_string(all), std::make_unique<Lines>(std::move(lines)));
          }};
}

}  // namespace asrp::node
