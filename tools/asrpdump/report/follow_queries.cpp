// SPDX-License-Identifier: BSD-3-Clause
#include "report/follow_queries.hpp"

#include "report/follow_seen.hpp"

namespace asrp::dump {

Queries::Queries() : ring_(kKept) {
  for (auto& index : newest_) index.resize(kBuckets);
}

std::size_t Queries::bucket_of(const std::optional<Tuple>& header, std::optional<Cookie> cookie) {
  const std::uint64_t tuple = header ? digest_of(*header) : 0;
  std::array<std::uint8_t, 12> key{};
  store_u32(key, 0, static_cast<std::uint32_t>(tuple >> 32));
  store_u32(key, 4, static_cast<std::uint32_t>(tuple));
  if (cookie) store_u32(key, 8, cookie->value);
  return digest_of(key) % kBuckets;
}

void Queries::add(const Query& query) {
  Entry& entry = ring_[count_ % kKept];
  entry.query = query;
  ++count_;
  const std::array<std::size_t, 3> buckets = {bucket_of(query.header, query.cookie), bucket_of(query.header, {}),
                                              bucket_of({}, query.cookie)};
  for (std::size_t index = 0; index < buckets.size(); ++index) {
    std::uint64_t& newest = newest_[index][buckets[index]];
    entry.older[index] = newest;
    newest = count_;
  }
}

Queries::Found Queries::search(Index index, const std::optional<Tuple>& header, std::optional<Cookie> cookie) {
  Found found{};
  std::size_t size = 0;
  std::uint64_t at = newest_[index][bucket_of(header, cookie)];
  for (std::size_t i = 0; i < kMostAlike && at != 0 && at + kKept > count_; ++i) {
    const Entry& entry = ring_[(at - 1) % kKept];
    ++looked_at_;
    if ((!header || entry.query.header == *header) && (!cookie || entry.query.cookie == *cookie)) found[size++] = &entry.query;
    at = entry.older[index];
  }
  return found;
}

Queries::Found Queries::with(const Tuple& header, Cookie cookie) { return search(kBoth, header, cookie); }
Queries::Found Queries::with(const Tuple& header) { return search(kHeader, header, {}); }
Queries::Found Queries::with(Cookie cookie) { return search(kCookie, {}, cookie); }

}  // namespace asrp::dump
