// SPDX-License-Identifier: BSD-3-Clause
// New sessions (draft 3.5.1, 3.5.3 step 3): server, mapping and NS follow from the packet's client-side tuple.
#include <algorithm>

#include "asrp/packet/surgery.hpp"
#include "asrp/wire/encode.hpp"
#include "engine/node_impl.hpp"

namespace asrp::engine {
namespace {

NodeCounter unfit(packet::SurgeryError error) {
  switch (error) {
    case packet::SurgeryError::exceeds_mtu:
      return NodeCounter::inline_mtu;
    case packet::SurgeryError::no_option_room:
      return NodeCounter::inline_option_room;
    case packet::SurgeryError::protected_segment:
      return NodeCounter::inline_protected;
    default:
      return NodeCounter::inline_other;
  }
}

}  // namespace

bool NodeEngine::Impl::changed_lately(TimePoint now, const ServiceState& service) const {
  return service.changed_at && now - *service.changed_at < config_->options().timing.owner_change;
}

void NodeEngine::Impl::choose_mapping(Install& install) {
  const Tuple& client = install.flow.tuples.client_side;
  const policy::ServiceRule& rule = install.service->rule;
  install.flow.tuples.server_side.src =
      rule.full_nat && !rule.range.empty() ? rule.range.at(client, install.tries - 1u) : client.src;
}

bool NodeEngine::Impl::use_entry(Install& install) {
  const Tuple& client = install.flow.tuples.client_side;
  const auto entry = flows_.find(client);
  if (!entry || entry->tuples.client_side != client || !goes_on_by(*install.service, *entry)) return false;
  install.flow.tuples = entry->tuples;
  install.holder = holder_of(install.service, entry->tuples);
  return true;
}

bool NodeEngine::Impl::prepare_inline(Install& install, Octets packet) {
  const auto view = packet::PacketView::parse(packet);
  const IpAddress* local = config_->local_ip(install.flow.tuples.server_side.family());
  if (!view || local == nullptr) return false;
  const TuplePair& tuples = install.flow.tuples;
  message_.clear();
  wire::encode(wire::new_session(tuples, config_->cookies().issue(tuples), *local, install.ack_wanted), message_);
  const std::size_t start = outbox_.mark_start();
  const auto done = packet::insert_inline(*view, config_->options().marker, message_,
                                          paths_.mtu_towards(tuples.server_side.dst.address), outbox_.octets());
  if (!done) {
    count(unfit(done.error()));
    return false;
  }
  install.ns_start = start;
  install.ns_size = outbox_.octets().size() - start;
  return true;
}

// spec: 3.4.1-1 inline where it fits the MTU, a datagram of its own otherwise
void NodeEngine::Impl::plan_ns(Install& install) {
  install.plan = NsPlan::none;
  if (install.holder == nullptr) return;  // no holder there: nothing to tell anybody
  if (install.holder->gone) {
    install.flow.mark = FlowMark::unprotected;
    return;
  }
  install.flow.mark = FlowMark::none;
  const Item& first = items_[install.first_item];
  bool fits = false;
  if (!install.no_inline) fits = prepare_inline(install, octets_of(first.packet));
  install.plan = fits ? NsPlan::inline_ready : NsPlan::standalone;
  // spec: 4.3.3-5 F-NA where the session does not begin with an explicit first packet; and for what is sent apart (decision 7)
  if (!fits) install.ack_wanted = true;
  if (!install.ack_wanted) return;
  install.flow.mark = FlowMark::waiting;
}

Holder* NodeEngine::Impl::holder_of(const ServiceState* service, const TuplePair& session) {
  if (service == nullptr) return nullptr;
  for (const Backend& backend : service->options->backends) {
    if (backend.address != session.server_side.dst || backend.holder == HolderPresence::no) continue;
    Holder* holder = holders_.find(backend.address.address);
    return holder != nullptr && backend.holder == HolderPresence::probe && !holder->answered ? nullptr : holder;
  }
  return nullptr;
}

void NodeEngine::Impl::consider_path(TimePoint now, Install& install, const packet::PacketView& syn) {
  if (install.holder == nullptr || install.holder->gone) return;
  const std::uint64_t tag = syn_tag(syn);
  if (seen_syn_.find(tag, now, std::chrono::seconds(5)) != nullptr) {
    count(Counter::inline_suspected);
    install.holder->path.on_repeated(now, config_->options().timing.inline_retry);
    install.no_inline = true;
  } else if (!install.holder->path.admit(now)) {
    count(Counter::inline_avoided);
    install.no_inline = true;
  } else {
    seen_syn_.put(tag, now, 1);
  }
}

void NodeEngine::Impl::create(TimePoint now, Incoming& in, const ServiceState& service) {
  Install install;
  install.flow.tuples.client_side = in.view.tuple();
  install.service = &service;
  const bool tcp = in.view.is_tcp();
  install.flow.one_way_suffices = !tcp || service.options->routing == Routing::asymmetric;
  if (decide_create(in.view.tuple()) == Step::refuse) {
    count(Counter::drops_refused);
    if (in.tap == Tap::first) outbox_.drop(in.id);
    return;
  }
  if (choose_server(now, install)) {
    choose_mapping(install);
  } else if (!use_entry(install)) {
    count(Counter::drops_no_backend);
    if (in.tap == Tap::first) outbox_.drop(in.id);
    return;
  }
  if (tcp) consider_path(now, install, in.view);
  Item item;
  item.packet = ref_of(in);
  if (in.tap == Tap::first) item.verdict = in.id;
  item.carries_ns = true;
  append_item(install, item);
  plan_ns(install);
  add_install(std::move(install));
}

void NodeEngine::Impl::create_for_held(TimePoint now, session::Recovery& recovery, const ServiceState& service) {
  Install install;
  install.flow.tuples.client_side = recovery.trigger;
  install.service = &service;
  install.origin = Origin::after_query;
  const bool syn = recovery.begins_with_syn;
  install.ack_wanted = !syn;
  install.flow.one_way_suffices = !syn || service.options->routing == Routing::asymmetric;
  if (decide_create(recovery.trigger) == Step::refuse) return drop_held(recovery, Counter::drops_refused);
  if (!choose_server(now, install)) return drop_held(recovery, Counter::drops_no_backend);
  choose_mapping(install);
  move_held(recovery, install, false);
  if (install.first_item == session::kNoSlot) return;
  if (syn) {
    if (const auto view = packet::PacketView::parse(octets_of(items_[install.first_item].packet)))
      consider_path(now, install, *view);
  }
  plan_ns(install);
  add_install(std::move(install));
}

}  // namespace asrp::engine
