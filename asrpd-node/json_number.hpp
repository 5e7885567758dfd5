// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers of the files under state_dir. The library converts whatever it finds, silently and where it doesn't fit undefined:
// here a number that could not have been written is an error of the file.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace asrp::node {

/// The end of the year 9999, as seconds since 1970: sums and differences of such times fit.
inline constexpr std::int64_t kLastSecond = 253'402'300'799;

/// A whole number from 0 to `most`; throws what is caught with the library's own exceptions.
inline std::int64_t whole_number(const nlohmann::json& value, std::int64_t most) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > static_cast<std::uint64_t>(most))
    throw std::invalid_argument("a number is out of its bounds");
  return static_cast<std::int64_t>(value.get<std::uint64_t>());
}

}  // namespace asrp::node
