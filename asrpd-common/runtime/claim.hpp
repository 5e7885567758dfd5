// SPDX-License-Identifier: GPL-2.0-or-later
// One daemon of a kind per network namespace. The claim is an abstract socket name: it belongs to the namespace, needs no file
// and no configuration, and ends with the process, however that ends.
#pragma once

#include <string>

#include "asrp/base/result.hpp"
#include "io/error.hpp"
#include "io/unique_fd.hpp"

namespace asrp::runtime {

class Claim {
 public:
  /// Fails if a process of this network namespace holds the claim of `program` ("asrpd-node"); `what` is what it keeps the
  /// caller from doing ("start", "remove rules").
  static Result<Claim, io::IoError> take(const std::string& program, const std::string& what);

 private:
  explicit Claim(io::UniqueFd descriptor) : descriptor_(std::move(descriptor)) {}
  io::UniqueFd descriptor_;
};

}  // namespace asrp::runtime
