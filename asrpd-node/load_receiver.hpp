// SPDX-License-Identifier: GPL-2.0-or-later
// The servers' reports of how busy they are: verified, kept from being played again, and handed to the engines by pool and
// server. Which datagrams are asked is the daemon's matter.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "asrp/base/time.hpp"
#include "asrp/policy/load_report.hpp"
#include "asrpd-node/config.hpp"
#include "runtime/control_socket.hpp"

namespace asrp::node {

class LoadReceiver {
 public:
  using Tell = std::function<void(const std::string& pool, const std::string& server, std::uint32_t load)>;

  explicit LoadReceiver(Tell tell) : tell_(std::move(tell)) {}

  /// Keys and servers of a configuration; what servers of it have reported stays.
  void configure(const NodeConfig& config);
  /// A datagram to the port of reports. `wall_ms`: since 1970.
  void on_report(TimePoint now, std::uint64_t wall_ms, const IpAddress& from, Octets octets);

  void append_counters(std::vector<runtime::CounterLine>& lines) const;
  /// The last report of a host, in parts of 0xffffffff; nothing if it is older than max_age, or there is none.
  [[nodiscard]] std::optional<std::uint32_t> load_of(TimePoint now, const IpAddress& host) const;
  /// Servers whose last report is older than max_age, or that have sent none.
  [[nodiscard]] std::size_t unknown(TimePoint now) const;

 private:
  struct Host {
    std::vector<std::pair<std::string, std::string>> servers;  // pool, id: a host may be several
    std::optional<TimePoint> reported;
    std::uint32_t load = 0;
  };
  [[nodiscard]] bool is_known(TimePoint now, const Host& host) const {
    return host.reported && now - *host.reported <= max_age_;
  }
  struct Counts {
    std::uint64_t accepted = 0, size = 0, version = 0, mac = 0, sender = 0, time = 0, repeated = 0;
  };

  Tell tell_;
  Duration max_age_{};
  std::vector<HashKey> keys_;
  std::map<IpAddress, Host> hosts_;
  policy::ReportWindow window_;
  Counts counts_;
};

}  // namespace asrp::node
