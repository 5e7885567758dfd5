// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/siphash.hpp"

#include <sodium/crypto_shorthash.h>

namespace asrp {

static_assert(crypto_shorthash_KEYBYTES == sizeof(HashKey));
static_assert(crypto_shorthash_BYTES == 8);

std::uint64_t siphash(const HashKey& key, Octets input) {
  std::uint8_t out[8];
  crypto_shorthash(out, input.data(), input.size(), key.data());
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | out[i];
  return value;
}

}  // namespace asrp
