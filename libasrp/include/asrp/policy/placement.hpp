// SPDX-License-Identifier: BSD-3-Clause
// Weighted rendezvous hashing over the rows of one epoch (decision 11): which servers a flow ranks first. Integers only; the
// same on every machine, whatever the order in which the members were given.
//
// Version 1, which a release never changes:
//   row     = upper 16 bits of SipHash(key, 'R' protocol client-side tuple)
//   id hash = SipHash(key, 'I' id)
//   h       = SipHash(key, 'M' id hash, row)
//   score   = -log2(h / 2^64) in units of 2^-24, divided by the weight; smaller is better; compared by cross-multiplication;
//             ties go to the smaller id
// Members of a higher priority come before all others, whatever the scores. An epoch in which all have the same has the order
// that it would have without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "asrp/base/tuple.hpp"
#include "asrp/policy/epoch.hpp"

namespace asrp::policy {

inline constexpr std::uint8_t kPlacementVersion = 1;
inline constexpr std::size_t kRows = 65536;

/// The row of a flow under a placement key.
std::uint16_t placement_row(const HashKey& key, const Tuple& client_side);

/// -log2(h / 2^64) in units of 2^-24, at least 1; h = 0 counts as 1.
std::uint32_t negative_log2(std::uint64_t h);

class RowHash;

/// The order of an epoch's members in each row. Not thread-safe: rows are computed when first asked for, and kept.
class Ranking {
 public:
  /// Members of weight 0 take no part. `kept`: how many ranks of a row are kept once they have been asked for; 128 KiB each if
  /// every row is in use. Precondition: fewer than 65 535 members, at least one rank.
  explicit Ranking(const Epoch& epoch, std::size_t kept = 4);
  ~Ranking();
  Ranking(Ranking&&) noexcept;
  Ranking& operator=(Ranking&&) noexcept;

  [[nodiscard]] const HashKey& key() const { return key_; }
  /// Members that take part, in the order of their ids; ranks are indexes into it.
  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  [[nodiscard]] const std::string& id(std::size_t member) const { return ids_[member]; }

  /// Fills `out` with members of `row`, best first; returns how many there are (all, if `out` is large enough).
  std::size_t top(std::uint16_t row, std::span<std::uint16_t> out) const;
  /// The first of those members of `row` that have a part, or nothing: what is ranked before them costs no sorting.
  /// Precondition: a flag for each member, 0: no part.
  [[nodiscard]] std::optional<std::uint16_t> first(std::uint16_t row, std::span<const std::uint8_t> takes_part) const;

 private:
  struct Score {
    std::uint32_t log;
    std::uint16_t member;
  };
  static constexpr std::size_t kRowsPerChunk = 256;

  [[nodiscard]] bool better(const Score& a, const Score& b) const;
  void order(std::uint16_t row, std::size_t count) const;
  [[nodiscard]] bool may_be_before(std::size_t member, const Score& last) const;
  void insert(std::size_t member, std::size_t count) const;
  void order_few(std::size_t count) const;
  void order_many(std::size_t count) const;
  std::uint16_t* cached(std::uint16_t row) const;

  HashKey key_;
  std::size_t kept_;
  std::vector<std::string> ids_;           // in order
  std::vector<std::uint32_t> weights_;     // apart: a cold row reads all of them
  std::vector<std::uint32_t> priorities_;  // empty: all have the same
  std::unique_ptr<RowHash> row_hash_;
  mutable std::vector<std::uint64_t> hashes_;  // of the row that is being ordered
  mutable std::vector<Score> scores_;          // the first of them are in order
  mutable std::vector<std::unique_ptr<std::uint16_t[]>> chunks_;
};

}  // namespace asrp::policy
