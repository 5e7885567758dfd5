// SPDX-License-Identifier: BSD-3-Clause
#include "policy/ranked_draw.hpp"

#include <algorithm>
#include <bit>

namespace asrp::policy {
namespace {

constexpr int kWeightBits = 24;
constexpr int kShareBits = 32;
constexpr int kSumBits = 62;

/// Shifts so that the largest has `bits` bits: ratios between values of one level are all that matters.
template <typename Values>
void normalise(Values values, int bits) {
  const std::uint64_t largest = *std::max_element(values.begin(), values.end());
  const int shift = bits - static_cast<int>(std::bit_width(largest));
  for (std::uint64_t& v : values) v = shift >= 0 ? v << shift : v >> -shift;
}

}  // namespace

// Let b(A) be the probability that the ranks behind a set A of servers go on with the rest of ours: the next is r with w(r)
// over the weight of all that are not in A. With n ranks left to give, b depends on the b of one less; the values of one level,
// of sets of equal size, are computed together. The wanted shares are w(i) b({i}).
Shares first_rank_shares(std::span<const std::uint32_t> weights, std::uint64_t total) {
  const std::size_t count = weights.size();
  const std::uint32_t heaviest = *std::max_element(weights.begin(), weights.end());
  const int shift = std::max(0, static_cast<int>(std::bit_width(heaviest)) - kWeightBits);
  std::array<std::uint64_t, kMaxRankedDraw> w{};
  std::uint64_t ours = 0;
  for (std::size_t i = 0; i < count; ++i) ours += w[i] = std::max<std::uint64_t>(weights[i] >> shift, 1);
  total = std::max(total >> shift, ours);

  std::array<std::uint64_t, std::size_t{1} << kMaxRankedDraw> b{};  // of each set, by its bits
  const std::size_t all = (std::size_t{1} << count) - 1;
  b[all] = std::uint64_t{1} << (kShareBits - 1);
  std::array<std::uint64_t, 70> level;  // of 8 servers, 70 sets have 4
  for (int size = static_cast<int>(count) - 1; size >= 1; --size) {
    std::size_t sets = 0;
    for (std::size_t a = 1; a < all; ++a) {
      if (std::popcount(a) != size) continue;
      std::uint64_t sum = 0;  // at most 8 * 2^24 * 2^32
      for (std::size_t r = 0; r < count; ++r) sum += (a >> r & 1) == 0 ? w[r] * b[a | std::size_t{1} << r] : 0;
      level[sets++] = sum;
    }
    normalise(std::span(level).first(sets), kSumBits);
    sets = 0;
    for (std::size_t a = 1; a < all; ++a) {
      if (std::popcount(a) != size) continue;
      std::uint64_t rest = total;
      for (std::size_t r = 0; r < count; ++r) rest -= (a >> r & 1) != 0 ? w[r] : 0;
      level[sets++] /= rest;
    }
    normalise(std::span(level).first(sets), kShareBits);
    sets = 0;
    for (std::size_t a = 1; a < all; ++a) {
      if (std::popcount(a) == size) b[a] = level[sets++];
    }
  }
  Shares shares{};
  for (std::size_t i = 0; i < count; ++i) shares[i] = w[i] * b[std::size_t{1} << i];
  normalise(std::span(shares).first(count), kShareBits);
  for (std::size_t i = 0; i < count; ++i) shares[i] = std::max<std::uint64_t>(shares[i], 1);
  return shares;
}

}  // namespace asrp::policy
