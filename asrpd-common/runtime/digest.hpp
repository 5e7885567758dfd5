// SPDX-License-Identifier: GPL-2.0-or-later
// A short digest for people to compare two hosts' settings by. BLAKE2b: it tells nothing of the keys that go in.
#pragma once

#include <string>
#include <string_view>

namespace asrp::runtime {

class Digest {
 public:
  /// Adds a field; fields do not run together.
  void add(std::string_view field);
  /// 16 hexadecimal digits.
  [[nodiscard]] std::string text() const;

 private:
  std::string fields_;
};

}  // namespace asrp::runtime
