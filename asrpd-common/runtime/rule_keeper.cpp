// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/rule_keeper.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/log.hpp"

namespace asrp::runtime {
namespace {

using io::IoError;
using io::RuleSet;

Result<Done, IoError> install(const std::vector<RuleSet>& sets) {
  for (const RuleSet& set : sets) {
    if (set.chains.empty()) continue;
    if (auto done = io::install_rules(set); !done) return done;
  }
  return Done{};
}

class Keeper final : public RuleKeeper {
 public:
  Keeper(EventLoop& loop, std::unique_ptr<io::RuleMonitor> monitor, std::function<void()> on_repair)
      : loop_(loop), monitor_(std::move(monitor)), on_repair_(std::move(on_repair)), thread_([this] { work(); }) {
    loop_.watch(monitor_->descriptor(), [this] {
      if (monitor_->drain()) look();
    });
    loop_.every(kInterval, [alive = std::weak_ptr<bool>(alive_), this] {
      if (!alive.expired()) look();
    });
  }
  ~Keeper() override {
    loop_.unwatch(monitor_->descriptor());
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  Result<Done, IoError> replace(std::vector<RuleSet> sets) override {
    const std::lock_guard lock(rules_mutex_);
    if (sets_.empty())
      if (auto done = note_fresh(sets); !done) return done;
    if (auto done = install(sets); !done) {
      if (sets_.empty()) remove_fresh();
      if (auto back = install(sets_); !back)
        log_error("rules", "the former rules cannot be put back: " + back.error().to_string());
      return done;
    }
    for (const RuleSet& old : sets_) remove_stale(old, sets);
    sets_ = std::move(sets);
    return Done{};
  }

  void replace_later(std::vector<RuleSet> sets, std::function<void(Result<Done, IoError>)> done) override {
    {
      const std::lock_guard lock(mutex_);
      change_.emplace(Change{std::move(sets), std::move(done)});
    }
    wake_.notify_one();
  }

  void undo_first() override {
    const std::lock_guard lock(rules_mutex_);
    remove_fresh();
    sets_.clear();
  }

  void remove() override {
    {
      const std::lock_guard lock(mutex_);
      change_.reset();
    }
    const std::lock_guard lock(rules_mutex_);
    for (const RuleSet& set : sets_) {
      if (set.chains.empty()) continue;
      if (auto done = io::remove_rules(set); !done) log_error("rules", done.error().to_string());
    }
    sets_.clear();
  }

  [[nodiscard]] std::uint64_t repairs() const override { return repairs_; }

 private:
  struct Change {
    std::vector<RuleSet> sets;
    std::function<void(Result<Done, IoError>)> done;
  };

  Result<Done, IoError> note_fresh(const std::vector<RuleSet>& sets) {
    fresh_.clear();
    for (const RuleSet& set : sets) {
      if (set.chains.empty()) continue;
      const auto present = io::any_chain_present(set);
      if (!present) return Failure{present.error()};
      if (!*present) fresh_.push_back(set);
    }
    return Done{};
  }

  void remove_fresh() {
    for (const RuleSet& set : fresh_)
      if (auto done = io::remove_rules(set); !done) log_error("rules", done.error().to_string());
    fresh_.clear();
  }

  static void remove_stale(const RuleSet& old, const std::vector<RuleSet>& sets) {
    if (old.chains.empty()) return;
    for (const RuleSet& set : sets)
      if (set.family == old.family && !set.chains.empty()) return;
    if (auto done = io::remove_rules(old); !done) log_error("rules", done.error().to_string());
  }

  void look() {
    {
      const std::lock_guard lock(mutex_);
      wanted_ = true;
    }
    wake_.notify_one();
  }

  void work() {
    for (;;) {
      std::optional<Change> change;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return wanted_ || ending_ || change_; });
        if (ending_) return;
        change.swap(change_);
        if (!change) wanted_ = false;
      }
      if (change) {
        auto result = replace(std::move(change->sets));
        loop_.post([result = std::move(result), done = std::move(change->done)] { done(result); });
      } else {
        check();
      }
    }
  }

  void check() {
    const std::lock_guard lock(rules_mutex_);
    bool repaired = false;
    std::string trouble;
    for (const RuleSet& set : sets_) {
      if (set.chains.empty()) continue;
      const auto intact = io::rules_intact(set);
      if (!intact) trouble = intact.error().to_string();
      if (!intact || *intact) continue;
      const auto done = io::install_rules(set);
      if (!done) trouble = done.error().to_string();
      repaired = repaired || done.has_value();
    }
    if (!trouble.empty()) loop_.post([trouble] { log_error("rules", trouble); });
    if (!repaired) return;
    ++repairs_;
    loop_.post([alive = std::weak_ptr<bool>(alive_), this] {
      if (alive.expired()) return;
      log_warning("rules", "another program had changed our rules; they are in place again");
      if (on_repair_) on_repair_();
    });
  }

  EventLoop& loop_;
  std::unique_ptr<io::RuleMonitor> monitor_;
  std::function<void()> on_repair_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::mutex rules_mutex_;  // rules as installed: one change or look at a time
  std::vector<RuleSet> sets_;
  std::vector<RuleSet> fresh_;  // of which nothing was there before the first replace()
  std::atomic<std::uint64_t> repairs_{0};
  std::mutex mutex_;  // wanted_, change_ and ending_
  std::condition_variable wake_;
  bool wanted_ = false;
  std::optional<Change> change_;
  bool ending_ = false;
  std::thread thread_;  // last: starts when all above is there
};

}  // namespace

Result<std::unique_ptr<RuleKeeper>, IoError> RuleKeeper::open(EventLoop& loop, std::function<void()> on_repair) {
  auto monitor = io::RuleMonitor::open();
  if (!monitor) return Failure{monitor.error()};
  return std::unique_ptr<RuleKeeper>(std::make_unique<Keeper>(loop, std::move(*monitor), std::move(on_repair)));
}

}  // namespace asrp::runtime
