// SPDX-License-Identifier: GPL-2.0-or-later
// Keeps the daemon's rules in place: looks when some program changed rules, and now and then, and repairs. Looking runs
// iptables-save, so it happens in a thread of its own: packets do not wait for it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "asrp/base/result.hpp"
#include "io/error.hpp"
#include "io/rule_set.hpp"
#include "runtime/event_loop.hpp"

namespace asrp::runtime {

class RuleKeeper {
 public:
  /// How often to look without a notice.
  static constexpr Duration kInterval = std::chrono::seconds(30);

  /// `on_repair` runs in the loop's thread after rules were put back. `loop` must outlive the object.
  static Result<std::unique_ptr<RuleKeeper>, io::IoError> open(EventLoop& loop, std::function<void()> on_repair);
  virtual ~RuleKeeper() = default;

  /// Installs these in place of the ones before; sets without chains are skipped, and what a family had before is removed. On
  /// failure the old ones are put back; at the first time, what was not there before is removed.
  virtual Result<Done, io::IoError> replace(std::vector<io::RuleSet> sets) = 0;
  /// The same in the keeper's own thread: packets need not wait for iptables. `done` runs in the loop's thread. One at a time.
  virtual void replace_later(std::vector<io::RuleSet> sets, std::function<void(Result<Done, io::IoError>)> done) = 0;
  /// For a start that failed later: removes what the first replace() made. Rules that an earlier run had left stay.
  virtual void undo_first() = 0;
  /// Removes what is installed.
  virtual void remove() = 0;
  [[nodiscard]] virtual std::uint64_t repairs() const = 0;
};

}  // namespace asrp::runtime
