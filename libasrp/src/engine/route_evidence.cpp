// SPDX-License-Identifier: BSD-3-Clause
#include "engine/route_evidence.hpp"

#include <algorithm>

namespace asrp::engine {

RouteEvidence::Route& RouteEvidence::route(std::uint32_t number) {
  if (routes_.size() >= kMostRoutes && !routes_.contains(number)) {
    const auto less = [](const auto& a, const auto& b) { return a.second.used < b.second.used; };
    routes_.erase(std::min_element(routes_.begin(), routes_.end(), less));
  }
  Route& found = routes_[number];
  found.used = ++uses_;
  return found;
}

RouteEvidence::Route* RouteEvidence::find(std::uint32_t number) {
  const auto found = routes_.find(number);
  return found == routes_.end() ? nullptr : &found->second;
}

RouteEvidence::State RouteEvidence::state(std::uint32_t route) const {
  const auto found = routes_.find(route);
  return found == routes_.end() ? State::unknown : found->second.state;
}

bool RouteEvidence::may_begin(std::uint32_t number, TimePoint now) {
  Route& r = route(number);
  switch (r.state) {
    case State::unknown:
      return r.unanswered + r.in_flight < kMostUnanswered;
    case State::proven:
      return true;
    case State::absent:
      break;
  }
  if (r.firsts < kFirstsPerTry) ++r.firsts;
  return r.firsts >= kFirstsPerTry && now - r.last_sent >= kTryInterval;
}

void RouteEvidence::sent(std::uint32_t number, TimePoint now) {
  Route& r = route(number);
  ++r.in_flight;
  r.firsts = 0;
  r.last_sent = now;
}

bool RouteEvidence::answered(std::uint32_t number, bool was_waiting) {
  Route* r = find(number);
  if (r == nullptr) return false;
  if (was_waiting && r->in_flight > 0) --r->in_flight;
  r->unanswered = 0;
  const bool is_news = r->state != State::proven;
  r->state = State::proven;
  return is_news;
}

bool RouteEvidence::unanswered(std::uint32_t number) {
  Route* r = find(number);
  if (r == nullptr) return false;
  if (r->in_flight > 0) --r->in_flight;
  if (r->state == State::absent || ++r->unanswered < kMostUnanswered) return false;
  r->state = State::absent;
  r->firsts = 0;
  return true;
}

void RouteEvidence::abandoned(std::uint32_t number) {
  Route* r = find(number);
  if (r != nullptr && r->in_flight > 0) --r->in_flight;
}

RouteEvidence::Totals RouteEvidence::totals() const {
  Totals out;
  for (const auto& [number, r] : routes_) {
    ++(r.state == State::unknown ? out.unknown : r.state == State::absent ? out.absent : out.proven);
  }
  return out;
}

}  // namespace asrp::engine
