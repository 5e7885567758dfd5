// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/member_selection.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "asrp/base/assert.hpp"
#include "policy/ranked_draw.hpp"

namespace asrp::policy {
namespace {

constexpr std::uint32_t kFullLoad = 0xffffffff;
constexpr std::size_t kMostMembers = 65535;  // indexes have 16 bits
constexpr int kMostDraws = 64;               // of a source of randomness that always says the same

constexpr auto kAnyone = [](std::uint16_t) { return true; };
constexpr auto kEqually = [](std::uint16_t) { return std::uint64_t{1}; };

bool same_settings(const SelectionMember& a, const SelectionMember& b) {
  return a.weight == b.weight && a.priority == b.priority && a.degradation == b.degradation;
}

}  // namespace

MemberSelector::MemberSelector(SelectionPolicy policy, RandomSource& random, Duration load_age)
    : policy_(policy), random_(&random), load_age_(load_age) {}

MemberSelector MemberSelector::copy_with(RandomSource& random) const {
  MemberSelector copy = *this;
  copy.random_ = &random;
  return copy;
}

void MemberSelector::set_members(std::span<const SelectionMember> members) {
  ASRP_ASSERT(members.size() <= kMostMembers);
  std::vector<std::uint16_t> order(members.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint16_t>(i);
  std::sort(order.begin(), order.end(), [&](std::uint16_t a, std::uint16_t b) { return members[a].id < members[b].id; });

  std::vector<Member> next(members.size());
  std::vector<std::int32_t> from(members.size(), -1);
  std::size_t former = 0;  // both lists are walked in the order of ids
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const SelectionMember& given = members[order[rank]];
    Member& member = next[order[rank]];
    while (former < by_id_.size() && members_[by_id_[former]].settings.id < given.id) ++former;
    if (former < by_id_.size() && members_[by_id_[former]].settings.id == given.id) {
      member = members_[by_id_[former]];
      from[order[rank]] = by_id_[former];
      if (!same_settings(member.settings, given)) member.sessions = 0;  // as if registered again
    } else {
      member.last_turn = turns_;
    }
    member.settings = given;
    member.id_rank = static_cast<std::uint16_t>(rank);
  }
  members_ = std::move(next);
  by_id_ = std::move(order);
  rotation_.reshape(from);
  usable_weight_ = 0;
  for (const Member& member : members_) usable_weight_ += member.settings.usable ? member.settings.weight : 0;
  for (std::size_t i = 0; i < members_.size(); ++i) update_seat(i);
}

void MemberSelector::update_seat(std::size_t member) {
  const SelectionMember& settings = members_[member].settings;
  const std::uint32_t turns = policy_ == SelectionPolicy::weighted_round_robin ? settings.weight : 1;
  rotation_.set_weight(member, settings.usable && settings.weight != 0 ? turns : 0);
}

void MemberSelector::set_usable(std::size_t member, bool usable) {
  SelectionMember& settings = members_[member].settings;
  if (settings.usable == usable) return;
  settings.usable = usable;
  usable_weight_ = usable ? usable_weight_ + settings.weight : usable_weight_ - settings.weight;
  update_seat(member);
}

void MemberSelector::report_load(TimePoint now, std::size_t member, std::uint32_t load) {
  members_[member].load = load;
  members_[member].reported = now;
  members_[member].sessions = 0;
}

void MemberSelector::take_loads(const MemberSelector& other) {
  auto from = other.by_id_.begin();  // both lists are walked in the order of ids
  for (const std::uint16_t index : by_id_) {
    Member& member = members_[index];
    while (from != other.by_id_.end() && other.members_[*from].settings.id < member.settings.id) ++from;
    if (from == other.by_id_.end()) return;
    const Member& known = other.members_[*from];
    if (member.load || known.settings.id != member.settings.id) continue;
    member.load = known.load;
    member.reported = known.reported;
    member.sessions = known.sessions;
  }
}

std::optional<std::uint32_t> MemberSelector::load(TimePoint now, std::size_t member) const {
  const Member& m = members_[member];
  return m.load && now - m.reported <= load_age_ ? m.load : std::nullopt;
}

/// May still be chosen, in this selection.
bool MemberSelector::free(std::uint16_t member) const {
  const Member& m = members_[member];
  return m.settings.usable && m.settings.weight != 0 && m.taken != selections_;
}

/// What least used and its kin compare. Precondition: a load was reported.
std::uint32_t MemberSelector::value(std::uint16_t member) const {
  const Member& m = members_[member];
  std::uint64_t value = *m.load;
  if (policy_ == SelectionPolicy::priority_least_used) value += m.settings.degradation;
  // The product and the load fit: (2^32 - 1)^2 + 2^32 - 1 is less than 2^64.
  if (policy_ == SelectionPolicy::least_used_degradation) value += std::uint64_t{m.sessions} * m.settings.degradation;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, kFullLoad));
}

/// Round robin between equals.
bool MemberSelector::earlier(std::uint16_t a, std::uint16_t b) const {
  const Member& one = members_[a];
  const Member& two = members_[b];
  return one.last_turn != two.last_turn ? one.last_turn < two.last_turn : one.id_rank < two.id_rank;
}

MemberSelector::Choice MemberSelector::first_usable(Candidates candidates) const {
  for (const std::uint16_t c : candidates) {
    if (free(c)) return c;
  }
  return std::nullopt;
}

MemberSelector::Choice MemberSelector::highest_priority(Candidates candidates) const {
  Choice best;
  for (const std::uint16_t c : candidates) {
    if (free(c) && (!best || members_[c].settings.priority > members_[*best].settings.priority)) best = c;
  }
  return best;
}

/// In the rotation, of those that `fits` allows.
template <typename Fits>
MemberSelector::Choice MemberSelector::next_turn(Candidates candidates, Fits fits) const {
  Choice best;
  for (const std::uint16_t c : candidates) {
    if (!free(c) || !fits(c)) continue;
    if (!best || rotation_.before(c, *best) || (!rotation_.before(*best, c) && earlier(c, *best))) best = c;
  }
  return best;
}

/// Among those with a known load.
MemberSelector::Choice MemberSelector::least_used(TimePoint now, Candidates candidates) const {
  Choice best;
  for (const std::uint16_t c : candidates) {
    if (!free(c) || !load(now, c)) continue;
    if (!best || value(c) < value(*best) || (value(c) == value(*best) && earlier(c, *best))) best = c;
  }
  return best;
}

/// Chooses with the probability weight / sum of weights; nothing if that sum is 0.
template <typename Weight>
MemberSelector::Choice MemberSelector::draw(Candidates candidates, Weight weight) {
  std::uint64_t sum = 0;  // at most 65 535 weights of 32 bits
  for (const std::uint16_t c : candidates) {
    if (free(c)) sum += weight(c);
  }
  if (sum == 0) return std::nullopt;
  std::uint64_t at = below(sum);
  for (const std::uint16_t c : candidates) {
    if (!free(c)) continue;
    const std::uint64_t share = weight(c);
    if (at < share) return c;
    at -= share;
  }
  return std::nullopt;
}

/// By weight among the first ranks of a weighted ranking.
MemberSelector::Choice MemberSelector::draw_ranked(Candidates candidates) {
  std::array<std::uint16_t, kMaxRankedDraw> able;
  std::array<std::uint32_t, kMaxRankedDraw> weights;
  std::size_t count = 0;
  for (const std::uint16_t c : candidates) {
    if (!free(c)) continue;
    weights[count] = members_[c].settings.weight;
    able[count++] = c;
  }
  if (count == 0) return std::nullopt;
  const Shares shares = first_rank_shares(std::span(weights).first(count), usable_weight_);
  std::uint64_t at = below(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}));
  std::size_t i = 0;
  while (at >= shares[i]) at -= shares[i++];
  return able[i];
}

/// Uniform in [0, bound).
std::uint64_t MemberSelector::below(std::uint64_t bound) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t whole = most - most % bound;  // a multiple of bound
  std::uint64_t number = random_->u64();
  for (int draws = 1; number >= whole && draws < kMostDraws; ++draws) number = random_->u64();
  return number % bound;
}

MemberSelector::Choice MemberSelector::adaptive(TimePoint now, Candidates candidates, bool first) {
  const auto unknown = [&](std::uint16_t c) { return !load(now, c); };
  const bool any_unknown = std::any_of(candidates.begin(), candidates.end(), [&](auto c) { return free(c) && unknown(c); });
  if (first && any_unknown) {
    // Whose turn would it be in round robin? Those of unknown load take theirs, the others leave it to the policy.
    const Choice turn = next_turn(candidates, kAnyone);
    rotation_.charge(*turn);
    if (unknown(*turn)) return turn;
  }
  Choice best;
  if (policy_ == SelectionPolicy::randomized_least_used) {
    best = draw(candidates, [&](std::uint16_t c) { return std::uint64_t{kFullLoad} - load(now, c).value_or(kFullLoad); });
    if (!best && first && !any_unknown) best = draw(candidates, kEqually);
  } else {
    best = least_used(now, candidates);
  }
  return best ? best : next_turn(candidates, unknown);
}

/// `first`: the one that counts as used in the rotation.
MemberSelector::Choice MemberSelector::pick(TimePoint now, Candidates candidates, bool first) {
  switch (policy_) {
    case SelectionPolicy::hash:
      return first_usable(candidates);
    case SelectionPolicy::round_robin:
    case SelectionPolicy::weighted_round_robin: {
      const Choice turn = next_turn(candidates, kAnyone);
      if (first && turn) rotation_.charge(*turn);
      return turn;
    }
    case SelectionPolicy::random:
      return draw(candidates, kEqually);
    case SelectionPolicy::weighted_random:
      return draw(candidates, [this](std::uint16_t c) { return std::uint64_t{members_[c].settings.weight}; });
    case SelectionPolicy::priority:
      return highest_priority(candidates);
    case SelectionPolicy::least_used:
    case SelectionPolicy::least_used_degradation:
    case SelectionPolicy::priority_least_used:
    case SelectionPolicy::randomized_least_used:
      return adaptive(now, candidates, first);
  }
  return std::nullopt;
}

void MemberSelector::use(std::uint16_t member, bool first) {
  Member& m = members_[member];
  if (first) m.last_turn = ++turns_;
  if (m.sessions != std::numeric_limits<std::uint32_t>::max()) ++m.sessions;
  m.taken = selections_;
}

std::size_t MemberSelector::select(TimePoint now, Candidates candidates, std::span<std::uint16_t> out) {
  rotation_.settle();
  ++selections_;
  std::size_t count = 0;
  while (count < out.size()) {
    const Choice choice = pick(now, candidates, count == 0);
    if (!choice) break;
    use(*choice, count == 0);
    out[count++] = *choice;
  }
  return count;
}

std::optional<std::uint16_t> MemberSelector::choose(TimePoint now, Candidates candidates) {
  rotation_.settle();
  ++selections_;
  const bool ranked = policy_ == SelectionPolicy::weighted_random && candidates.size() <= kMaxRankedDraw;
  const Choice choice = ranked ? draw_ranked(candidates) : pick(now, candidates, true);
  if (choice) use(*choice, true);
  return choice;
}

}  // namespace asrp::policy
