// SPDX-License-Identifier: BSD-3-Clause
#include "report/out.hpp"

#include <cerrno>

namespace asrp::dump {

Out::Out(std::FILE* file, bool color) : file_(file), color_(color) { buffer_.reserve(2 * kPiece); }

Out::~Out() { flush(); }

void Out::flush() {
  if (error_ == 0 && !buffer_.empty()) {
    errno = 0;
    const bool is_written = std::fwrite(buffer_.data(), 1, buffer_.size(), file_) == buffer_.size() && std::fflush(file_) == 0;
    if (!is_written) error_ = errno != 0 ? errno : EIO;
  }
  buffer_.clear();
}

}  // namespace asrp::dump
