// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/error.hpp"

#include <cstring>

namespace asrp::io {

std::string IoError::to_string() const {
  std::string text = what;
  if (error_number != 0) text += std::string(": ") + std::strerror(error_number);
  if (!advice.empty()) text += "; " + advice;
  return text;
}

}  // namespace asrp::io
