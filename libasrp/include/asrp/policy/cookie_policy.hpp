// SPDX-License-Identifier: BSD-3-Clause
// Cookies of NS: a keyed hash over both tuples and the protocol, so that any node verifies a PS without having seen the NS
// (draft 4.3.2, section 5; decision 10).
#pragma once

#include <vector>

#include "asrp/base/cookie.hpp"
#include "asrp/base/siphash.hpp"
#include "asrp/base/tuple.hpp"

namespace asrp::policy {

/// The cookie of a session under one key.
Cookie keyed_cookie(const HashKey& key, const TuplePair& tuples);

class CookiePolicy {
 public:
  /// `sign` makes cookies; `accept` are the other keys of a rotation in progress.
  CookiePolicy(const HashKey& sign, std::vector<HashKey> accept) : sign_(sign), accept_(std::move(accept)) {}

  [[nodiscard]] Cookie issue(const TuplePair& tuples) const { return keyed_cookie(sign_, tuples); }
  /// True if any of the keys made `cookie` for exactly these tuples.
  [[nodiscard]] bool verify(const TuplePair& tuples, Cookie cookie) const;

 private:
  HashKey sign_;
  std::vector<HashKey> accept_;
};

}  // namespace asrp::policy
