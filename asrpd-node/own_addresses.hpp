// SPDX-License-Identifier: GPL-2.0-or-later
// Whether a node's own addresses are this machine's. Answers to messages from others never come back, and nothing else shows
// it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "asrp/base/address.hpp"

namespace asrp::node {

/// At boot the daemon is there before its addresses, so this is looked at again and again, and each change is told once.
class OwnAddresses {
 public:
  /// What has changed since the last look, a sentence each: addresses that this machine lacks, and those that it has got since.
  std::vector<std::string> look(const std::vector<IpAddress>& configured);

 private:
  std::set<IpAddress> missing_;
};

}  // namespace asrp::node
