// SPDX-License-Identifier: BSD-3-Clause
// Which seeds a test plays: ASRP_SIM_SEED=N only that one, ASRP_SIM_RUNS=N more than the usual.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace asrp::sim {

inline std::vector<std::uint64_t> seeds(std::uint64_t first, std::size_t usual) {
  if (const char* one = std::getenv("ASRP_SIM_SEED")) return {std::strtoull(one, nullptr, 10)};
  const char* runs = std::getenv("ASRP_SIM_RUNS");
  const std::size_t count = runs != nullptr ? std::strtoull(runs, nullptr, 10) : usual;
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(first + i);
  return out;
}

}  // namespace asrp::sim
