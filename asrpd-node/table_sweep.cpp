// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/table_sweep.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace asrp::node {
namespace {

class Sweep final : public TableSweep {
 public:
  Sweep(runtime::EventLoop& loop, std::unique_ptr<io::Conntrack> table)
      : loop_(loop), table_(std::move(table)), thread_([this] { work(); }) {}
  ~Sweep() override {
    table_->end_visits();  // a large table takes long, and nobody wants what is left of it
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void begin(What what, Wanted wanted, Taken taken, Done done) override {
    {
      const std::lock_guard lock(mutex_);
      const bool again = std::any_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.what == What::marked; });
      if (what == What::marked && again) return;
      jobs_.push_back({what, std::move(wanted), std::move(taken), std::move(done)});
    }
    changed_.notify_one();
  }
  bool was_whole() const override { return whole_; }

 private:
  struct Job {
    What what;
    Wanted wanted;
    Taken taken;
    Done done;
  };

  void work() {
    for (;;) {
      const Job* job = nullptr;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
        if (ending_) return;
        job = &jobs_.front();  // stays there until it is done; a deque does not move it
      }
      sweep(*job);
      const std::lock_guard lock(mutex_);
      jobs_.pop_front();
    }
  }

  void sweep(const Job& job) {
    std::vector<engine::FlowEntry> piece;
    bool whole = false;
    const auto visit = [&](const engine::FlowEntry& entry) {
      if (!job.wanted(entry)) return;
      piece.push_back(entry);
      if (piece.size() == kPiece) hand_over(job.taken, std::exchange(piece, {}));
    };
    switch (job.what) {
      case What::marked:
        table_->for_each_marked(visit);
        break;
      case What::untranslated:
        table_->for_each_untranslated(visit);
        break;
      case What::translated:
        whole = table_->for_each(visit);
        break;
    }
    if (!piece.empty()) hand_over(job.taken, std::move(piece));
    loop_.post([alive = std::weak_ptr<bool>(alive_), this, whole, done = job.done] {
      if (alive.expired()) return;
      whole_ = whole;
      done();
    });
  }

  /// Waits until the piece before is taken: the loop never has two of them, and other things get their turn between them.
  void hand_over(const Taken& taken, std::vector<engine::FlowEntry> piece) {
    std::unique_lock lock(mutex_);
    if (ending_) return;
    handed_ = true;
    loop_.post([alive = std::weak_ptr<bool>(alive_), this, taken, piece = std::move(piece)] {
      if (alive.expired()) return;
      taken(piece);
      {
        const std::lock_guard inner(mutex_);
        handed_ = false;
      }
      changed_.notify_one();
    });
    changed_.wait(lock, [this] { return ending_ || !handed_; });
  }

  runtime::EventLoop& loop_;
  std::unique_ptr<io::Conntrack> table_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool whole_ = false;  // the loop's thread
  std::mutex mutex_;    // all below
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool handed_ = false;
  bool ending_ = false;
  std::thread thread_;  // last: starts when all above is there
};

}  // namespace

std::unique_ptr<TableSweep> TableSweep::open(runtime::EventLoop& loop, std::unique_ptr<io::Conntrack> table) {
  return std::make_unique<Sweep>(loop, std::move(table));
}

}  // namespace asrp::node
