// SPDX-License-Identifier: GPL-2.0-or-later
// One engine with queues, sockets and a driver of its own. A node has one, or several behind one address: then each gets the
// packets of its part of all address pairs, and shares with the others nothing but the kernel's table and a mailbox for
// messages.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "asrp/base/result.hpp"
#include "asrp/engine/node_engine.hpp"
#include "asrpd-node/config.hpp"
#include "asrpd-node/mapped_flows.hpp"
#include "asrpd-node/node_driver.hpp"
#include "asrpd-node/worker_messages.hpp"
#include "frame/engine_timer.hpp"
#include "frame/packet_edges.hpp"
#include "io/conntrack.hpp"
#include "io/error.hpp"
#include "runtime/clock.hpp"
#include "runtime/event_loop.hpp"

namespace asrp::node {

/// Opens a table with the marks of the configuration, and the life of entries that it asks for.
Result<std::unique_ptr<io::Conntrack>, io::IoError> open_conntrack(const NodeConfig& config);

class Worker {
 public:
  /// Opens the edges of worker `number`. `exchange` is none where there is one worker only; else it must outlive the object.
  static Result<std::unique_ptr<Worker>, io::IoError> open(const NodeConfig& config, unsigned number,
                                                           MessageExchange* exchange);

  /// Makes the engine; once. `events` must outlive the object, and so must `mappings`: those of ACT mode, else none.
  void begin(const NodeConfig& config, engine::NodeOptions options, engine::EventSink& events, Mappings* mappings);
  void reconfigure(engine::NodeOptions options);

  [[nodiscard]] engine::NodeEngine& engine() { return *engine_; }
  [[nodiscard]] NodeDriver& driver() { return *driver_; }
  [[nodiscard]] NodeDriver::Edges edges() const { return {*edges_.queue, *edges_.sender, *edges_.messages, *conntrack_}; }

 private:
  explicit Worker(unsigned number) : number_(number) {}
  /// This worker's share of the limits, and its number for the answers.
  [[nodiscard]] engine::NodeOptions own(engine::NodeOptions options) const;

  unsigned number_;
  unsigned workers_ = 1;
  runtime::SystemRandom random_;
  frame::PacketEdges edges_;
  WorkerMessages* exchanged_ = nullptr;  // edges_.messages, where there are several workers
  std::unique_ptr<io::Conntrack> conntrack_;
  std::optional<MappedFlows> mapped_;
  std::optional<engine::NodeEngine> engine_;
  std::optional<NodeDriver> driver_;
};

/// A worker in a thread of its own. From the construction on nobody else may touch the worker, except through call() and
/// post().
class WorkerThread {
 public:
  /// `fill_interval`: how often the worker looks how full the table is.
  WorkerThread(std::unique_ptr<Worker> worker, Duration fill_interval);
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  /// Runs in the worker's thread; returns when it is done.
  void call(const std::function<void(Worker&)>& task);
  /// The same without waiting.
  void post(std::function<void(Worker&)> task);

 private:
  std::unique_ptr<Worker> worker_;
  runtime::EventLoop loop_;
  frame::EngineTimer timer_;
  std::thread thread_;  // last: starts when all above is there
};

}  // namespace asrp::node
