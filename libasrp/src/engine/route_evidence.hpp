// SPDX-License-Identifier: BSD-3-Clause
// Whether a gateway on a route answers HS (decision 23). An HS costs something where nobody takes it out again: a few tries
// tell, and then only a rare one looks whether it is still so.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "asrp/base/time.hpp"

namespace asrp::engine {

class RouteEvidence {
 public:
  enum class State : std::uint8_t {
    unknown,  // nothing answered yet, and fewer than kMostUnanswered tries
    absent,   // kMostUnanswered tries in a row without an answer
    proven,   // the last try that was decided was answered, or one of the few before it
  };
  static constexpr unsigned kMostUnanswered = 8;
  static constexpr unsigned kFirstsPerTry = 100;                     // `absent`: one in so many first packets
  static constexpr Duration kTryInterval = std::chrono::minutes(1);  // and not more often

  [[nodiscard]] State state(std::uint32_t route) const;
  /// Whether an HS may go with a packet that begins a session. Counts the packet.
  bool may_begin(std::uint32_t route, TimePoint now);

  // What became of an HS. The numbers of routes that are gone have no effect.
  void sent(std::uint32_t route, TimePoint now);
  /// True if the route became `proven`. `was_waiting`: it has not been called unanswered before.
  bool answered(std::uint32_t route, bool was_waiting);
  /// True if the route became `absent`.
  bool unanswered(std::uint32_t route);
  /// Nobody waits for the answer any more.
  void abandoned(std::uint32_t route);

  struct Totals {
    std::size_t unknown = 0, absent = 0, proven = 0;
  };
  [[nodiscard]] Totals totals() const;

 private:
  // A host that roams meets new routes now and then; only the latest are of interest.
  static constexpr std::size_t kMostRoutes = 256;

  struct Route {
    State state = State::unknown;
    unsigned in_flight = 0;
    unsigned unanswered = 0;  // since the last answer
    unsigned firsts = 0;      // in `absent`: packets since the last try
    TimePoint last_sent{};
    std::uint64_t used = 0;
  };
  Route& route(std::uint32_t number);
  Route* find(std::uint32_t number);

  std::unordered_map<std::uint32_t, Route> routes_;
  std::uint64_t uses_ = 0;
};

}  // namespace asrp::engine
