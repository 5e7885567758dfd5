// SPDX-License-Identifier: GPL-2.0-or-later
// How the edges report: what was tried, errno, and what the operator can do about it.
#pragma once

#include <string>

namespace asrp::io {

/// A failed operation at start-up or at run time. `what` names the operation and its object ("bind NFQUEUE 51201"), `advice`
/// what to do.
struct IoError {
  std::string what;
  int error_number = 0;
  std::string advice;
  [[nodiscard]] std::string to_string() const;
};

}  // namespace asrp::io
