// SPDX-License-Identifier: BSD-3-Clause
#include "policy/row_hash.hpp"

#include <doctest/doctest.h>

#include "asrp/policy/keyed_hash.hpp"
#include "support/seeded_random.hpp"

using namespace asrp;
using namespace asrp::policy;

TEST_CASE("all members at once hash as one by one with libsodium, for any number of members, key and row [spec 3.5.3-1]") {
  test::SeededRandom random(1);
  for (std::size_t members = 0; members < 70; ++members) {
    HashKey key;
    random.fill(key);
    RowHash hashes(key);
    std::vector<std::uint64_t> ids;
    for (std::size_t i = 0; i < members; ++i) hashes.add(ids.emplace_back(random.next()));
    REQUIRE(hashes.size() == members);
    for (const std::uint16_t row : {std::uint16_t{0}, std::uint16_t{0xffff}, static_cast<std::uint16_t>(random.next())}) {
      std::vector<std::uint64_t> found(members + 1, 7);
      hashes.hash(row, std::span(found).first(members));
      CHECK(found.back() == 7);
      for (std::size_t i = 0; i < members; ++i) {
        HashInput input(HashUse::member);
        input.u64(ids[i]);
        input.u16(row);
        CHECK(found[i] == input.hash(key));
      }
    }
  }
}
