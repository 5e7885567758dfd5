// SPDX-License-Identifier: BSD-3-Clause
#include "engine/hello_table.hpp"

#include "asrp/base/assert.hpp"

namespace asrp::engine {

using session::kNoSlot;

std::uint32_t HelloTable::slot_of(const Tuple& flow) const {
  return index_.find(table_hash(flow, seed_), [&](std::uint32_t slot) { return hellos_[slot].hello.flow == flow; });
}

Hello* HelloTable::find(const Tuple& flow) {
  const std::uint32_t slot = slot_of(flow);
  return slot == kNoSlot ? nullptr : &hellos_[slot].hello;
}

Hello* HelloTable::add(const Tuple& flow, Cookie cookie, std::uint32_t sequence) {
  const std::uint32_t slot = hellos_.take();
  if (slot == kNoSlot) return nullptr;
  hellos_[slot].hello = {.flow = flow, .cookie = cookie, .sequence = sequence, .again = {}};
  index_.insert(table_hash(flow, seed_), slot);
  return &hellos_[slot].hello;
}

void HelloTable::remove(const Tuple& flow) {
  const std::uint32_t slot = slot_of(flow);
  if (slot != kNoSlot) remove_slot(slot);
}

void HelloTable::remove_slot(std::uint32_t slot) {
  index_.erase(table_hash(hellos_[slot].hello.flow, seed_), slot);
  hellos_[slot].hello.again = {};
  hellos_.give_back(slot);
}

void HelloTable::set_timer(std::uint32_t slot, TimePoint due) {
  hellos_[slot].due = due;
  timers_.add({due, slot, hellos_.generation(slot), 0});
}

void HelloTable::sent(Hello& hello, std::uint32_t route, TimePoint now) {
  const std::uint32_t slot = slot_of(hello.flow);
  ASRP_ASSERT(slot != kNoSlot);
  hello.route = route;
  ++hello.tries;
  hello.is_waiting = true;
  hello.sent = now;
  hellos_[slot].forget = now + kMemory;
  set_timer(slot, now + kInterval);
}

void HelloTable::settled(Hello& hello, TimePoint now) {
  const std::uint32_t slot = slot_of(hello.flow);
  ASRP_ASSERT(slot != kNoSlot);
  hello.again = {};
  hellos_[slot].forget = now + kRepeats;
  set_timer(slot, hellos_[slot].forget);
}

void HelloTable::take_due(TimePoint now, std::vector<std::uint32_t>& unanswered_routes, std::vector<Tuple>& repeatable) {
  while (const auto timer = timers_.pop(now)) {
    if (!hellos_.alive(timer->slot, timer->generation)) continue;
    Cell& cell = hellos_[timer->slot];
    if (timer->due != cell.due) continue;
    if (cell.hello.is_waiting && now - cell.hello.sent >= kInterval) {
      cell.hello.is_waiting = false;
      unanswered_routes.push_back(cell.hello.route);
      if (!cell.hello.again.empty()) repeatable.push_back(cell.hello.flow);
    }
    if (now >= cell.forget) {
      remove_slot(timer->slot);
    } else {
      set_timer(timer->slot, cell.forget);
    }
  }
}

}  // namespace asrp::engine
