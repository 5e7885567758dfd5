// SPDX-License-Identifier: BSD-3-Clause
// In-memory twins of what a HolderEngine is given: store, local sessions, routes, randomness, events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "asrp/engine/holder_engine.hpp"
#include "asrp/session/record_store.hpp"
#include "support/seeded_random.hpp"

namespace asrp::test {

/// The process was killed in the middle of a call of the store.
struct Killed {};

/// What survives a process, and what it has not committed yet. Behaves as record_store.hpp promises, also when it fails.
class MemoryStore final : public session::RecordStore {
 public:
  Octets get(std::uint32_t slot) override {
    step();
    const auto found = current_.find(slot);
    return found == current_.end() ? Octets{} : Octets(found->second);
  }
  bool put(std::uint32_t slot, Octets record) override {
    step();
    if (!current_.contains(slot) && current_.size() >= capacity) return false;
    change(slot, Buffer(record.begin(), record.end()));
    return true;
  }
  void erase(std::uint32_t slot) override {
    step();
    change(slot, std::nullopt);
  }
  bool commit() override {
    step();
    ++commits;
    if (fail_commits) {
      crash();
      return false;
    }
    undo_.clear();
    return true;
  }
  void for_each(const std::function<void(std::uint32_t, Octets)>& visit) override {
    for (const auto& [slot, record] : current_) visit(slot, record);
  }

  /// The process ends here: what is not committed is gone.
  void crash() {
    for (auto change = undo_.rbegin(); change != undo_.rend(); ++change) {
      if (change->second) {
        current_[change->first] = *change->second;
      } else {
        current_.erase(change->first);
      }
    }
    undo_.clear();
  }
  [[nodiscard]] std::size_t size() const { return current_.size(); }

  std::size_t capacity = SIZE_MAX;
  bool fail_commits = false;
  std::size_t commits = 0;
  /// Throws Killed at the begin of this call from now (1 = the next one).
  std::optional<std::size_t> killed_at;

 private:
  void step() {
    if (killed_at && --*killed_at == 0) {
      killed_at.reset();
      throw Killed{};
    }
  }
  void change(std::uint32_t slot, std::optional<Buffer> to) {
    const auto found = current_.find(slot);
    undo_.emplace_back(slot, found == current_.end() ? std::nullopt : std::optional(found->second));
    if (to) {
      current_[slot] = std::move(*to);
    } else if (found != current_.end()) {
      current_.erase(found);
    }
  }

  std::map<std::uint32_t, Buffer> current_;
  std::vector<std::pair<std::uint32_t, std::optional<Buffer>>> undo_;
};

struct TupleHash {
  std::size_t operator()(const Tuple& tuple) const { return table_hash(tuple, 1); }
};

/// Sockets and tracked flows: peer, then this host.
class FakeSessions final : public engine::LocalSessions {
 public:
  void look_up(std::span<const Tuple> sessions, std::span<engine::LocalState> states) override {
    ++calls;
    looked_up += sessions.size();
    largest = std::max(largest, sessions.size());
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      const auto found = known.find(sessions[i]);
      states[i] = found == known.end() ? engine::LocalState::none : found->second;
    }
  }

  std::unordered_map<Tuple, engine::LocalState, TupleHash> known;
  std::size_t calls = 0;
  std::size_t looked_up = 0;
  std::size_t largest = 0;
};

class FixedPaths final : public engine::Paths {
 public:
  std::size_t mtu_towards(const IpAddress&) override { return mtu; }
  std::uint32_t route_of(const IpAddress& source, const IpAddress&) override {
    const auto found = routes_from.find(source);
    return found == routes_from.end() ? route : found->second;
  }
  std::size_t mtu = 1500;
  std::uint32_t route = 1;
  std::map<IpAddress, std::uint32_t> routes_from;  // by source, where not `route`
};

class HolderEvents final : public engine::EventSink {
 public:
  void on_event(const engine::Event& event) override { events.push_back(event); }
  [[nodiscard]] std::size_t count(engine::EventKind kind) const {
    std::size_t n = 0;
    for (const engine::Event& event : events) n += event.kind == kind ? 1 : 0;
    return n;
  }
  std::vector<engine::Event> events;
};

}  // namespace asrp::test
