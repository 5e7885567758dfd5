// SPDX-License-Identifier: BSD-3-Clause
// The latest queries of a capture, to find the one that an answer belongs to.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "asrp/base/tuple.hpp"
#include "asrp/wire/message.hpp"

namespace asrp::dump {

/// Who wrote the capture must not be able to make a search long: queries are found by the digest of their header, their cookie,
/// or both, and of those that are alike only the latest few are looked at.
class Queries {
 public:
  struct Query {
    Cookie cookie;
    Tuple header;
    std::uint32_t session = 0;  // the caller's: where its facts are
    std::uint64_t id = 0;
    std::uint64_t place = 0;
  };
  static constexpr std::size_t kKept = 8192;
  static constexpr std::size_t kMostAlike = 16;  // looked at in one search
  /// Latest first; null behind the last.
  using Found = std::array<const Query*, kMostAlike>;

  Queries();
  void add(const Query& query);
  [[nodiscard]] Found with(const Tuple& header, Cookie cookie);
  [[nodiscard]] Found with(const Tuple& header);
  [[nodiscard]] Found with(Cookie cookie);
  /// Queries looked at so far, in all searches.
  [[nodiscard]] std::uint64_t looked_at() const { return looked_at_; }

 private:
  enum Index : std::size_t { kBoth, kHeader, kCookie };
  static constexpr std::size_t kBuckets = 2 * kKept;
  struct Entry {
    Query query;
    std::array<std::uint64_t, 3> older{};  // the one before in the bucket, counted from 1; 0: none
  };
  static std::size_t bucket_of(const std::optional<Tuple>& header, std::optional<Cookie> cookie);
  Found search(Index index, const std::optional<Tuple>& header, std::optional<Cookie> cookie);

  std::vector<Entry> ring_;
  std::array<std::vector<std::uint64_t>, 3> newest_;
  std::uint64_t count_ = 0;
  std::uint64_t looked_at_ = 0;
};

}  // namespace asrp::dump
