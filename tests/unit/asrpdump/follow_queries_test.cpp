// SPDX-License-Identifier: BSD-3-Clause
#include "report/follow_queries.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::test;
using asrp::dump::Queries;

namespace {

/// As many as are kept, no two alike: some share their place in an index.
Tuple header_of(std::uint64_t n) {
  return udp_tuple("10.9.0." + std::to_string(n / 1024) + ":" + std::to_string(1024 + n % 1024), "10.0.0.1:51200");
}
Cookie cookie_of(std::uint64_t n) { return Cookie{static_cast<std::uint32_t>(n + 1)}; }

void add(Queries& queries, std::uint64_t n, std::uint64_t id) { queries.add({cookie_of(n), header_of(n), 0, id, 0}); }

std::vector<std::uint64_t> ids(const Queries::Found& found) {
  std::vector<std::uint64_t> list;
  const auto end = std::find(found.begin(), found.end(), nullptr);
  for (auto it = found.begin(); it != end; ++it) list.push_back((*it)->id);
  return list;
}

using Ids = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("each query is found by its header, its cookie, and both, and no other one is") {
  Queries queries;
  for (std::uint64_t n = 0; n < Queries::kKept; ++n) add(queries, n, n);
  std::size_t wrong = 0;
  for (std::uint64_t n = 0; n < Queries::kKept; ++n) {
    const Ids want{n};
    wrong += ids(queries.with(header_of(n))) != want;
    wrong += ids(queries.with(cookie_of(n))) != want;
    wrong += ids(queries.with(header_of(n), cookie_of(n))) != want;
  }
  CHECK(wrong == 0);
  CHECK(ids(queries.with(header_of(1), cookie_of(2))).empty());
}

TEST_CASE("the latest of those that are alike come first, and no more than are looked at") {
  Queries queries;
  for (std::uint64_t id = 1; id <= 3; ++id) add(queries, 7, id);
  CHECK(ids(queries.with(header_of(7))) == Ids{3, 2, 1});
  for (std::uint64_t id = 4; id <= 40; ++id) add(queries, 7, id);
  const Ids found = ids(queries.with(cookie_of(7)));
  CHECK(found.size() == Queries::kMostAlike);
  CHECK(found.front() == 40);
  CHECK(found.back() == 40 - Queries::kMostAlike + 1);
}

TEST_CASE("what is older than the queries that are kept is gone, and what took its place is found once") {
  Queries queries;
  add(queries, 0, 1);
  for (std::uint64_t n = 1; n < Queries::kKept; ++n) add(queries, n, 2);
  CHECK(ids(queries.with(header_of(0))) == Ids{1});
  add(queries, 0, 3);
  CHECK(ids(queries.with(header_of(0))) == Ids{3});
  add(queries, 5, 4);
  CHECK(ids(queries.with(header_of(1))).empty());
}
