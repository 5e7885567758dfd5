// SPDX-License-Identifier: GPL-2.0-or-later
// `epochs_import`: takes over what another node knows of former pools. A request is short and the text may be long, so it comes
// in parts: a first request begins and gets a number, then come the parts with that number, and the last one says "end".
// Nothing is done before that, and nothing at all if anything is wrong with the text.
#include <algorithm>
#include <memory>

#include "asrpd-node/commands/commands.hpp"
#include "asrpd-node/status.hpp"
#include "runtime/clock.hpp"
#include "runtime/files.hpp"
#include "runtime/log.hpp"

namespace asrp::node {
namespace {

using runtime::ControlAnswer;
using runtime::ControlArgument;
using runtime::ControlRequest;

constexpr Duration kPatience = std::chrono::seconds(60);  // between two parts; what came is forgotten then
constexpr std::size_t kMostProblems = 1000;               // told of one text
const std::string kState = "\"kind\":\"state\"";

bool has(const PoolState& pool, const policy::Epoch& epoch) {
  return pool.current == epoch ||
         std::any_of(pool.past.begin(), pool.past.end(), [&](const PastEpoch& past) { return past.epoch == epoch; });
}

bool has(const State& state, const std::string& pool, const policy::Epoch& epoch) {
  return std::any_of(state.begin(), state.end(), [&](const PoolState& p) { return p.pool == pool && has(p, epoch); });
}

/// What became of the epochs that were told.
struct Outcome {
  std::size_t taken = 0, known = 0, left_out = 0;
  std::string unknown_pools;  // a list

  void add(const State& before, const State& after, const std::string& pool, const policy::Epoch& epoch) {
    ++(has(before, pool, epoch) ? known : has(after, pool, epoch) ? taken : left_out);
  }
  [[nodiscard]] std::string members() const {
    return "\"taken\":" + std::to_string(taken) + ",\"known\":" + std::to_string(known) +
           ",\"left_out\":" + std::to_string(left_out) + ",\"unknown_pools\":[" + unknown_pools + "]";
  }
};

Outcome outcome_of(const State& before, const State& after, const State& told) {
  Outcome out;
  for (const PoolState& pool : told) {
    if (std::none_of(after.begin(), after.end(), [&](const PoolState& p) { return p.pool == pool.pool; })) {
      out.unknown_pools += (out.unknown_pools.empty() ? "" : ",") + runtime::json_quoted(pool.pool);
      continue;
    }
    out.add(before, after, pool.pool, pool.current);
    for (const PastEpoch& past : pool.past) out.add(before, after, pool.pool, past.epoch);
  }
  return out;
}

std::string list_of(std::vector<std::string> problems) {
  if (problems.size() > kMostProblems) {
    const std::size_t more = problems.size() - kMostProblems;
    problems.resize(kMostProblems);
    problems.push_back("and " + std::to_string(more) + " more");
  }
  std::string out;
  for (const std::string& each : problems) out += (out.empty() ? "" : ",") + runtime::json_quoted(each);
  return "[" + out + "]";
}

/// One at a time: who begins ends the one before.
class Import {
 public:
  explicit Import(NodeAccess& node) : node_(node), loop_(node.event_loop()) {}
  ~Import() { loop_.cancel(timer_); }  // the loop outlives the commands, the node may not
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;

  void on_request(const ControlRequest& request, const ControlAnswer& answer) {
    const auto number = request.number("import");
    if (!number) return begin(answer);
    if (!under_way_ || *number != number_)
      return answer.refuse("this import has ended: it took too long, or another one has begun", kState);
    text_ += request.text("part").value_or("");
    if (text_.size() > runtime::kMaxFile) {
      forget();
      return answer.refuse("it is longer than 16 MiB", kState);
    }
    wait_for_more();
    if (!request.flag("end")) return answer.give();
    const std::string text = std::exchange(text_, {});
    forget();
    take_over(text, answer);
  }

 private:
  void begin(const ControlAnswer& answer) {
    forget();
    under_way_ = true;
    wait_for_more();
    answer.give("\"import\":" + std::to_string(++number_));
  }

  void wait_for_more() {
    loop_.cancel(timer_);
    timer_ = loop_.call_at(runtime::monotonic_now() + kPatience, [this] { forget(); });
  }

  void forget() {
    loop_.cancel(std::exchange(timer_, 0));
    text_ = std::string();
    under_way_ = false;
  }

  void take_over(const std::string& text, const ControlAnswer& answer) {
    std::vector<std::string> problems;
    const auto told = parse_state(text, &problems);
    if (!told) {
      const std::size_t count = problems.size();
      return answer.refuse(std::to_string(count) + (count == 1 ? " problem" : " problems") + ": nothing is taken over",
                           "\"kind\":\"text\",\"problems\":" + list_of(std::move(problems)));
    }
    const State before = node_.state();
    if (const auto done = node_.take_over(*told); !done) return answer.refuse(done.error().to_string());
    answer.give(outcome_of(before, node_.state(), *told).members() + ",\"placement_digest\":\"" +
                placement_digest(node_.options()) + "\"");
  }

  NodeAccess& node_;
  runtime::EventLoop& loop_;
  std::uint64_t number_ = 0;
  bool under_way_ = false;
  std::string text_;
  runtime::EventLoop::TimerId timer_ = 0;
};

}  // namespace

runtime::ControlCommand epochs_import_command(NodeAccess& node) {
  using Kind = ControlArgument::Kind;
  return {"epochs_import",
          {{"import", Kind::number}, {"part", Kind::text}, {"end", Kind::flag}},
          [import = std::make_shared<Import>(node)](const ControlRequest& request, const ControlAnswer& answer) {
            import->on_request(request, answer);
          }};
}

}  // namespace asrp::node
