// SPDX-License-Identifier: BSD-3-Clause
// The HS of this host that are outstanding, by the tuple of their session. An NS counts only as the answer to one of them
// (decision 24). All HS of a session carry one cookie: they are the same request, repeated.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "asrp/base/bytes.hpp"
#include "asrp/base/cookie.hpp"
#include "asrp/base/time.hpp"
#include "asrp/base/tuple.hpp"
#include "asrp/session/slot_pool.hpp"
#include "asrp/session/timer_queue.hpp"
#include "asrp/session/tuple_index.hpp"

namespace asrp::engine {

struct Hello {
  Tuple flow;  // as this host sends
  Cookie cookie;
  std::uint32_t route = 0;     // that its last HS took
  std::uint32_t sequence = 0;  // of the SYN: a port that is used again makes another session
  unsigned tries = 0;
  bool is_waiting = false;  // for the answer to its last HS
  TimePoint sent{};
  Buffer again;  // the session's last packet as a separate one with the HS: sent if no other comes
};

class HelloTable {
 public:
  /// An HS without an answer for so long counts as unanswered; also the least time between two of a session.
  static constexpr Duration kInterval = std::chrono::seconds(1);
  /// The number of tries is remembered so long after the last one.
  static constexpr Duration kMemory = std::chrono::seconds(60);
  /// An NS may come again for so long after the first.
  static constexpr Duration kRepeats = std::chrono::seconds(2);
  static constexpr std::size_t kMost = 65'536;  // kMemory at the default rate

  explicit HelloTable(std::uint64_t seed) : seed_(seed), hellos_(kMost) {}

  /// Valid until the next change.
  Hello* find(const Tuple& flow);
  /// Precondition: it is not there. Null at the limit.
  Hello* add(const Tuple& flow, Cookie cookie, std::uint32_t sequence);
  void remove(const Tuple& flow);

  /// One more HS of it leaves by `route`.
  void sent(Hello& hello, std::uint32_t route, TimePoint now);
  /// Its backup is stored.
  void settled(Hello& hello, TimePoint now);

  /// Appends the routes of the HS that have become unanswered, and the sessions of those that can be sent again; forgets what
  /// is too old.
  void take_due(TimePoint now, std::vector<std::uint32_t>& unanswered_routes, std::vector<Tuple>& repeatable);
  [[nodiscard]] std::optional<TimePoint> next_due() const { return timers_.next(); }
  [[nodiscard]] std::size_t size() const { return hellos_.size(); }

 private:
  struct Cell {
    Hello hello;
    TimePoint forget{};
    TimePoint due{};  // of its timer that counts
  };
  [[nodiscard]] std::uint32_t slot_of(const Tuple& flow) const;
  void remove_slot(std::uint32_t slot);
  void set_timer(std::uint32_t slot, TimePoint due);

  std::uint64_t seed_;
  session::SlotPool<Cell> hellos_;
  session::TupleIndex index_;
  session::TimerQueue timers_;
};

}  // namespace asrp::engine
