// SPDX-License-Identifier: GPL-2.0-or-later
// A short digest for people to compare two hosts' settings by. BLAKE2b: it tells nothing of the keys that go in.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "asrp/base/siphash.hpp"

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

/// Of keys, in whatever order.
std::string keys_digest(std::span<const HashKey> keys);

}  // namespace asrp::runtime
