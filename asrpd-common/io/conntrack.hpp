// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel's conntrack as FlowTable: many CT_NEW in one send, errors drained before it returns (kernel-notes 3, 4, 12).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "asrp/base/result.hpp"
#include "asrp/engine/flow_table.hpp"
#include "io/conntrack_message.hpp"
#include "io/error.hpp"

namespace asrp::io {

struct ConntrackOptions {
  std::uint32_t waiting_mark = 0x10000000;      // connmark bit "NS not yet acknowledged"
  std::uint32_t unprotected_mark = 0x20000000;  // connmark bit "no backup"
  std::uint32_t creation_timeout = 30;          // seconds; until traffic refreshes it (kernel-notes 7)
};

class Conntrack : public engine::FlowTable {
 public:
  static Result<std::unique_ptr<Conntrack>, IoError> open(const ConntrackOptions& options);

  /// Visits every entry whose mark has the waiting or unprotected bit (a dump for each bit, filtered by
  /// the kernel). A visitor may use the table.
  virtual void for_each_marked(const std::function<void(const engine::FlowEntry&)>& visit) = 0;
  /// Visits every translated entry of the protocols TCP and UDP. False if it had to end before the last one.
  virtual bool for_each(const std::function<void(const engine::FlowEntry&)>& visit) = 0;
  /// Visits the others of these protocols, which translate nothing. A visitor may use the table.
  virtual void for_each_untranslated(const std::function<void(const engine::FlowEntry&)>& visit) = 0;
  /// Visits every translated entry of the protocols TCP and UDP with all that the kernel tells of it.
  struct Detail {
    engine::FlowEntry flow;
    std::string_view state;              // state_name()
    std::uint32_t timeout = 0;           // seconds left
    std::optional<Traffic> from_client;  // where the kernel counts
    std::optional<Traffic> from_server;
  };
  virtual void for_each_detail(const std::function<void(const Detail&)>& visit) = 0;
  /// Ends the visit that is under way, and lets no other one begin. Any thread may call it.
  virtual void end_visits() = 0;
  /// Entries in this namespace, and the most there may be.
  struct Fill {
    std::uint64_t count = 0, maximum = 0;
  };
  [[nodiscard]] virtual Fill fill() const = 0;
  struct Statistics {
    std::uint64_t installed = 0, exists = 0, full = 0, failed = 0, removed = 0, last_errno = 0;
  };
  [[nodiscard]] virtual Statistics statistics() const = 0;
};

}  // namespace asrp::io
