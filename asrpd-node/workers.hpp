// SPDX-License-Identifier: GPL-2.0-or-later
// All workers of a node. The first is the daemon's own: its descriptors are watched by the daemon's loop, in whose thread all
// members run; each of the others has a thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "asrpd-node/hinting_events.hpp"
#include "asrpd-node/worker.hpp"
#include "runtime/event_log.hpp"

namespace asrp::node {

class Workers {
 public:
  using Task = std::function<void(Worker&)>;

  /// `loop` must outlive the object.
  explicit Workers(runtime::EventLoop& loop) : loop_(loop) {}

  /// Opens the edges of as many as the configuration has.
  Result<Done, io::IoError> open(const NodeConfig& config);
  /// Makes their engines; once. The first one's events go to `events`. `on_hint` is called in the loop's thread when packets
  /// tell of trouble at a host, whoever has seen them. `mappings`: those of ACT mode, else none; they must outlive the object.
  void begin(const NodeConfig& config, const engine::NodeOptions& options, engine::EventSink& events,
             std::function<void(const IpAddress& host)> on_hint, Mappings* mappings);
  /// The others begin to work. `fill_interval`: how often each looks how full the table is.
  void run(Duration fill_interval);
  /// Ends the others' threads.
  void stop() { others_.clear(); }

  [[nodiscard]] Worker& first() const { return *first_; }
  /// One after the other, each in its thread; returns when all are done.
  void call(const Task& task) const;
  /// The first at once, the others when they come to it.
  void post(const Task& task) const;
  /// Of the table's marked entries each gets its share.
  void on_marked_flows(std::span<const engine::FlowEntry> found) const;
  /// Where the others' events are to be told, in the loop's thread; empty: nowhere.
  void set_line_sink(const runtime::EventLog::LineSink& sink);

 private:
  /// A worker besides the first, and where its events go.
  struct Other {
    runtime::EventLog events;
    std::unique_ptr<Worker> worker;        // until the thread has it
    std::unique_ptr<WorkerThread> thread;  // from run() on
  };

  template <typename HandOver>
  void each(const Task& task, const HandOver& hand_over) const;
  engine::EventSink& hinting(engine::EventSink& events, const std::function<void(const IpAddress& host)>& on_hint);

  runtime::EventLoop& loop_;
  std::vector<std::unique_ptr<HintingEvents>> hinting_;  // one for each
  std::optional<MessageExchange> exchange_;              // where there are several
  std::unique_ptr<Worker> first_;
  std::vector<std::unique_ptr<Other>> others_;
};

}  // namespace asrp::node
