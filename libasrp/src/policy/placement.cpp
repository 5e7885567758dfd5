// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/placement.hpp"

#include <algorithm>
#include <bit>

#include "asrp/base/assert.hpp"
#include "asrp/policy/keyed_hash.hpp"

namespace asrp::policy {
namespace {

constexpr std::uint16_t kNotComputed = 0xffff;
constexpr std::uint16_t kNone = 0xfffe;  // fewer members than cached ranks
constexpr unsigned kFractionBits = 24;

std::uint64_t hash_id(const HashKey& key, const std::string& id) {
  Buffer input;
  input.push_back(static_cast<std::uint8_t>(HashUse::member_id));
  input.insert(input.end(), id.begin(), id.end());
  return siphash(key, input);
}

}  // namespace

std::uint16_t placement_row(const HashKey& key, const Tuple& client_side) {
  HashInput input(HashUse::row);
  input.u8(static_cast<std::uint8_t>(client_side.protocol));
  input.tuple(client_side);
  return static_cast<std::uint16_t>(input.hash(key) >> 48);
}

std::uint32_t negative_log2(std::uint64_t h) {
  if (h == 0) h = 1;
  const int lead = std::countl_zero(h);
  std::uint64_t m = (h << lead) >> 32;  // mantissa in [1, 2) with 31 fraction bits
  std::uint64_t fraction = 0;
  for (unsigned bit = 0; bit < kFractionBits; ++bit) {
    m = (m * m) >> 31;
    fraction <<= 1;
    if (m >> 32 != 0) {
      fraction |= 1;
      m >>= 1;
    }
  }
  const std::uint64_t log2 = (std::uint64_t{63} - static_cast<unsigned>(lead)) << kFractionBits | fraction;
  return static_cast<std::uint32_t>((std::uint64_t{64} << kFractionBits) - log2);
}

Ranking::Ranking(const Epoch& epoch) : key_(epoch.key), chunks_(kRows / kRowsPerChunk) {
  for (const EpochMember& m : epoch.members) {
    if (m.weight != 0) members_.push_back({m.id, hash_id(key_, m.id), m.weight});
  }
  std::sort(members_.begin(), members_.end(), [](const Member& a, const Member& b) { return a.id < b.id; });
  ASRP_ASSERT(members_.size() < kNone);
  scores_.reserve(members_.size());
}

bool Ranking::better(const Score& a, const Score& b) const {
  // log < 2^31 and weight < 2^32: the products fit.
  const std::uint64_t left = std::uint64_t{a.log} * members_[b.member].weight;
  const std::uint64_t right = std::uint64_t{b.log} * members_[a.member].weight;
  return left != right ? left < right : a.member < b.member;  // members are in the order of their ids
}

void Ranking::order(std::uint16_t row, std::size_t count) const {
  scores_.clear();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    HashInput input(HashUse::member);
    input.u64(members_[i].id_hash);
    input.u16(row);
    scores_.push_back({negative_log2(input.hash(key_)), static_cast<std::uint16_t>(i)});
  }
  const auto middle = scores_.begin() + static_cast<std::ptrdiff_t>(std::min(count, scores_.size()));
  std::partial_sort(scores_.begin(), middle, scores_.end(), [this](const Score& a, const Score& b) { return better(a, b); });
}

std::uint16_t* Ranking::cached(std::uint16_t row) const {
  auto& chunk = chunks_[row / kRowsPerChunk];
  if (!chunk) {
    chunk = std::make_unique<std::uint16_t[]>(kRowsPerChunk * kCachedRanks);
    std::fill_n(chunk.get(), kRowsPerChunk * kCachedRanks, kNotComputed);
  }
  std::uint16_t* ranks = chunk.get() + row % kRowsPerChunk * kCachedRanks;
  if (ranks[0] == kNotComputed) {
    order(row, kCachedRanks);
    for (std::size_t i = 0; i < kCachedRanks; ++i) ranks[i] = i < scores_.size() ? scores_[i].member : kNone;
  }
  return ranks;
}

std::size_t Ranking::top(std::uint16_t row, std::span<std::uint16_t> out) const {
  const std::size_t count = std::min(out.size(), members_.size());
  if (count <= kCachedRanks) {
    std::copy_n(cached(row), count, out.begin());
  } else {
    order(row, count);
    for (std::size_t i = 0; i < count; ++i) out[i] = scores_[i].member;
  }
  return count;
}

}  // namespace asrp::policy
