// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/engine/node_engine.hpp"

#include <algorithm>
#include <bit>

#include "engine/node_impl.hpp"

namespace asrp::engine {

using session::kNoSlot;

namespace {

constexpr std::size_t kSilenceMemory = 1u << 12;   // UDP flows whose holders are silent
constexpr std::size_t kHelloCells = 1u << 12;      // HS that were just answered
constexpr std::size_t kExhaustedCells = 1u << 12;  // clients without a free port
constexpr std::size_t kDnsSessions = 1u << 16;     // that end early; those beyond end as others do

}  // namespace

NodeEngine::Impl::Impl(NodeOptions options, FlowTable& flows, Paths& paths, RandomSource& random, EventSink& events)
    : config_(std::make_unique<NodeConfig>(std::move(options))),
      flows_(flows),
      paths_(paths),
      random_(random),
      events_(events),
      seed_(random.u64()),
      packets_(0, 0),
      held_(0),
      recoveries_(0),
      waiting_(0),
      attempts_(0),
      dns_(kDnsSessions),
      installed_(std::bit_ceil(config_->options().limits.recent_sessions)),
      seen_syn_(std::bit_ceil(config_->options().limits.recent_syn)),
      silent_in_a_row_(kSilenceMemory),
      second_rounds_(config_->options().limits.second_rounds),
      answered_hellos_(kHelloCells),
      exhausted_(kExhaustedCells) {
  apply_limits();
  equip_services(nullptr);
}

void NodeEngine::Impl::apply_limits() {
  const NodeLimits& limits = config_->options().limits;
  packets_.set_limits(limits.held_packets + limits.attempts, limits.held_octets);
  held_.set_limit(limits.held_packets);
  recoveries_.set_limit(limits.recoveries);
  waiting_.set_limit(limits.waiting_sessions);
  attempts_.set_limit(limits.attempts);
  if (config_->nat() == nullptr) return;
  if (!clients_) clients_.emplace(std::bit_ceil(limits.clients), seed_);
  clients_->set_options(*config_->nat()->options);
}

void NodeEngine::Impl::start(TimePoint now) {
  if (started_) return;
  started_ = true;
  for (ServiceState& service : config_->services()) {
    // When the newest epoch began is not known to a node that has just started: it may have been a moment ago.
    if (service.pool.has_past()) service.changed_at = now;
  }
  list_holders(now);
}

void NodeEngine::Impl::on_packet(TimePoint now, PacketId id, Tap tap, Octets octets) {
  start(now);
  count(tap == Tap::first ? Counter::packets_first : tap == Tap::stray ? Counter::packets_stray : Counter::packets_known);
  auto view = packet::PacketView::parse(octets);
  if (!view) {
    // A known session's packet is the kernel's to judge; without a session nothing goes on that we can't read.
    if (tap == Tap::known) return outbox_.accept(id);
    count(Counter::drops_malformed);
    return outbox_.drop(id);
  }
  Incoming in{id, tap, *view, false};
  switch (tap) {
    case Tap::first:
      return on_first(now, in);
    case Tap::stray:
      return on_stray(now, in);
    case Tap::known:
      return on_known(now, in);
  }
}

void NodeEngine::Impl::on_timeout(TimePoint now) {
  start(now);
  while (const auto timer = timers_.pop(now)) {
    switch (static_cast<TimerKind>(timer->kind)) {
      case TimerKind::recovery:
        if (recoveries_.alive(timer->slot, timer->generation) && recoveries_[timer->slot].due == timer->due) {
          on_recovery_due(now, timer->slot);
        }
        break;
      case TimerKind::waiting:
        if (waiting_.alive(timer->slot, timer->generation) && waiting_[timer->slot].due == timer->due) {
          on_waiting_due(now, timer->slot);
        }
        break;
      case TimerKind::attempt:
        if (attempts_.alive(timer->slot, timer->generation)) drop_attempt(timer->slot);
        break;
      case TimerKind::probe:
        on_probe_due(now, timer->slot, timer->due);
        break;
      case TimerKind::dns:
        if (dns_.alive(timer->slot, timer->generation)) on_dns_due(now, timer->slot);
        break;
      case TimerKind::unprotected:
        if (timer->generation == listing_round_ && !listing_) send_slice(now);
        break;
    }
  }
}

void NodeEngine::Impl::reconfigure(TimePoint now, NodeOptions options) {
  start(now);
  flush(now);  // what is pending refers to the services as they are
  auto before = std::move(config_);
  config_ = std::make_unique<NodeConfig>(std::move(options));
  equip_services(before.get());
  apply_limits();
  second_rounds_ = policy::RateLimiter(config_->options().limits.second_rounds);
  for (ServiceState& service : config_->services()) {
    const ServiceState* old = before->service_at(service.options->address, service.options->protocol);
    if (old == nullptr || old->pool.same_epoch(service.pool)) {
      service.changed_at = old == nullptr ? std::nullopt : old->changed_at;
    } else {
      service.changed_at = now;
    }
  }
  list_holders(now);
  drop_orphans(now);
}

/// Ends what belongs to a service or a server that is gone.
void NodeEngine::Impl::drop_orphans(TimePoint now) {
  const auto legitimate = [&](const TuplePair& tuples) { return config_->may_exist(tuples); };
  recoveries_.for_each_slot([&](std::uint32_t slot) {
    session::Recovery& recovery = recoveries_[slot];
    const Side side = config_->side_of(recovery.trigger);
    const bool from_server = recovery.kind == session::RecoveryKind::server;
    if (from_server ? !side.is_servers() : !side.is_clients()) {
      drop_held(recovery, Counter::drops_reconfigured);
      free_recovery(slot);
    } else if (recovery.found_by != session::Recovery::kNobody && !legitimate(recovery.found)) {
      // Told under the old configuration, not to be used under the new one: as if it had been RX.
      recovery.candidates[recovery.found_by].answer = session::Answer::no_session;
      recovery.found_by = session::Recovery::kNobody;
      count(Counter::discarded_illegitimate);
      evaluate(now, slot);
    }
  });
  waiting_.for_each_slot([&](std::uint32_t slot) {
    if (legitimate(waiting_[slot].tuples)) return;
    remove_flow(waiting_[slot].tuples);  // nobody will acknowledge it, and its server is not ours to use
    free_waiting(slot);
  });
  attempts_.for_each_slot([&](std::uint32_t slot) {
    if (!legitimate(attempts_[slot].tuples)) drop_attempt(slot);
  });
}

NodeEngine::NodeEngine(NodeOptions options, FlowTable& flows, Paths& paths, RandomSource& random, EventSink& events)
    : impl_(std::make_unique<Impl>(std::move(options), flows, paths, random, events)) {}
NodeEngine::~NodeEngine() = default;

void NodeEngine::on_packet(TimePoint now, PacketId id, Tap tap, Octets packet) { impl_->on_packet(now, id, tap, packet); }
void NodeEngine::on_message(TimePoint now, const Endpoint& from, const IpAddress& to, Octets message) {
  impl_->start(now);
  impl_->on_message(now, from, to, message);
}
bool NodeEngine::expects(Octets message) const { return impl_->expects(message); }
void NodeEngine::on_port_unreachable(TimePoint now, const Unreachable& error) {
  impl_->start(now);
  impl_->on_port_unreachable(now, error);
}
void NodeEngine::on_marked_flow(TimePoint now, const FlowEntry& entry) {
  impl_->start(now);
  impl_->on_marked_flow(now, entry);
}
void NodeEngine::on_marked_flows_end(TimePoint now) { impl_->end_listing(now); }
void NodeEngine::on_timeout(TimePoint now) { impl_->on_timeout(now); }
void NodeEngine::reconfigure(TimePoint now, NodeOptions options) { impl_->reconfigure(now, std::move(options)); }
bool NodeEngine::on_server_state(TimePoint now, std::string_view pool, std::string_view server, ServerState state) {
  impl_->start(now);
  return impl_->on_server_state(pool, server, state);
}
bool NodeEngine::on_load(TimePoint now, std::string_view pool, std::string_view server, std::uint32_t load) {
  impl_->start(now);
  return impl_->on_load(now, pool, server, load);
}
void NodeEngine::set_table_pressure(bool pressure) { impl_->pressure_ = pressure; }
void NodeEngine::flush(TimePoint now) { impl_->flush(now); }

Outbox& NodeEngine::outbox() { return impl_->outbox_; }
std::optional<TimePoint> NodeEngine::next_timeout() const {
  if (!impl_->started_) return TimePoint{};  // holders are to be probed from the start
  return impl_->timers_.next();
}
Explanation NodeEngine::explain(TimePoint now, const Tuple& packet, bool begins) const {
  return impl_->explain(now, packet, begins);
}
const Counters<NodeCounter>& NodeEngine::counters() const { return impl_->counters_; }
const NodeOptions& NodeEngine::options() const { return impl_->config_->options(); }

NodeEngine::Gauges& NodeEngine::Gauges::operator+=(const Gauges& other) {
  recoveries += other.recoveries;
  held_packets += other.held_packets;
  held_octets += other.held_octets;
  waiting += other.waiting;
  attempts += other.attempts;
  unprotected += other.unprotected;
  holders_gone = std::max(holders_gone, other.holders_gone);
  return *this;
}

NodeEngine::Durations& NodeEngine::Durations::operator+=(const Durations& other) {
  restored += other.restored;
  no_session += other.no_session;
  silence += other.silence;
  return *this;
}

const NodeEngine::Durations& NodeEngine::durations() const { return impl_->durations_; }

NodeEngine::Gauges NodeEngine::gauges() const {
  const auto& holders = impl_->holders_.all();
  const auto gone = std::count_if(holders.begin(), holders.end(), [](const auto& entry) { return entry.second.gone; });
  return {impl_->recoveries_.size(),   impl_->held_.size(),     impl_->packets_.octets(),
          impl_->waiting_.size(),      impl_->attempts_.size(), static_cast<std::size_t>(gone),
          impl_->sessions_unprotected_};
}

HolderSight NodeEngine::holder_sight(const IpAddress& host) const {
  const Holder* holder = impl_->holders_.find(host);
  if (holder == nullptr) return HolderSight::unknown;
  if (holder->gone) return HolderSight::gone;
  return holder->answered ? HolderSight::answers : HolderSight::unknown;
}

std::vector<QueryInFlight> NodeEngine::queries(std::size_t most) const { return impl_->queries(most); }

}  // namespace asrp::engine
