// SPDX-License-Identifier: BSD-3-Clause
// What explain() says of a packet just before the engine gets it, against what the engine does: step, servers, and whom it
// asks.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "asrp/engine/node_engine.hpp"
#include "asrp/packet/packet_view.hpp"
#include "sim/truth.hpp"
#include "support/kernel_flows.hpp"

namespace asrp::sim {

class Foretold {
 public:
  explicit Foretold(Truth& truth) : truth_(truth) {}

  /// Before the engine gets a packet without a message. `now`: its time.
  void before_packet(engine::NodeEngine& engine, TimePoint now, engine::Tap tap, const packet::PacketView& view);
  /// When it has decided, before the burst ends.
  void after_packet(engine::NodeEngine& engine);
  /// Before flush(), with nothing forgotten of the burst; and behind it.
  void before_flush(const engine::NodeEngine& engine) { conflicts_ = engine.counters()[engine::NodeCounter::conflicts_local]; }
  void on_created(const Tuple& client_side, const TuplePair& session);
  void after_flush(const engine::NodeEngine& engine);
  void forget() { begun_.clear(); }

  [[nodiscard]] std::size_t checked() const { return checked_; }

 private:
  using Counters = engine::Counters<engine::NodeCounter>;
  struct Begun {
    engine::Explanation told;
    std::optional<TuplePair> session;  // that was created
  };

  void wrong(const std::string& what);
  void expect_count(const Counters& now, engine::NodeCounter counter);

  Truth& truth_;
  std::optional<engine::Explanation> told_;
  std::optional<Counters> counters_;
  std::size_t outputs_ = 0;
  std::unordered_map<Tuple, Begun, test::TupleHash> begun_;  // first packets of the burst, by client-side tuple
  std::uint64_t conflicts_ = 0;
  std::size_t checked_ = 0;
};

}  // namespace asrp::sim
