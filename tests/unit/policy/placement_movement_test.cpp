// SPDX-License-Identifier: BSD-3-Clause
// How much of the new sessions moves when a pool changes: over all rows, against the least that the change needs, which follows
// from the weights alone: the sum of what servers gain in share.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "asrp/policy/placement.hpp"
#include "support/seeded_random.hpp"

using namespace asrp;
using namespace asrp::policy;

namespace {

using Shares = std::map<std::string, double>;

Epoch random_epoch(test::SeededRandom& random) {
  Epoch epoch;
  random.fill(epoch.key);
  const std::size_t count = 2 + random.below(11);
  for (std::size_t i = 0; i < count; ++i)
    epoch.members.push_back({"server-" + std::to_string(i), static_cast<std::uint32_t>(1 + random.below(8))});
  return epoch;
}

std::vector<std::string> owners(const Epoch& epoch) {
  const Ranking ranking(epoch);
  std::vector<std::string> out(kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    std::uint16_t first = 0;
    ranking.top(static_cast<std::uint16_t>(row), std::span(&first, 1));
    out[row] = ranking.id(first);
  }
  return out;
}

Shares shares(const Epoch& epoch) {
  double sum = 0;
  for (const EpochMember& member : epoch.members) sum += member.weight;
  Shares out;
  for (const EpochMember& member : epoch.members) out[member.id] = member.weight / sum;
  return out;
}

/// The least share of new sessions that must go elsewhere.
double least(const Epoch& before, const Epoch& after) {
  const Shares old = shares(before);
  double sum = 0;
  for (const auto& [id, share] : shares(after)) {
    const auto found = old.find(id);
    sum += std::max(0.0, share - (found == old.end() ? 0.0 : found->second));
  }
  return sum;
}

struct Movement {
  double share = 0;  // of all rows
  std::set<std::string> from;
  std::set<std::string> to;
};

Movement movement(const Epoch& before, const Epoch& after) {
  const std::vector<std::string> old = owners(before);
  const std::vector<std::string> now = owners(after);
  Movement out;
  for (std::size_t row = 0; row < kRows; ++row) {
    if (old[row] == now[row]) continue;
    out.share += 1.0 / kRows;
    out.from.insert(old[row]);
    out.to.insert(now[row]);
  }
  return out;
}

}  // namespace

TEST_CASE("movement: a server that joins takes its share from all, and nothing else moves") {
  test::SeededRandom random(1);
  for (int i = 0; i < 10; ++i) {
    const Epoch before = random_epoch(random);
    Epoch after = before;
    after.members.push_back({"new", static_cast<std::uint32_t>(1 + random.below(8))});
    const Movement moved = movement(before, after);
    CHECK(moved.to == std::set<std::string>{"new"});
    CHECK(moved.share <= 1.2 * least(before, after));
  }
}

TEST_CASE("movement: a server that leaves gives its share to all, and nothing else moves") {
  test::SeededRandom random(2);
  for (int i = 0; i < 10; ++i) {
    const Epoch before = random_epoch(random);
    Epoch after = before;
    const std::size_t leaver = random.below(after.members.size());
    const std::string id = after.members[leaver].id;
    after.members.erase(after.members.begin() + static_cast<std::ptrdiff_t>(leaver));
    const Movement moved = movement(before, after);
    CHECK(moved.from == std::set<std::string>{id});
    CHECK(moved.share <= 1.2 * least(before, after));
  }
}

TEST_CASE("movement: a weight that changes moves what that server gains or loses, and nothing else") {
  test::SeededRandom random(3);
  int judged = 0;
  while (judged < 20) {
    const Epoch before = random_epoch(random);
    Epoch after = before;
    EpochMember& member = after.members[random.below(after.members.size())];
    const std::uint32_t was = member.weight;
    member.weight = static_cast<std::uint32_t>(random.below(9));
    if (member.weight == was) continue;
    const Movement moved = movement(before, after);
    if (member.weight > was) {
      CHECK(moved.to == std::set<std::string>{member.id});
    } else {
      CHECK(moved.from == std::set<std::string>{member.id});
    }
    // Of a change of less than a hundredth, chance makes more than a fifth.
    if (least(before, after) >= 0.01) CHECK(moved.share <= 1.2 * least(before, after));
    ++judged;
  }
}

TEST_CASE("movement: a new key moves nearly all: it is no small change") {
  test::SeededRandom random(4);
  Epoch before = random_epoch(random);
  before.members.resize(2);
  before.members.push_back({"third", before.members[0].weight});
  Epoch after = before;
  random.fill(after.key);
  CHECK(movement(before, after).share > 0.3);
}
