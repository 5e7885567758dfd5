// SPDX-License-Identifier: GPL-2.0-or-later
// The twin of the probers: looks go on until a test says how they end.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "io/probe.hpp"

namespace asrp::io::testing {

class MemoryProber final : public Prober {
 public:
  struct Look {
    ProbeQuestion question;
    ProbeTarget target;
    Done done;
    bool ended = false;      // by end()
    bool destroyed = false;  // by its owner before that
  };

  std::unique_ptr<Probe> begin(const ProbeQuestion& question, const ProbeTarget& target, Done done) override {
    looks_.push_back(std::make_shared<Look>(Look{question, target, std::move(done)}));
    return std::make_unique<Handle>(looks_.back());
  }

  /// All looks so far, in the order of their beginnings.
  [[nodiscard]] const std::vector<std::shared_ptr<Look>>& looks() const { return looks_; }
  /// Those that go on.
  [[nodiscard]] std::vector<std::shared_ptr<Look>> open() const {
    std::vector<std::shared_ptr<Look>> out;
    for (const auto& each : looks_)
      if (!each->ended && !each->destroyed) out.push_back(each);
    return out;
  }
  static void end(const std::shared_ptr<Look>& look, const ProbeResult& result) {
    if (look->ended || look->destroyed) return;
    look->ended = true;
    const Done done = std::move(look->done);
    done(result);
  }

 private:
  class Handle final : public Probe {
   public:
    explicit Handle(std::shared_ptr<Look> look) : look_(std::move(look)) {}
    ~Handle() override { look_->destroyed = !look_->ended; }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

   private:
    std::shared_ptr<Look> look_;
  };

  std::vector<std::shared_ptr<Look>> looks_;
};

}  // namespace asrp::io::testing
