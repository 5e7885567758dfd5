// SPDX-License-Identifier: BSD-3-Clause
#include "capture/progress.hpp"

#include <cinttypes>
#include <cstdio>

namespace asrp::dump {
namespace {

constexpr std::uint64_t kLarge = std::uint64_t{64} * 1024 * 1024;  // octets: smaller files are read within a second
constexpr auto kPeriod = std::chrono::milliseconds(500);

}  // namespace

Progress::Progress(std::uint64_t size, bool wanted)
    : size_(size), is_wanted_(wanted && size >= kLarge), next_(std::chrono::steady_clock::now() + kPeriod) {}

Progress::~Progress() { clear(); }

void Progress::show(std::uint64_t frames, std::uint64_t position) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kPeriod;
  is_shown_ = true;
  const std::uint64_t percent = position >= size_ ? 100 : position * 100 / size_;
  std::fprintf(stderr, "\rasrpdump: %" PRIu64 " %% of %" PRIu64 " MB, %" PRIu64 " packets\x1b[K", percent, size_ / 1'000'000,
               frames);
}

void Progress::clear() {
  if (is_shown_) std::fputs("\r\x1b[K", stderr);
  is_shown_ = false;
}

}  // namespace asrp::dump
