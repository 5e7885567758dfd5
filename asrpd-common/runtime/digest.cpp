// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/digest.hpp"

#include <sodium.h>

#include <algorithm>
#include <vector>

#include "asrp/base/bytes.hpp"

namespace asrp::runtime {

void Digest::add(std::string_view field) { fields_ += std::to_string(field.size()) + ":" + std::string(field) + ";"; }

std::string Digest::text() const {
  std::uint8_t hash[crypto_generichash_BYTES];
  crypto_generichash(hash, sizeof hash, reinterpret_cast<const unsigned char*>(fields_.data()), fields_.size(), nullptr, 0);
  return to_hex(Octets(hash).first(8));
}

std::string keys_digest(std::span<const HashKey> keys) {
  std::vector<std::string> texts;
  for (const HashKey& key : keys) texts.push_back(to_hex(key));
  std::sort(texts.begin(), texts.end());
  Digest digest;
  for (const std::string& text : texts) digest.add(text);
  return digest.text();
}

}  // namespace asrp::runtime
