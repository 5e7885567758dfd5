// SPDX-License-Identifier: BSD-3-Clause
// Entries that a dump found marked (decision 7). After a restart those that wait for their NA go on where the old daemon was;
// and once a minute those without a backup get an NS. A dump may have very many, so both are spread over time.
#include <algorithm>

#include "engine/node_impl.hpp"

namespace asrp::engine {

using session::kNoSlot;

namespace {

constexpr std::size_t kSlices = 600;                         // of an unprotected_interval: one each 100 ms
constexpr std::size_t kSlicesUsed = 540;                     // the last of them are for what comes late
constexpr std::size_t kAtOnce = 64;                          // waiting sessions whose NS go out together
constexpr Duration kBetween = std::chrono::milliseconds(1);  // such groups

}  // namespace

void NodeEngine::Impl::on_marked_flow(TimePoint now, const FlowEntry& entry) {
  if (!listing_) {  // of a new dump; what is left of the last one comes again with it
    listing_ = true;
    listed_waiting_ = listed_unprotected_ = 0;
    seen_unprotected_ = 0;
    unprotected_.clear();
    next_unprotected_ = 0;
  }
  if (entry.mark == FlowMark::unprotected) ++seen_unprotected_;
  if (entry.mark == FlowMark::none || find_waiting(entry.tuples.client_side) != kNoSlot) return;
  if (entry.mark == FlowMark::waiting) return resume_waiting(now, entry);
  if (!wants_ns(entry)) return;
  ++listed_unprotected_;
  const std::size_t most = config_->options().limits.unprotected;
  if (unprotected_.size() < most) return unprotected_.push_back(entry.tuples);
  count(Counter::limit_unprotected);
  // The table is dumped in the same order each time: chance sees to it that all get their turn.
  const std::size_t place = random_.u64() % listed_unprotected_;
  if (place < unprotected_.size()) unprotected_[place] = entry.tuples;
}

/// False: the session ends, is none that this configuration allows, or nobody is there to keep a backup of it.
bool NodeEngine::Impl::wants_ns(const FlowEntry& entry) const {
  if (entry.closing || !config_->may_exist(entry.tuples)) return false;
  const Holder* holder = holders_.find(config_->holder_of(entry.tuples));
  return holder != nullptr && !holder->gone;
}

// Mark and entry are the whole state: a new daemon goes on where the old one was.
void NodeEngine::Impl::resume_waiting(TimePoint now, const FlowEntry& entry) {
  const Tuple& client_side = entry.tuples.client_side;
  // The dump is handed over in pieces: an NA or NC may have come since its entry was read.
  const auto present = flows_.find(client_side);
  if (!present || present->tuples != entry.tuples || present->mark != FlowMark::waiting) return;
  if (entry.closing) return flows_.set_mark(client_side, FlowMark::none);  // of what ends nobody needs a backup
  if (!config_->may_exist(entry.tuples)) return;
  const Duration put_off = kBetween * (listed_waiting_++ / kAtOnce);
  if (!wants_ns(entry) || !start_waiting(now, entry.tuples, false, put_off)) return set_unprotected(now, entry.tuples);
  if (put_off == Duration{}) send_ns(now, entry.tuples, config_->cookies().issue(entry.tuples), true);
}

void NodeEngine::Impl::end_listing(TimePoint now) {
  sessions_unprotected_ = listing_ ? seen_unprotected_ : 0;
  if (!listing_) return;
  listing_ = false;
  ++listing_round_;
  send_slice(now);
}

void NodeEngine::Impl::send_slice(TimePoint now) {
  const std::size_t share = (unprotected_.size() + kSlicesUsed - 1) / kSlicesUsed;
  const std::size_t end = std::min(unprotected_.size(), next_unprotected_ + share);
  for (; next_unprotected_ < end; ++next_unprotected_) ask_for_backup(now, unprotected_[next_unprotected_]);
  if (next_unprotected_ == unprotected_.size()) return unprotected_.clear();
  const Duration slice = config_->options().timing.unprotected_interval / kSlices;
  timers_.add({now + slice, 0, listing_round_, static_cast<std::uint8_t>(TimerKind::unprotected)});
}

/// What the dump said may be a minute old.
void NodeEngine::Impl::ask_for_backup(TimePoint now, const TuplePair& tuples) {
  const auto entry = flows_.find(tuples.client_side);
  if (!entry || entry->tuples != tuples || entry->mark != FlowMark::unprotected || !wants_ns(*entry)) return;
  if (find_waiting(tuples.client_side) != kNoSlot || !start_waiting(now, tuples, true, {})) return;
  send_ns(now, tuples, config_->cookies().issue(tuples), true);
}

}  // namespace asrp::engine
