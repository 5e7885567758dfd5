// SPDX-License-Identifier: BSD-3-Clause
// Entry point under libFuzzer.
#include "fuzz/support/fuzz_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return asrp::fuzz::one_input(asrp::Octets(data, size));
}
