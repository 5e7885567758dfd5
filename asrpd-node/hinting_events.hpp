// SPDX-License-Identifier: GPL-2.0-or-later
// Engine events on their way to the log; those that tell of trouble at a server's host are hints for its health checks.
#pragma once

#include <functional>
#include <utility>

#include "asrp/engine/event.hpp"

namespace asrp::node {

class HintingEvents final : public engine::EventSink {
 public:
  using Hint = std::function<void(const IpAddress& host)>;

  /// `next` must outlive the object. `hint` is called in the thread of the engine.
  HintingEvents(engine::EventSink& next, Hint hint) : next_(next), hint_(std::move(hint)) {}

  void on_event(const engine::Event& event) override {
    next_.on_event(event);
    if (event.kind == engine::EventKind::holder_gone) hint_(event.peer);
  }

 private:
  engine::EventSink& next_;
  Hint hint_;
};

}  // namespace asrp::node
