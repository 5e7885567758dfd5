// SPDX-License-Identifier: BSD-3-Clause
// The end of a burst: all its sessions are installed in one go, then their packets go on, each behind its session.
#include <algorithm>

#include "asrp/wire/message.hpp"
#include "engine/message_detail.hpp"
#include "engine/node_impl.hpp"

namespace asrp::engine {

std::uint32_t NodeEngine::Impl::find_install(const Tuple& tuple) const {
  if (burst_index_.size() == 0) return session::kNoSlot;
  const Tuple key = normalised(tuple);
  return burst_index_.find(table_hash(key, seed_), [&](std::uint32_t slot) {
    const TuplePair& pair = installs_[slot].flow.tuples;
    return normalised(pair.client_side) == key || normalised(pair.server_side) == key;
  });
}

std::uint32_t NodeEngine::Impl::add_install(Install&& install) {
  const auto slot = static_cast<std::uint32_t>(installs_.size());
  burst_index_.insert(hash(install.flow.tuples.client_side), slot);
  // The mapping of a new session is not certain before flush(); a restored one's is.
  const bool restored = install.is_restored();
  if (restored) burst_index_.insert(hash(install.flow.tuples.server_side), slot);
  installs_.push_back(std::move(install));
  return slot;
}

void NodeEngine::Impl::append_item(Install& install, const Item& item) {
  const auto slot = static_cast<std::uint32_t>(items_.size());
  items_.push_back(item);
  if (install.last_item == session::kNoSlot) {
    install.first_item = slot;
  } else {
    items_[install.last_item].next = slot;
  }
  install.last_item = slot;
}

NodeEngine::Impl::PacketRef NodeEngine::Impl::ref_of(const Incoming& in) {
  PacketRef ref;
  ref.size = in.view.octets().size();
  ref.octets = in.view.octets();
  if (in.edited) {
    ref.where = PacketRef::Where::outbox;
    ref.start = outbox_.mark_start();
    outbox_.octets().insert(outbox_.octets().end(), ref.octets.begin(), ref.octets.end());
  }
  return ref;
}

/// Its octets, outside of the outbox's buffer; valid until the next call.
Octets NodeEngine::Impl::octets_of(const PacketRef& ref) {
  if (ref.where == PacketRef::Where::caller) return ref.octets;
  scratch_.clear();
  if (ref.where == PacketRef::Where::held) {
    packets_.append_to(ref.held, scratch_);
  } else {
    const Octets octets = Octets(outbox_.octets()).subspan(ref.start, ref.size);
    scratch_.assign(octets.begin(), octets.end());
  }
  return scratch_;
}

void NodeEngine::Impl::flush(TimePoint now) {
  if (installs_.empty()) return;
  install_pending(now);
  for (Install& install : installs_) emit(now, install);
  installs_.clear();
  items_.clear();
  burst_index_.clear();
}

void NodeEngine::Impl::install_pending(TimePoint now) {
  for (;;) {
    batch_.clear();
    batch_slots_.clear();
    for (std::uint32_t i = 0; i < installs_.size(); ++i) {
      if (installs_[i].done || installs_[i].failure != Counter::count_) continue;
      batch_.push_back(installs_[i].flow);
      batch_slots_.push_back(i);
    }
    if (batch_.empty()) return;
    results_.assign(batch_.size(), InstallResult::failed);
    flows_.install(batch_, results_);
    for (std::size_t i = 0; i < batch_.size(); ++i) resolve(now, installs_[batch_slots_[i]], results_[i]);
  }
}

void NodeEngine::Impl::resolve(TimePoint now, Install& install, InstallResult result) {
  switch (result) {
    case InstallResult::ok:
      install.done = true;
      return;
    case InstallResult::full:
      install.failure = Counter::drops_table_full;
      return;
    case InstallResult::failed:
      install.failure = Counter::drops_install;
      return;
    case InstallResult::exists:
      break;
  }
  if (replaces_outdated(now, install)) return;
  const Tuple& client = install.flow.tuples.client_side;
  const std::optional<FlowEntry> entry = flows_.find(client);
  if (!entry) return resolve_port_taken(now, install);
  if (entry->tuples.client_side != client) {
    install.failure = Counter::drops_install;  // our client-side tuple is the inside of somebody else's session
    return;
  }
  resolve_existing(install, *entry);
}

void NodeEngine::Impl::resolve_existing(Install& install, const FlowEntry& entry) {
  // The kernel throws an ending entry away at a SYN, and takes the SYN for untranslated: such an entry is made anew.
  const bool ends = install.begins && entry.closing;
  if (install.is_restored() && entry.tuples == install.flow.tuples && !ends) {
    install.done = install.existing = true;
    install.entry_mark = entry.mark;
    return;
  }
  // A first packet goes on by the entry of its session (decision 6), a SYN that was asked about, too.
  const bool begins = !install.is_restored() || install.begins;
  if (begins && continues(install, entry)) {
    if (install.begins) install.origin = Origin::after_query;
    return adopt(install, entry);
  }
  if (!begins && !entry.closing) {  // a live entry wins (decision 13)
    count(Counter::discarded_entry);
    install.failure = Counter::drops_conflict;
    return;
  }
  if (install.replaced) {  // it came back: somebody else keeps making it
    install.failure = Counter::drops_install;
    return;
  }
  count(Counter::sessions_replaced);
  remove_flow(entry.tuples);
  install.replaced = true;
}

/// A first packet whose session is there already: its mapping is used, and the NS made anew for it (draft 4.3.3).
void NodeEngine::Impl::adopt(Install& install, const FlowEntry& entry) {
  install.done = install.existing = true;
  install.entry_mark = entry.mark;
  if (install.flow.tuples == entry.tuples) return;
  install.flow.tuples = entry.tuples;
  install.holder = holder_of(install.service, entry.tuples);
  plan_ns(install);
}

void NodeEngine::Impl::resolve_port_taken(TimePoint now, Install& install) {
  const bool restored = install.is_restored();
  if (restored) {
    count(Counter::discarded_entry);
    install.failure = Counter::drops_conflict;
    return;
  }
  count(Counter::conflicts_local);
  if (const Counter failure = next_try(now, install); failure != Counter::count_) {
    install.failure = failure;
    return;
  }
  plan_ns(install);
}

void NodeEngine::Impl::emit(TimePoint now, Install& install) {
  if (install.failure != Counter::count_) {
    for (std::uint32_t i = install.first_item; i != session::kNoSlot; i = items_[i].next) {
      count(install.failure);
      if (items_[i].verdict) outbox_.drop(*items_[i].verdict);
    }
    if (install.failure == Counter::drops_exhausted && install.first_item != session::kNoSlot) {
      tell_exhausted(now, octets_of(items_[install.first_item].packet));
    }
    release_items(install);
    return;
  }
  end_other_waiting(install.flow.tuples);
  emit_ns(now, install);
  const bool held = has_to_wait(install);
  if (held) hold_first(now, install);
  for (std::uint32_t i = install.first_item; i != session::kNoSlot; i = items_[i].next) {
    if (!held) {
      emit_item(now, install, i);
    } else if (i != install.first_item) {
      emit_unchecked(now, install, i);
    }
  }
  settle(now, install, held);
  if (install.hello) answer_hello(now, install.flow.tuples, *install.hello);
  release_items(install);
}

void NodeEngine::Impl::count_inline_ns(TimePoint now, const TuplePair& tuples) {
  const bool tcp = tuples.client_side.protocol == Protocol::tcp;
  count(tcp ? Counter::sent_ns_inline_tcp : Counter::sent_ns_inline_udp);
  event(now, EventKind::message_sent, tuples.client_side, tuples, config_->holder_of(tuples),
        message_detail(wire::MsgType::NS, tcp ? packet::Carriage::inline_tcp : packet::Carriage::inline_udp));
}

void NodeEngine::Impl::emit_ns(TimePoint now, const Install& install) {
  const TuplePair& tuples = install.flow.tuples;
  if (install.plan == NsPlan::inline_ready) count_inline_ns(now, tuples);
  if (install.plan == NsPlan::none) return;
  const std::uint32_t waits = find_waiting(tuples.client_side);
  if (waits != session::kNoSlot) {
    if (install.plan == NsPlan::standalone) remind(now, tuples.client_side);
  } else if (install.flow.mark == FlowMark::waiting) {
    const bool apart = install.plan == NsPlan::standalone;
    if (apart) send_ns(now, tuples, config_->cookies().issue(tuples), true);
    if (!start_waiting(now, tuples, false, {})) {
      set_unprotected(now, tuples);
    } else if (install.existing && install.entry_mark != FlowMark::waiting) {
      flows_.set_mark(tuples.client_side, FlowMark::waiting);
    }
  } else if (install.existing && install.entry_mark == FlowMark::unprotected) {
    flows_.set_mark(tuples.client_side, FlowMark::none);
  }
}

void NodeEngine::Impl::emit_item(TimePoint now, Install& install, std::uint32_t index) {
  Item& item = items_[index];
  std::size_t start = 0;
  std::size_t size = 0;
  if (index == install.first_item && install.plan == NsPlan::inline_ready) {
    start = install.ns_start;
    size = install.ns_size;
  } else if (index != install.first_item && item.carries_ns && install.plan == NsPlan::inline_ready &&
             item.packet.where == PacketRef::Where::caller && prepare_inline(install, item.packet.octets)) {
    start = install.ns_start;
    size = install.ns_size;
    emit_ns(now, install);
  } else if (index != install.first_item && needs_company(install)) {
    return emit_unchecked(now, install, index);
  } else if (item.packet.where == PacketRef::Where::outbox && item.verdict) {
    start = item.packet.start;
    size = item.packet.size;
  }
  if (item.verdict) {
    const bool admitted = !install.flow.one_way_suffices;
    const std::uint32_t mark = admitted ? config_->options().admitted_mark : 0;
    if (size != 0) {
      outbox_.replace_range(*item.verdict, start, size, mark);
    } else {
      outbox_.accept(*item.verdict, mark);
    }
  } else if (size != 0) {
    send_flow_range(start, size);
  } else if (item.packet.where == PacketRef::Where::held) {
    send_flow_held(item.packet.held);
  } else {
    send_flow(octets_of(item.packet));  // a copy: the packet as it came may be kept for an NC
  }
}

/// One of those behind the first: a datagram goes with an NS of its own, a SYN has come twice in a burst.
void NodeEngine::Impl::emit_unchecked(TimePoint now, Install& install, std::uint32_t index) {
  const Item& item = items_[index];
  if (item.verdict) outbox_.drop(*item.verdict);
  if (!needs_company(install) || !prepare_inline(install, octets_of(item.packet))) return count(Counter::drops_unchecked);
  send_flow_range(install.ns_start, install.ns_size);
  count_inline_ns(now, install.flow.tuples);
}

void NodeEngine::Impl::settle(TimePoint now, const Install& install, bool held) {
  const TuplePair& tuples = install.flow.tuples;
  const bool tcp = tuples.client_side.protocol == Protocol::tcp;
  switch (install.origin) {
    case Origin::restored_rs:
    case Origin::restored_ps: {
      const bool by_rs = install.origin == Origin::restored_rs;
      if (install.existing) {
        count(Counter::sessions_restored_again);
      } else {
        count(by_rs ? Counter::sessions_restored_rs : Counter::sessions_restored_ps);
      }
      if (install.asked_since) durations_.restored.add(now - *install.asked_since);
      event(now, EventKind::session_restored, tuples.client_side, tuples, config_->holder_of(tuples), by_rs ? "RS" : "PS",
            install.asked_since ? now - *install.asked_since : Duration{});
      remember(now, tuples, true);
      return;
    }
    case Origin::first_packet:
    case Origin::after_query:
    case Origin::next_mapping:
      break;
  }
  if (install.existing) {
    count(Counter::sessions_again);
  } else {
    count(Counter::sessions_created);
    if (install.midstream) count(Counter::sessions_midstream);
    if (install.is_act()) watch_dns(now, tuples);
    if (install.from_outside) count(Counter::sessions_admitted);
    event(now, EventKind::session_created, tuples.client_side, tuples, config_->holder_of(tuples), {});
    if (install.flow.mark == FlowMark::unprotected) {
      count(Counter::sessions_unprotected);
      event(now, EventKind::session_unprotected, tuples.client_side, tuples, config_->holder_of(tuples), "no holder");
    }
  }
  if (!tcp || chooses_port(install)) remember(now, tuples, false);
  if (install.plan != NsPlan::none && !held) keep_attempt(now, install, false);
}

void NodeEngine::Impl::release_items(const Install& install) {
  for (std::uint32_t i = install.first_item; i != session::kNoSlot; i = items_[i].next) {
    PacketRef& ref = items_[i].packet;
    if (ref.where == PacketRef::Where::held && ref.held != session::PacketPool::kNone) packets_.release(ref.held);
    ref.held = session::PacketPool::kNone;
  }
}

}  // namespace asrp::engine
