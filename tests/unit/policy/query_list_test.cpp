// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/query_list.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::policy;
using asrp::test::endpoint;

namespace {

HashKey key_of(std::uint8_t octet) {
  HashKey key;
  key.fill(octet);
  return key;
}

std::vector<PoolServer> servers(int from, int to) {
  std::vector<PoolServer> list;
  for (int i = from; i <= to; ++i) list.push_back({"s" + std::to_string(i), 1, true, true});
  return list;
}

Epoch epoch(int from, int to, std::uint8_t key = 1) {
  Epoch e;
  e.key = key_of(key);
  for (int i = from; i <= to; ++i) e.members.push_back({"s" + std::to_string(i), 1});
  return e;
}

Tuple flow(int n) {
  return {{IpAddress::v4(0xcb007100 + static_cast<std::uint32_t>(n / 1000)), static_cast<std::uint16_t>(10000 + n % 1000)},
          endpoint("198.51.100.1:80"),
          Protocol::tcp};
}

std::vector<std::string> names(const std::vector<PoolServer>& all, const QueryList& list) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < list.count; ++i) ids.push_back(all[list.servers[i]].id);
  return ids;
}

}  // namespace

TEST_CASE("the list begins with where the session goes, and is the same for any order of servers [spec 3.5.3-1]") {
  auto one = servers(1, 10);
  auto two = one;
  std::reverse(two.begin(), two.end());
  const Pool a(one, key_of(1), {}, 2);
  const Pool b(two, key_of(1), {}, 2);
  for (int n = 0; n < 10000; ++n) {
    const QueryList list = a.query(flow(n));
    std::uint16_t first = 0;
    REQUIRE(a.ranks(flow(n), {&first, 1}) == 1);
    CHECK(list.servers[0] == first);
    CHECK(list.first_round == 2);
    CHECK(names(one, list) == names(two, b.query(flow(n))));
  }
}

TEST_CASE("after a join the former owner is asked, right behind the present one's ranks [spec 3.5.3-2]") {
  const auto now = servers(1, 11);
  const Epoch past[] = {epoch(1, 10)};
  const Pool pool(now, key_of(1), past, 1);
  const Pool before(servers(1, 10), key_of(1), {}, 1);
  int moved = 0;
  for (int n = 0; n < 5000; ++n) {
    const QueryList list = pool.query(flow(n));
    std::uint16_t former = 0;
    before.ranks(flow(n), {&former, 1});
    const auto ids = names(now, list);
    const std::string owner = "s" + std::to_string(former + 1);
    CHECK(std::find(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(list.first_round), owner) !=
          ids.begin() + static_cast<std::ptrdiff_t>(list.first_round));
    const bool changed = pool.owner_changed(flow(n));
    CHECK(changed == (ids[0] != owner));
    CHECK(list.first_round == (changed ? 2 : 1));
    moved += changed;
  }
  CHECK(moved > 5000 / 11 / 2);
  CHECK(moved < 5000 / 11 * 2);
}

TEST_CASE("a former owner of another placement key is found by that key's row") {
  const auto now = servers(1, 10);
  const Epoch past[] = {epoch(1, 10, 7)};
  const Pool pool(now, key_of(1), past, 1);
  const Pool before(now, key_of(7), {}, 1);
  for (int n = 0; n < 1000; ++n) {
    std::uint16_t former = 0;
    before.ranks(flow(n), {&former, 1});
    const QueryList list = pool.query(flow(n));
    const auto end = list.servers.begin() + static_cast<std::ptrdiff_t>(list.first_round);
    CHECK(std::find(list.servers.begin(), end, former) != end);
  }
}

TEST_CASE("no server twice, eight in the first round, what was cut and the next ranks in the second [spec 3.5.3-3]") {
  const auto now = servers(1, 60);
  std::vector<Epoch> past;
  for (int e = 0; e < 12; ++e) past.push_back(epoch(1 + 4 * e, 8 + 4 * e));
  const Pool pool(now, key_of(1), past, 2);
  bool any_cut = false;
  for (int n = 0; n < 1000; ++n) {
    const QueryList list = pool.query(flow(n));
    CHECK(list.first_round <= 8);
    CHECK(list.count <= 16);
    CHECK(list.count == 16);
    const auto ids = names(now, list);
    CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == ids.size());
    any_cut = any_cut || list.cut;
  }
  CHECK(any_cut);
}

TEST_CASE("servers that are joining are asked but get nothing new; disabled and removed ones neither") {
  auto now = servers(1, 4);
  now[1].ranked = false;                   // joining
  now[2].ranked = now[2].queried = false;  // disabled
  const Epoch past[] = {epoch(1, 9)};      // 5 to 9 are not configured any more
  const Pool pool(now, key_of(1), past, 4);
  bool joining_asked = false;
  for (int n = 0; n < 500; ++n) {
    std::uint16_t ranks[8];
    const std::size_t count = pool.ranks(flow(n), ranks);
    CHECK(count == 2);
    for (std::size_t i = 0; i < count; ++i) CHECK((ranks[i] == 0 || ranks[i] == 3));
    const QueryList list = pool.query(flow(n));
    for (std::size_t i = 0; i < list.count; ++i) {
      CHECK(list.servers[i] != 2);
      joining_asked = joining_asked || list.servers[i] == 1;
    }
  }
  CHECK(joining_asked);
}

TEST_CASE("a list of exactly eight is not cut, one of nine is; a pool that takes nobody new has an owner that was") {
  auto now = servers(1, 9);
  for (std::size_t i = 2; i < now.size(); ++i) now[i].weight = 0;
  std::vector<Epoch> past = {epoch(3, 4), epoch(5, 6), epoch(7, 8)};
  const QueryList eight = Pool(now, key_of(1), past, 2).query(flow(1));
  CHECK(eight.first_round == 8);
  CHECK_FALSE(eight.cut);
  past.push_back(epoch(9, 9));
  const QueryList nine = Pool(now, key_of(1), past, 2).query(flow(1));
  CHECK(nine.first_round == 8);
  CHECK(nine.count == 9);
  CHECK(nine.cut);
  for (PoolServer& server : now) server.weight = 0;
  const Pool nobody(now, key_of(1), past, 2);
  CHECK(nobody.owner_changed(flow(1)));
  const auto former = nobody.former_owner(flow(1));
  REQUIRE(former);
  CHECK((*former == 2 || *former == 3));
}

TEST_CASE(
    "each server's claim: a rank of today's pool, of the coming one, or of a former one; only a former one is an owner "
    "before") {
  auto now = servers(1, 6);
  now.push_back({"s7", 1, false, true});   // joining
  now.push_back({"s8", 9, false, false});  // disabled: it takes no place in any pool
  Epoch past[] = {epoch(1, 5), epoch(1, 4)};
  past[1].members.push_back({"s2x", 1});  // removed since
  sort_members(past[1]);
  auto oldest = servers(1, 4);
  oldest.push_back({"s2x", 1, true, true});
  const Pool pool(now, key_of(1), past, 2);
  const Pool coming(servers(1, 7), key_of(1), {}, 2);  // of a node that has the change already
  const Pool former(servers(1, 5), key_of(1), {}, 2);
  const Pool older(oldest, key_of(1), {}, 2);
  int of_coming = 0;
  int changed = 0;
  for (int n = 0; n < 3000; ++n) {
    const QueryList list = pool.query(flow(n));
    std::array<std::uint16_t, 2> ranks;  // the servers of all these pools begin with s1
    REQUIRE(coming.ranks(flow(n), ranks) == 2);
    for (const std::uint16_t server : ranks)
      CHECK(std::count(list.servers.begin(), list.servers.begin() + static_cast<std::ptrdiff_t>(list.first_round), server) ==
            1);
    for (std::size_t i = 0; i < list.first_round; ++i) {
      const auto& claim = list.claims[i];
      of_coming += claim.coming;
      CHECK((!claim.coming || claim.epoch == 0));
      const Pool& of = claim.coming ? coming : claim.epoch == 0 ? pool : claim.epoch == 1 ? former : older;
      REQUIRE(of.ranks(flow(n), ranks) == 2);
      CHECK(ranks[claim.rank] == list.servers[i]);
    }
    REQUIRE(pool.ranks(flow(n), ranks) == 2);
    const std::uint16_t owner = ranks[0];
    REQUIRE(former.ranks(flow(n), ranks) == 2);
    CHECK(pool.owner_changed(flow(n)) == (owner != ranks[0]));
    CHECK(pool.former_owner(flow(n)) == (owner != ranks[0] ? std::optional(ranks[0]) : std::nullopt));
    changed += owner != ranks[0];
  }
  CHECK(of_coming > 100);
  CHECK(changed > 100);
}

TEST_CASE("nodes that are one reload apart find each other's sessions (decision 11) [spec 3.5.3-2]") {
  auto before = servers(1, 11);
  before[10].ranked = false;  // s11 is joining here
  const Pool a(before, key_of(1), {}, 2);
  const Epoch past[] = {epoch(1, 10)};
  const Pool b(servers(1, 11), key_of(1), past, 2);  // and active there
  const auto asks = [](const Pool& who, const Tuple& t, std::uint16_t server) {
    const QueryList list = who.query(t);
    const auto end = list.servers.begin() + static_cast<std::ptrdiff_t>(list.first_round);
    return std::find(list.servers.begin(), end, server) != end;
  };
  int at_the_new_one = 0;
  for (int n = 0; n < 5000; ++n) {
    std::uint16_t ranks[2];
    // Each of a node's ranks may have the session: the first, or the next if the first was not usable to it.
    REQUIRE(a.ranks(flow(n), ranks) == 2);
    for (const std::uint16_t server : ranks) CHECK(asks(b, flow(n), server));
    REQUIRE(b.ranks(flow(n), ranks) == 2);
    for (const std::uint16_t server : ranks) CHECK(asks(a, flow(n), server));
    at_the_new_one += ranks[0] == 10;
  }
  CHECK(at_the_new_one > 300);
}

TEST_CASE("health and order of configuration do not matter, members, weights and key do") {
  const Pool base(servers(1, 3), key_of(1), {}, 2);
  auto other = servers(1, 3);
  CHECK(base.same_epoch(Pool(other, key_of(1), {}, 3)));
  std::swap(other[0], other[2]);
  CHECK(base.same_epoch(Pool(other, key_of(1), {}, 2)));
  other[0].weight = 2;
  CHECK_FALSE(base.same_epoch(Pool(other, key_of(1), {}, 2)));
  CHECK_FALSE(base.same_epoch(Pool(servers(1, 4), key_of(1), {}, 2)));
  CHECK_FALSE(base.same_epoch(Pool(servers(1, 3), key_of(2), {}, 2)));
}

TEST_CASE("the best of some servers is the first of them among a flow's ranks") {
  auto now = servers(1, 12);
  now[3].ranked = false;  // joining
  now[5].weight = 0;
  for (std::size_t i = 0; i < now.size(); ++i) now[i].priority = i % 4 == 0;
  const Pool pool(now, key_of(1), {}, 2);
  for (int n = 0; n < 500; ++n) {
    std::uint16_t ranks[12];
    REQUIRE(pool.ranks(flow(n), ranks) == 10);
    CHECK(now[ranks[0]].priority == 1);  // the highest priority is ranked first
    std::vector<std::uint8_t> flags(now.size(), 1);
    const auto skipped = static_cast<std::size_t>(n % 10);
    for (std::size_t i = 0; i < skipped; ++i) flags[ranks[i]] = 0;
    CHECK(pool.best_of(flow(n), flags) == ranks[skipped]);
    std::fill(flags.begin(), flags.end(), std::uint8_t{0});
    flags[3] = flags[5] = 1;  // neither is ranked
    CHECK_FALSE(pool.best_of(flow(n), flags));
  }
}

TEST_CASE("a priority is part of an epoch") {
  auto other = servers(1, 3);
  other[1].priority = 1;
  CHECK_FALSE(Pool(servers(1, 3), key_of(1), {}, 2).same_epoch(Pool(other, key_of(1), {}, 2)));
}

TEST_CASE("an empty pool has nobody to ask") {
  const Pool pool({}, key_of(1), {}, 2);
  CHECK(pool.query(flow(1)).count == 0);
  std::uint16_t rank = 0;
  CHECK(pool.ranks(flow(1), {&rank, 1}) == 0);
  CHECK_FALSE(pool.owner_changed(flow(1)));
  CHECK_FALSE(pool.best_of(flow(1), {}));
}
