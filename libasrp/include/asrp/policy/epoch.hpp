// SPDX-License-Identifier: BSD-3-Clause
// An epoch: the whole set of (server id, weight, key) of a pool between two changes (decision 11).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "asrp/base/siphash.hpp"

namespace asrp::policy {

struct EpochMember {
  std::string id;
  std::uint32_t weight = 1;  // 0 takes no part
  friend bool operator==(const EpochMember&, const EpochMember&) = default;
};

struct Epoch {
  std::vector<EpochMember> members;  // a set: their order means nothing
  HashKey key{};                     // placement key of that time
  friend bool operator==(const Epoch&, const Epoch&) = default;
};

}  // namespace asrp::policy
