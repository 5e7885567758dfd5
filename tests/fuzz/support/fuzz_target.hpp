// SPDX-License-Identifier: BSD-3-Clause
// What a fuzz target is: one function in tests/fuzz/<name>.cpp. It must not keep state between calls, and it ends the process
// through FUZZ_CHECK when a property does not hold.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "asrp/base/bytes.hpp"

namespace asrp::fuzz {

/// Defined by the target. `input` is exactly as long as its allocation, so that a sanitizer sees each octet too far.
int one_input(Octets input);

[[noreturn]] inline void failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: property does not hold: %s\n", file, line, condition);
  std::abort();
}

/// Takes an input apart from its front; an exhausted input yields zeros.
class Reader {
 public:
  explicit Reader(Octets input) : input_(input) {}

  std::uint8_t u8() {
    if (input_.empty()) return 0;
    const std::uint8_t octet = input_[0];
    input_ = input_.subspan(1);
    return octet;
  }
  std::uint16_t u16() {
    const std::uint8_t high = u8();
    return static_cast<std::uint16_t>(high << 8 | u8());
  }
  std::uint32_t u32() {
    const std::uint32_t high = u16();
    return high << 16 | u16();
  }
  /// At most `n` octets.
  Octets octets(std::size_t n) {
    const Octets part = input_.first(n < input_.size() ? n : input_.size());
    input_ = input_.subspan(part.size());
    return part;
  }
  [[nodiscard]] Octets rest() const { return input_; }
  [[nodiscard]] bool empty() const { return input_.empty(); }

 private:
  Octets input_;
};

}  // namespace asrp::fuzz

#define FUZZ_CHECK(condition) ((condition) ? static_cast<void>(0) : asrp::fuzz::failed(#condition, __FILE__, __LINE__))
