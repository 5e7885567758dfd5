// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/server_health.hpp"

#include <algorithm>
#include <cmath>

namespace asrp::policy {
namespace {

constexpr int kHintsPerInterval = 4;

/// Between 0 and `longest`, both included.
Duration part(Duration longest, std::uint64_t random) {
  return Duration(static_cast<Duration::rep>(random % (static_cast<std::uint64_t>(longest.count()) + 1)));
}

}  // namespace

std::string_view to_string(HealthState state) {
  switch (state) {
    case HealthState::unchecked:
      return "unchecked";
    case HealthState::up:
      return "up";
    case HealthState::down:
      return "down";
    case HealthState::damped:
      return "damped";
  }
  return "";
}

ServerHealth::ServerHealth(const HealthOptions& options, TimePoint now, std::uint64_t random)
    : options_(options), since_(now), due_(now + part(options.interval, random)), last_(now), decayed_(now) {}

void ServerHealth::set_options(const HealthOptions& options) {
  options_ = options;
  penalty_ = std::min(penalty_, std::max(limit(), 0.0) + 1);  // no more than a fall can make it
}

void ServerHealth::enter(TimePoint now, HealthState state) {
  row_ = 0;
  state_ = state;
  since_ = now;
}

void ServerHealth::decay(TimePoint now) {
  const double half_lives = std::chrono::duration<double>(now - decayed_) / options_.half_life;
  penalty_ *= std::exp2(-half_lives);
  decayed_ = now;
  if (options_.flaps == 0 || penalty_ <= limit() / 2) suppressed_ = false;
}

void ServerHealth::punish() {
  ++falls_;
  if (options_.flaps == 0) return;
  penalty_ += 1;
  if (penalty_ > limit()) suppressed_ = true;
}

void ServerHealth::on_result(TimePoint now, bool good, std::uint64_t random) {
  const Duration spread = options_.interval * options_.jitter / 100;
  due_ = now + options_.interval - spread + part(2 * spread, random);
  last_ = now;
  decay(now);
  const bool is_down = state_ == HealthState::down;
  const bool against = good ? is_down : !is_down;
  if (!against) {
    row_ = 0;
    if (state_ == HealthState::unchecked || (state_ == HealthState::damped && !suppressed_)) enter(now, HealthState::up);
    return;
  }
  ++row_;
  if (state_ != HealthState::unchecked && row_ < (good ? options_.rise : options_.fall)) return;
  if (good) return enter(now, suppressed_ ? HealthState::damped : HealthState::up);
  // Who is damped has not risen, and who was never checked has not stood: neither falls.
  if (state_ == HealthState::up) punish();
  enter(now, HealthState::down);
}

void ServerHealth::on_hint(TimePoint now) {
  due_ = std::min(due_, std::max(now, last_ + options_.interval / kHintsPerInterval));
}

}  // namespace asrp::policy
