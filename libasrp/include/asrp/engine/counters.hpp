// SPDX-License-Identifier: BSD-3-Clause
// Counters by event and by reason. One table per engine names them all: the enum, the name in `asrpctl counters`, the help.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace asrp::engine {

/// A set of 64-bit counters indexed by an enum class whose last enumerator is `count_`.
template <typename Counter>
class Counters {
 public:
  static constexpr std::size_t kSize = static_cast<std::size_t>(Counter::count_);

  void add(Counter c, std::uint64_t n = 1) { values_[static_cast<std::size_t>(c)] += n; }
  [[nodiscard]] std::uint64_t operator[](Counter c) const { return values_[static_cast<std::size_t>(c)]; }
  [[nodiscard]] const std::array<std::uint64_t, kSize>& values() const { return values_; }

 private:
  std::array<std::uint64_t, kSize> values_{};
};

/// Name ("messages_discarded.cookie") and one line of help of a counter.
struct CounterInfo {
  std::string_view name;
  std::string_view help;
};

}  // namespace asrp::engine
