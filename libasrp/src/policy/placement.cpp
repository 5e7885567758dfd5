// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/placement.hpp"

#include <algorithm>
#include <bit>

#include "asrp/base/assert.hpp"
#include "asrp/policy/epoch_bounds.hpp"
#include "asrp/policy/keyed_hash.hpp"
#include "policy/row_hash.hpp"

namespace asrp::policy {
namespace {

constexpr std::uint16_t kNotComputed = 0xffff;
constexpr std::uint16_t kNone = 0xfffe;  // fewer members than cached ranks
constexpr unsigned kFractionBits = 24;
constexpr std::size_t kFewRanks = 16;  // put in order one by one

std::uint64_t hash_id(const HashKey& key, const std::string& id) {
  Buffer input;
  input.push_back(static_cast<std::uint8_t>(HashUse::member_id));
  input.insert(input.end(), id.begin(), id.end());
  return siphash(key, input);
}

/// At most negative_log2(h), and cheap: -log2(x) is no less than (1 - x) / ln 2. That logarithm is rounded up, this is rounded
/// down.
std::uint32_t least_negative_log2(std::uint64_t h) {
  constexpr std::uint64_t kPerUnit = 24204406;  // 2^24 / ln 2
  return static_cast<std::uint32_t>((~h >> 32) * kPerUnit >> 32);
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

Ranking::Ranking(const Epoch& epoch, std::size_t kept)
    : key_(epoch.key), kept_(kept), row_hash_(std::make_unique<RowHash>(epoch.key)), chunks_(kRows / kRowsPerChunk) {
  ASRP_ASSERT(kept_ > 0);
  std::vector<const EpochMember*> order;
  for (const EpochMember& m : epoch.members) {
    if (m.weight != 0) order.push_back(&m);
  }
  static_assert(kMaxEpochMembers < kNone);
  ASRP_ASSERT(order.size() <= kMaxEpochMembers);
  std::sort(order.begin(), order.end(), [](const EpochMember* a, const EpochMember* b) { return a->id < b->id; });
  for (const EpochMember* m : order) {
    ids_.push_back(m->id);
    weights_.push_back(m->weight);
    row_hash_->add(hash_id(key_, m->id));
  }
  kept_ = std::min(kept_, std::max<std::size_t>(ids_.size(), 1));
  const auto same = [&](const EpochMember* m) { return m->priority == order.front()->priority; };
  if (!std::all_of(order.begin(), order.end(), same)) {
    for (const EpochMember* m : order) priorities_.push_back(m->priority);
  }
  hashes_.resize(order.size());
  scores_.reserve(order.size() + 1);
}

Ranking::~Ranking() = default;
Ranking::Ranking(Ranking&&) noexcept = default;
Ranking& Ranking::operator=(Ranking&&) noexcept = default;

bool Ranking::better(const Score& a, const Score& b) const {
  if (!priorities_.empty() && priorities_[a.member] != priorities_[b.member])
    return priorities_[a.member] > priorities_[b.member];
  // log < 2^31 and weight < 2^32: the products fit.
  const std::uint64_t left = std::uint64_t{a.log} * weights_[b.member];
  const std::uint64_t right = std::uint64_t{b.log} * weights_[a.member];
  return left != right ? left < right : a.member < b.member;  // members are in the order of their ids
}

void Ranking::order(std::uint16_t row, std::size_t count) const {
  row_hash_->hash(row, hashes_);
  scores_.clear();
  if (count <= kFewRanks) {
    order_few(count);
  } else {
    order_many(count);
  }
}

/// Whether it is worth its logarithm: false only for one that `last` is better than.
bool Ranking::may_be_before(std::size_t member, const Score& last) const {
  if (!priorities_.empty() && priorities_[member] != priorities_[last.member])
    return priorities_[member] > priorities_[last.member];
  const std::uint64_t left = std::uint64_t{least_negative_log2(hashes_[member])} * weights_[last.member];
  return left <= std::uint64_t{last.log} * weights_[member];
}

/// Puts a member where it belongs among the first `count`.
void Ranking::insert(std::size_t member, std::size_t count) const {
  if (scores_.size() == count && !may_be_before(member, scores_.back())) return;
  const Score score{negative_log2(hashes_[member]), static_cast<std::uint16_t>(member)};
  const auto place =
      std::upper_bound(scores_.begin(), scores_.end(), score, [this](const Score& a, const Score& b) { return better(a, b); });
  scores_.insert(place, score);
  if (scores_.size() > count) scores_.pop_back();
}

/// Logarithms only of those that may be among the first.
void Ranking::order_few(std::size_t count) const {
  if (count == 0) return;
  for (std::size_t i = 0; i < ids_.size(); ++i) insert(i, count);
}

void Ranking::order_many(std::size_t count) const {
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    scores_.push_back({negative_log2(hashes_[i]), static_cast<std::uint16_t>(i)});
  }
  const auto middle = scores_.begin() + static_cast<std::ptrdiff_t>(std::min(count, scores_.size()));
  std::partial_sort(scores_.begin(), middle, scores_.end(), [this](const Score& a, const Score& b) { return better(a, b); });
}

std::uint16_t* Ranking::cached(std::uint16_t row) const {
  auto& chunk = chunks_[row / kRowsPerChunk];
  if (!chunk) {
    chunk = std::make_unique<std::uint16_t[]>(kRowsPerChunk * kept_);
    std::fill_n(chunk.get(), kRowsPerChunk * kept_, kNotComputed);
  }
  std::uint16_t* ranks = chunk.get() + row % kRowsPerChunk * kept_;
  if (ranks[0] == kNotComputed) {
    order(row, kept_);
    for (std::size_t i = 0; i < kept_; ++i) ranks[i] = i < scores_.size() ? scores_[i].member : kNone;
  }
  return ranks;
}

std::size_t Ranking::top(std::uint16_t row, std::span<std::uint16_t> out) const {
  const std::size_t count = std::min(out.size(), ids_.size());
  if (count <= kept_) {
    std::copy_n(cached(row), count, out.begin());
  } else {
    order(row, count);
    for (std::size_t i = 0; i < count; ++i) out[i] = scores_[i].member;
  }
  return count;
}

std::optional<std::uint16_t> Ranking::first(std::uint16_t row, std::span<const std::uint8_t> takes_part) const {
  row_hash_->hash(row, hashes_);
  scores_.clear();
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (takes_part[i] != 0) insert(i, 1);
  }
  return scores_.empty() ? std::nullopt : std::optional(scores_.front().member);
}

}  // namespace asrp::policy
