// SPDX-License-Identifier: BSD-3-Clause
// Names of hosts and ports from the system's resolver, remembered: a host is asked for once.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "asrp/base/address.hpp"
#include "asrp/base/tuple.hpp"

namespace asrp::dump {

/// A name comes from whoever answers for the address: nothing in it may control the terminal. `?` for each octet that is not a
/// visible ASCII character.
std::string harmless(std::string name);

class Names {
 public:
  /// The host's name, or its address if it has none.
  const std::string& host(const IpAddress& address);
  /// The service's name, or the number.
  const std::string& port(std::uint16_t port, Protocol protocol);

 private:
  static constexpr std::size_t kMaxHosts = 65536;  // then all are forgotten: a scan must not fill the memory

  std::map<IpAddress, std::string> hosts_;
  std::map<std::pair<std::uint16_t, Protocol>, std::string> ports_;
};

}  // namespace asrp::dump
