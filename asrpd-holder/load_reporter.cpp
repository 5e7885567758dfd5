// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-holder/load_reporter.hpp"

#include <algorithm>
#include <utility>

#include "asrp/policy/load_report.hpp"
#include "io/datagram.hpp"
#include "runtime/clock.hpp"
#include "runtime/log.hpp"

namespace asrp::holder {

LoadReporter::LoadReporter(LoadConfig config, std::vector<IpAddress> own, const std::atomic<std::uint64_t>& sessions,
                           Counts& counts)
    : config_(std::move(config)),
      own_(std::move(own)),
      source_(config_, [&sessions] { return sessions.load(); }),
      counts_(counts),
      thread_([this] { run(); }) {}

LoadReporter::~LoadReporter() {
  stop();
  thread_.join();
}

void LoadReporter::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_up_.notify_all();
}

void LoadReporter::run() {
  std::unique_lock lock(mutex_);
  while (!wake_up_.wait_for(lock, config_.interval, [this] { return stopped_; })) {
    lock.unlock();
    const LoadSource::Measured measured = source_.measure();
    if (measured.part) {
      in_trouble_ = false;
      report(*measured.part);
    } else {
      ++counts_.unmeasured;
      if (!std::exchange(in_trouble_, true))
        runtime::log_warning("load", measured.trouble + ": the nodes are not told how busy this server is");
    }
    lock.lock();
  }
  finished_ = true;
}

void LoadReporter::report(double part) {
  policy::LoadReport report;
  report.load = policy::scaled_load(part);
  report.time_ms = static_cast<std::uint64_t>(runtime::wall_clock_seconds() * 1000);
  report.counter = ++counter_;
  for (const IpAddress& node : config_.nodes) {
    const auto own =
        std::find_if(own_.begin(), own_.end(), [&](const IpAddress& each) { return each.family() == node.family(); });
    const std::optional<IpAddress> source = own == own_.end() ? std::nullopt : std::optional(*own);
    const auto done = io::send_datagram({node, config_.port}, source, [&](const IpAddress& from) {
      const auto octets = policy::encode_load_report(report, config_.key.value, from);
      return Buffer(octets.begin(), octets.end());
    });
    if (done) {
      ++counts_.sent;
    } else {
      ++counts_.unsent;
      runtime::log_warning("load", done.error().to_string());
    }
  }
}

}  // namespace asrp::holder
