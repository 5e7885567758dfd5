// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/cookie_policy.hpp"

#include <algorithm>

#include "asrp/policy/keyed_hash.hpp"

namespace asrp::policy {

// spec: 4.3.2-1 a value that identifies the request; here: the session, for every node that knows the key
Cookie keyed_cookie(const HashKey& key, const TuplePair& tuples) {
  HashInput input(HashUse::cookie);
  input.u8(static_cast<std::uint8_t>(tuples.client_side.protocol));
  input.tuple(tuples.client_side);
  input.tuple(tuples.server_side);
  return Cookie{static_cast<std::uint32_t>(input.hash(key))};
}

bool CookiePolicy::verify(const TuplePair& tuples, Cookie cookie) const {
  return keyed_cookie(sign_, tuples) == cookie ||
         std::any_of(accept_.begin(), accept_.end(), [&](const HashKey& key) { return keyed_cookie(key, tuples) == cookie; });
}

}  // namespace asrp::policy
