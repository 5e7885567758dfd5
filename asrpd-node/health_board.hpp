// SPDX-License-Identifier: GPL-2.0-or-later
// Checks the servers of all pools that have a [pools.health], and tells when one of them gets no new sessions any more, or does
// again. Runs in the daemon's main loop; time comes from its owner.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "asrp/base/random.hpp"
#include "asrpd-node/config.hpp"
#include "io/probe.hpp"

namespace asrp::node {

class HealthBoard {
 public:
  /// Looks under way at once; what is due beyond them waits for one to end, the longest due first.
  static constexpr std::size_t kMostLooks = 64;

  struct Probers {
    io::Prober& tcp;
    io::Prober& http;
    io::Prober& command;
    io::Prober& asrp;
  };
  /// One server, for `status` and listings.
  struct Line {
    std::string pool;
    std::string id;
    HealthCheck check;
    policy::HealthState state;
    TimePoint since;
    std::uint64_t falls;
    std::string detail;  // of the last look
  };
  /// A server of a pool gets new sessions from now on, or doesn't. May be asked for `lines()`; must not configure.
  using Changed = std::function<void(const Line& server)>;
  using Clock = std::function<TimePoint()>;
  /// A look has ended: next_due() may say something else now.
  using Ended = std::function<void()>;

  /// All references must outlive the board.
  HealthBoard(Probers probers, RandomSource& random, Clock clock, Changed changed, Ended ended);
  ~HealthBoard();
  HealthBoard(const HealthBoard&) = delete;
  HealthBoard& operator=(const HealthBoard&) = delete;

  /// The pools to look after from now on. A server that stays at its address keeps what is known of it, whatever else changed.
  /// Tells nothing: whoever configures reads usable().
  void configure(const std::vector<PoolConfig>& pools);
  /// Begins what is due.
  void on_time();
  /// When on_time() wants to be called next; to be asked after each call of the board, and at each `Ended`.
  [[nodiscard]] std::optional<TimePoint> next_due() const;
  /// A server's host seems to be in trouble: its servers are looked at soon.
  void on_hint(const IpAddress& host);

  /// Whether new sessions may go to this server; true for one that is not looked after.
  [[nodiscard]] bool usable(const std::string& pool, const std::string& id) const;
  [[nodiscard]] std::vector<Line> lines() const;
  [[nodiscard]] std::uint64_t looks() const { return looks_; }
  [[nodiscard]] std::uint64_t failed_looks() const { return failed_looks_; }

 private:
  using Key = std::pair<std::string, std::string>;  // pool, server id
  struct Entry {
    Key key;
    Endpoint server;
    HealthConfig how;
    policy::ServerHealth health;
    std::unique_ptr<io::Probe> probe;
    std::string detail;
    std::uint64_t round = 0;  // of configure(): who was not seen in the latest one goes
  };

  [[nodiscard]] io::Prober& prober(HealthCheck check) const;
  static Line line(const Entry& entry);
  void add_or_keep(const PoolConfig& pool, const engine::Backend& server);
  void forget(Entry& entry);
  void end_look(Entry& entry);
  void begin_look(Entry& entry);
  void on_result(Entry& entry, const io::ProbeResult& result);
  void queue(Entry& entry);
  void unqueue(Entry& entry);

  Probers probers_;
  RandomSource& random_;
  Clock clock_;
  Changed changed_;
  Ended ended_;
  std::map<Key, Entry> entries_;
  std::set<std::pair<TimePoint, Key>> due_;      // of all that are not being looked at
  std::set<std::pair<IpAddress, Key>> by_host_;  // ten thousand hosts may fall silent at once, and each is a hint
  std::size_t under_way_ = 0;
  std::uint64_t round_ = 0;
  std::uint64_t looks_ = 0;
  std::uint64_t failed_looks_ = 0;
};

}  // namespace asrp::node
