// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/clock.hpp"

#include <sodium.h>

#include <chrono>
#include <cstring>
#include <stdexcept>

namespace asrp::runtime {

TimePoint monotonic_now() {
  return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

double wall_clock_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

SystemRandom::SystemRandom() {
  if (sodium_init() < 0) throw std::runtime_error("libsodium finds no source of random numbers");
}

void SystemRandom::fill(MutableOctets out) {
  if (out.size() > sizeof pool_) {
    randombytes_buf(out.data(), out.size());
    return;
  }
  if (sizeof pool_ - used_ < out.size()) {
    randombytes_buf(pool_, sizeof pool_);
    used_ = 0;
  }
  std::memcpy(out.data(), pool_ + used_, out.size());
  sodium_memzero(pool_ + used_, out.size());  // what was handed out is nowhere else
  used_ += out.size();
}

}  // namespace asrp::runtime
