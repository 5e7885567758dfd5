// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/siphash.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "support/policy_builders.hpp"

using asrp::test::counting_key;

namespace {

asrp::Buffer counting_input(std::size_t size) {
  asrp::Buffer input(size);
  for (std::size_t i = 0; i < size; ++i) input[i] = static_cast<std::uint8_t>(i);
  return input;
}

}  // namespace

TEST_CASE("SipHash-2-4 gives the values of its authors") {
  // Key 00..0f and input 00..n-1, as in the appendix of the SipHash paper and its reference vectors.
  CHECK(asrp::siphash(counting_key(), counting_input(0)) == 0x726fdb47dd0e0e31);
  CHECK(asrp::siphash(counting_key(), counting_input(15)) == 0xa129ca6149be45e5);
}

TEST_CASE("every octet of key and input counts") {
  const auto input = counting_input(37);
  const std::uint64_t base = asrp::siphash(counting_key(), input);
  for (std::size_t i = 0; i < input.size(); ++i) {
    auto other = input;
    other[i] ^= 1;
    CHECK(asrp::siphash(counting_key(), other) != base);
  }
  for (std::size_t i = 0; i < 16; ++i) {
    auto key = counting_key();
    key[i] ^= 0x80;
    CHECK(asrp::siphash(key, input) != base);
  }
}
