// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/turn_pace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

namespace asrp::runtime {

TurnPace::TurnPace(TimePoint now, const char* account)
    : account_(::open(account, O_RDONLY | O_CLOEXEC)), window_start_(now), waited_before_(waited()) {}

Duration TurnPace::rest(TimePoint now) {
  if (now >= window_start_ + kWindow) look(now);
  if (!busy_ || now >= next_turn_) {
    next_turn_ = now + kDistance;
    return Duration::zero();
  }
  const Duration rest = next_turn_ - now;
  next_turn_ += kDistance;
  return rest;
}

// The line: nanoseconds on a processor, nanoseconds of waiting for one, times run.
std::optional<Duration> TurnPace::waited() const {
  if (!account_) return std::nullopt;
  std::array<char, 96> text{};
  const ssize_t size = ::pread(account_.get(), text.data(), text.size(), 0);
  if (size <= 0) return std::nullopt;
  const std::string_view line(text.data(), static_cast<std::size_t>(size));
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  std::int64_t nanoseconds = 0;
  const auto [end, error] = std::from_chars(line.data() + space + 1, line.data() + line.size(), nanoseconds);
  if (error != std::errc{}) return std::nullopt;
  return std::chrono::nanoseconds(nanoseconds);
}

void TurnPace::look(TimePoint now) {
  const auto total = waited();
  busy_ = total && waited_before_ && (*total - *waited_before_) * kBusyPart > now - window_start_;
  waited_before_ = total;
  window_start_ = now;
}

}  // namespace asrp::runtime
