// SPDX-License-Identifier: GPL-2.0-or-later
// How the edges report: what was tried, errno, and what the operator can do about it.
#pragma once

#include <string>
#include <string_view>

namespace asrp::io {

/// What to do about a place that cannot be written to.
inline constexpr std::string_view kPlaceAdvice = "make it writable for the user that the daemon runs as, or give another path";

/// A failed operation at start-up or at run time. `what` names the operation and its object ("bind NFQUEUE 51201"), `advice`
/// what to do.
struct IoError {
  std::string what;
  int error_number = 0;
  std::string advice;
  [[nodiscard]] std::string to_string() const;
};

}  // namespace asrp::io
