// SPDX-License-Identifier: BSD-3-Clause
// Whether a server is well enough for new sessions, as a function of the results of its checks; and when to check next. Time
// and randomness are passed in. Checking itself, and what follows for placement, are the caller's: old sessions of a server are
// queried whatever this says (decision 11).
//
//   - A server that has not been checked counts as well: a node that starts must not begin without servers. Its first result
//     alone decides. From then on it takes `fall` bad results in a row to fall, and `rise` good ones to rise.
//   - Damping, as routers do it with routes: each fall adds 1 to a penalty, which halves with each half-life. At a fall that
//     lifts it above `flaps` - 1 the server is damped: it doesn't rise before the penalty is down to half of that. Who is
//     kept down doesn't fall again, so that a server is back at most two half-lives after its last fall.
//   - A hint (the server's host says that nobody listens, its holder is silent) is no result, for it may be forged or mean
//     something else. It brings the next check forward.
#pragma once

#include <cstdint>
#include <string_view>

#include "asrp/base/time.hpp"

namespace asrp::policy {

struct HealthOptions {
  Duration interval = std::chrono::seconds(2);    // from a result to the next check
  std::uint32_t jitter = 10;                      // percent of it, earlier or later: servers' checks don't stay in step
  std::uint32_t rise = 2;                         // good results in a row
  std::uint32_t fall = 3;                         // bad ones
  std::uint32_t flaps = 3;                        // falls in quick succession that damp, at least 2; 0: no damping
  Duration half_life = std::chrono::seconds(60);  // of the penalty for falls
  friend bool operator==(const HealthOptions&, const HealthOptions&) = default;
};

enum class HealthState : std::uint8_t {
  unchecked,  // counts as well
  up,
  down,
  damped,  // its checks are good, but it has fallen too often
};
/// "unchecked", "up" ...
std::string_view to_string(HealthState state);

class ServerHealth {
 public:
  /// `random`: 64 bits that choose when in the first interval the first check is.
  ServerHealth(const HealthOptions& options, TimePoint now, std::uint64_t random);

  /// A check has ended. `random` chooses the jitter until the next one.
  void on_result(TimePoint now, bool good, std::uint64_t random);
  /// Something else than a check says that the server may be in trouble. At most four checks an interval come of it.
  void on_hint(TimePoint now);
  /// Other options from now on; state and penalty stay.
  void set_options(const HealthOptions& options);

  [[nodiscard]] HealthState state() const { return state_; }
  /// Whether new sessions may go there.
  [[nodiscard]] bool usable() const { return state_ == HealthState::unchecked || state_ == HealthState::up; }
  /// Since when it is in this state.
  [[nodiscard]] TimePoint since() const { return since_; }
  /// When the next check is to begin.
  [[nodiscard]] TimePoint due() const { return due_; }
  /// Times that it fell.
  [[nodiscard]] std::uint64_t falls() const { return falls_; }

 private:
  void enter(TimePoint now, HealthState state);
  void decay(TimePoint now);
  void punish();
  [[nodiscard]] double limit() const { return static_cast<double>(options_.flaps) - 1; }

  HealthOptions options_;
  HealthState state_ = HealthState::unchecked;
  TimePoint since_;
  TimePoint due_;
  TimePoint last_;         // result; at first the beginning
  std::uint32_t row_ = 0;  // results in a row that speak against the state
  std::uint64_t falls_ = 0;
  double penalty_ = 0;  // as of `decayed_`
  TimePoint decayed_;
  bool suppressed_ = false;
};

}  // namespace asrp::policy
