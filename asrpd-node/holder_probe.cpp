// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/holder_probe.hpp"

#include <utility>

#include "runtime/clock.hpp"

namespace asrp::node {
namespace {

using engine::HolderSight;
using Sight = std::function<HolderSight(const IpAddress& host)>;

constexpr Duration kAgain = std::chrono::milliseconds(100);

class HolderProbe final : public io::Probe {
 public:
  HolderProbe(runtime::EventLoop& loop, const Sight& sight, const IpAddress& host, io::Prober::Done done)
      : loop_(loop), sight_(sight), host_(host), done_(std::move(done)) {
    look_in(Duration::zero());
  }
  ~HolderProbe() override { loop_.cancel(timer_); }

 private:
  void look_in(Duration time) {
    timer_ = loop_.call_at(runtime::monotonic_now() + time, [this] { look(); });
  }
  void look() {
    const HolderSight seen = sight_(host_);
    if (seen == HolderSight::unknown) return look_in(kAgain);
    const io::Prober::Done done = std::move(done_);
    const bool answers = seen == HolderSight::answers;
    done({answers, answers ? "the holder answers" : "the holder is gone"});  // destroys this object, perhaps
  }

  runtime::EventLoop& loop_;
  const Sight& sight_;
  IpAddress host_;
  io::Prober::Done done_;
  runtime::EventLoop::TimerId timer_ = 0;
};

class HolderProber final : public io::Prober {
 public:
  HolderProber(runtime::EventLoop& loop, Sight sight) : loop_(loop), sight_(std::move(sight)) {}
  std::unique_ptr<io::Probe> begin(const io::ProbeQuestion&, const io::ProbeTarget& target, Done done) override {
    return std::make_unique<HolderProbe>(loop_, sight_, target.address.address, std::move(done));
  }

 private:
  runtime::EventLoop& loop_;
  Sight sight_;
};

}  // namespace

std::unique_ptr<io::Prober> make_holder_prober(runtime::EventLoop& loop, Sight sight) {
  return std::make_unique<HolderProber>(loop, std::move(sight));
}

}  // namespace asrp::node
