// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/worker.hpp"

#include <algorithm>
#include <future>
#include <utility>

namespace asrp::node {

using io::IoError;

namespace {

/// A part of what all workers may have together; never nothing.
template <typename Number>
void share(Number& limit, unsigned workers) {
  limit = static_cast<Number>((limit + workers - 1) / workers);
}

}  // namespace

Result<std::unique_ptr<io::Conntrack>, IoError> open_conntrack(const NodeConfig& config) {
  constexpr std::uint32_t kCreationTimeout = 30;  // a SYN does not make it longer
  constexpr auto kNatCreationTimeout = std::chrono::duration_cast<std::chrono::seconds>(kNatTransitory).count();
  return io::Conntrack::open({config.marks.waiting, config.marks.unprotected,
                              config.nat ? static_cast<std::uint32_t>(kNatCreationTimeout) : kCreationTimeout});
}

Result<std::unique_ptr<Worker>, IoError> Worker::open(const NodeConfig& config, unsigned number, MessageExchange* exchange) {
  std::unique_ptr<Worker> worker(new Worker(number));
  worker->workers_ = config.queue.workers;
  std::vector<std::uint16_t> numbers;
  for (unsigned tap = 0; tap < kQueuesPerWorker; ++tap)
    numbers.push_back(static_cast<std::uint16_t>(config.queue.base + tap * config.queue.workers + number));
  auto edges = frame::PacketEdges::open({config.queue,
                                         std::move(numbers),
                                         false,
                                         {config.marks.flow, config.marks.own},
                                         config.port,
                                         io::PeerErrors::watch,
                                         number == 0});
  if (!edges) return Failure{edges.error()};
  worker->edges_ = std::move(*edges);
  if (exchange != nullptr) {
    auto messages = std::make_unique<WorkerMessages>(*exchange, number, std::move(worker->edges_.messages));
    worker->exchanged_ = messages.get();
    worker->edges_.messages = std::move(messages);
  }
  auto conntrack = open_conntrack(config);
  if (!conntrack) return Failure{conntrack.error()};
  worker->conntrack_ = std::move(*conntrack);
  return worker;
}

engine::NodeOptions Worker::own(engine::NodeOptions options) const {
  options.query_bits = worker_bits(workers_);
  options.query_number = number_;
  engine::NodeLimits& limits = options.limits;
  share(limits.held_packets, workers_);
  share(limits.held_octets, workers_);
  share(limits.recoveries, workers_);
  share(limits.waiting_sessions, workers_);
  share(limits.attempts, workers_);
  share(limits.unprotected, workers_);
  share(limits.second_rounds, workers_);
  return options;
}

void Worker::begin(const NodeConfig& config, engine::NodeOptions options, engine::EventSink& events, Mappings* mappings) {
  const MarksConfig& marks = config.marks;
  engine::FlowTable* flows = conntrack_.get();
  if (mappings != nullptr) flows = &mapped_.emplace(*conntrack_, *mappings);
  engine_.emplace(own(std::move(options)), *flows, *edges_.paths, random_, events);
  driver_.emplace(*engine_, edges(), DriverOptions{config.queue.base, workers_, marks.admitted, marks.flow, marks.own},
                  runtime::monotonic_now);
  if (exchanged_ != nullptr) exchanged_->set_expects([this](Octets message) { return engine_->expects(message); });
}

void Worker::reconfigure(engine::NodeOptions options) {
  const TimePoint now = runtime::monotonic_now();
  engine_->reconfigure(now, own(std::move(options)));
  driver_->finish(now);
}

WorkerThread::WorkerThread(std::unique_ptr<Worker> worker, Duration fill_interval)
    : worker_(std::move(worker)),
      timer_(
          loop_, [this] { return worker_->engine().next_timeout(); }, [this] { worker_->driver().on_timer(); }) {
  const NodeDriver::Edges edges = worker_->edges();
  loop_.watch(edges.queue.descriptor(), [this] {
    worker_->driver().on_packets();
    timer_.arm();
  });
  loop_.watch(edges.messages.descriptor(), [this] {
    worker_->driver().on_messages();
    timer_.arm();
  });
  loop_.every(fill_interval, [this] { worker_->driver().check_table_fill(); });
  thread_ = std::thread([this] {
    timer_.arm();
    loop_.run();
  });
}

WorkerThread::~WorkerThread() {
  loop_.post([this] { loop_.stop(); });
  thread_.join();
  const NodeDriver::Edges edges = worker_->edges();
  for (const int descriptor : {edges.queue.descriptor(), edges.messages.descriptor()}) loop_.unwatch(descriptor);
}

void WorkerThread::post(std::function<void(Worker&)> task) {
  loop_.post([this, task = std::move(task)] {
    task(*worker_);
    timer_.arm();
  });
}

void WorkerThread::call(const std::function<void(Worker&)>& task) {
  std::promise<void> done;
  post([&](Worker& worker) {
    task(worker);
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace asrp::node
