// SPDX-License-Identifier: BSD-3-Clause
// Where reports write: text gathered in one buffer and handed on in large pieces. Says once what went wrong.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace asrp::dump {

class Out {
 public:
  /// Writes to `file`, which stays the caller's. `color`: escape sequences are welcome there.
  explicit Out(std::FILE* file, bool color = false);
  Out(const Out&) = delete;
  Out& operator=(const Out&) = delete;
  /// Writes what is left.
  ~Out();

  Out& text(std::string_view piece) {
    buffer_.append(piece);
    return *this;
  }
  Out& character(char c) {
    buffer_.push_back(c);
    return *this;
  }
  template <std::integral Number>
  Out& number(Number value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    buffer_.append(digits, static_cast<std::size_t>(end - digits));
    return *this;
  }
  /// The buffer itself, for formatters that append to a string.
  std::string& buffer() { return buffer_; }

  /// At the end of each line or picture: hands the buffer on if it is large, or if `flush_items()` was asked for.
  void end_of_item() {
    if (buffer_.size() >= kPiece || flush_items_) flush();
  }
  /// From here on each item is handed on at once (-l).
  void flush_items() { flush_items_ = true; }
  void flush();

  /// errno of the first write that failed, 0 if none did. What is written afterwards is thrown away.
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] bool color() const { return color_; }

 private:
  static constexpr std::size_t kPiece = 64 * 1024;  // octets: few enough calls, little enough memory

  std::FILE* file_;
  std::string buffer_;
  bool color_;
  bool flush_items_ = false;
  int error_ = 0;
};

}  // namespace asrp::dump
