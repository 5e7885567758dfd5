// SPDX-License-Identifier: GPL-2.0-or-later
// HTTP for the metrics page: GET and HEAD of /metrics, everything else is refused. It runs in the loop of the daemon's packets,
// so a client costs little whatever it does: few connections at a time, one request each, a short life, small headers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "asrp/base/address.hpp"
#include "asrp/base/result.hpp"
#include "io/error.hpp"
#include "runtime/event_loop.hpp"

namespace asrp::runtime {

class MetricsServer {
 public:
  static constexpr unsigned kMaxConnections = 8;              // what is beyond waits in the kernel's backlog
  static constexpr Duration kLife = std::chrono::seconds(5);  // of a connection, whatever it does
  static constexpr std::size_t kConnectionMemory = 8 * 1024;  // octets: request line and headers have to fit

  /// Listens at `address`, also where no interface has it yet. `page` is asked at each request; `loop` must outlive the object.
  static Result<std::unique_ptr<MetricsServer>, io::IoError> open(EventLoop& loop, const Endpoint& address,
                                                                  std::function<std::string()> page);
  virtual ~MetricsServer() = default;
};

}  // namespace asrp::runtime
