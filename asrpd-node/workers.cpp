// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/workers.hpp"

#include "asrp/base/tuple.hpp"

namespace asrp::node {

Result<Done, io::IoError> Workers::open(const NodeConfig& config) {
  const unsigned count = config.queue.workers;
  if (count > 1) exchange_.emplace(count);
  for (unsigned number = 0; number < count; ++number) {
    auto worker = Worker::open(config, number, exchange_ ? &*exchange_ : nullptr);
    if (!worker) return Failure{worker.error()};
    if (number == 0) {
      first_ = std::move(*worker);
    } else {
      others_.push_back(std::make_unique<Other>());
      others_.back()->worker = std::move(*worker);
    }
  }
  return Done{};
}

void Workers::begin(const NodeConfig& config, const engine::NodeOptions& options, engine::EventSink& events,
                    std::function<void(const IpAddress& host)> on_hint, Mappings* mappings) {
  first_->begin(config, options, hinting(events, on_hint), mappings);
  for (const auto& each : others_) each->worker->begin(config, options, hinting(each->events, on_hint), mappings);
}

engine::EventSink& Workers::hinting(engine::EventSink& events, const std::function<void(const IpAddress& host)>& on_hint) {
  hinting_.push_back(std::make_unique<HintingEvents>(
      events, [this, on_hint](const IpAddress& host) { loop_.post([on_hint, host] { on_hint(host); }); }));
  return *hinting_.back();
}

void Workers::run(Duration fill_interval) {
  for (const auto& each : others_) each->thread = std::make_unique<WorkerThread>(std::move(each->worker), fill_interval);
}

template <typename HandOver>
void Workers::each(const Task& task, const HandOver& hand_over) const {
  task(*first_);
  for (const auto& other : others_) {
    if (other->thread) {
      hand_over(*other->thread);
    } else {
      task(*other->worker);
    }
  }
}

void Workers::call(const Task& task) const {
  each(task, [&task](WorkerThread& thread) { thread.call(task); });
}

void Workers::post(const Task& task) const {
  each(task, [&task](WorkerThread& thread) { thread.post(task); });
}

/// Whoever of the workers asks for a session's backup gets the answer, so any may; it is always the same.
void Workers::on_marked_flows(std::span<const engine::FlowEntry> found) const {
  if (others_.empty()) return first_->driver().on_marked_flows(found);
  std::vector<std::vector<engine::FlowEntry>> shares(1 + others_.size());
  for (const engine::FlowEntry& entry : found) shares[table_hash(entry.tuples.client_side, 0) % shares.size()].push_back(entry);
  first_->driver().on_marked_flows(shares[0]);
  for (std::size_t i = 0; i < others_.size(); ++i) {
    if (shares[i + 1].empty()) continue;
    others_[i]->thread->post([share = std::move(shares[i + 1])](Worker& worker) { worker.driver().on_marked_flows(share); });
  }
}

void Workers::set_line_sink(const runtime::EventLog::LineSink& sink) {
  for (const auto& each : others_)
    each->thread->call([&](Worker&) {
      each->events.set_line_sink(sink ? [this, sink](const std::string& line) { loop_.post([sink, line] { sink(line); }); }
                                      : runtime::EventLog::LineSink());
    });
}

}  // namespace asrp::node
