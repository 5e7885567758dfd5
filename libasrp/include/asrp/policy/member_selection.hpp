// SPDX-License-Identifier: BSD-3-Clause
// Which member of a pool a new session goes to, by one of the policies of RFC 5356 or by `hash`. The caller says among which: a
// flow's deterministic candidates, so that recovery finds the holder (decision 11), or everyone. Time and randomness are
// passed in; the same inputs give the same choices. Choosing allocates nothing.
//
// Where the RFC leaves something open:
//   - A member that is not usable, or of weight 0 ("can't provide any service", RFC 5356 3.2), is chosen by no policy.
//   - The rotation is one of ids, not of positions: a member that stays keeps its place in it, whatever comes and goes.
//     One that comes begins at its due; it neither catches up nor waits longer than the others. See rotation.hpp.
//   - `priority`: of equals the first in the caller's order, so that all nodes agree (decision 29). Where the RFC has
//     round robin between equals (least used and its kin), the one whose last session came earliest, then the smaller id.
//   - An unknown load (none reported yet, or too old) doesn't compete: a member that has one gets the share that round robin
//     would give it, and the policy divides the rest among the others. If no load is known, that is round robin.
//   - `randomized-least-used`: a fully loaded member is never chosen (the RFC's probability is 0) unless all are; then any.
//   - Loads and sums of loads saturate at 0xffffffff.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "asrp/base/random.hpp"
#include "asrp/base/time.hpp"
#include "asrp/policy/rotation.hpp"
#include "asrp/policy/selection_policy.hpp"

namespace asrp::policy {

/// A member as configured; known by its index in the list given to MemberSelector.
struct SelectionMember {
  std::string id;
  std::uint32_t weight = 1;
  std::uint32_t priority = 0;     // larger is higher
  std::uint32_t degradation = 0;  // load that one more session adds: of 0xffffffff
  bool usable = true;
};

class MemberSelector {
 public:
  /// A load older than `load_age` is unknown. `random` must live as long as this.
  MemberSelector(SelectionPolicy policy, RandomSource& random, Duration load_age);

  /// The same members, turns and loads with another source of randomness: to see what would be chosen.
  [[nodiscard]] MemberSelector copy_with(RandomSource& random) const;
  void set_load_age(Duration load_age) { load_age_ = load_age; }
  /// Replaces the members; what is known of those whose id stays is kept. An id must be there once. At most 65 535.
  void set_members(std::span<const SelectionMember> members);
  /// Fills in loads that are unknown here with what `other` has been told of members of the same ids: it is the selector of the
  /// same pool under another policy, or of another of the pool's services.
  void take_loads(const MemberSelector& other);
  /// Health and drain: whether a member may be chosen.
  void set_usable(std::size_t member, bool usable);
  /// A load report that came at `now`; begins a new count of sessions for degradation (RFC 5356 5.2.2: re-registration).
  void report_load(TimePoint now, std::size_t member, std::uint32_t load);

  [[nodiscard]] SelectionPolicy policy() const { return policy_; }
  [[nodiscard]] std::size_t size() const { return members_.size(); }
  /// All members, in the order of their ids.
  [[nodiscard]] std::span<const std::uint16_t> everyone() const { return by_id_; }
  /// The load that the policy goes by: as reported, or nothing if it is unknown.
  [[nodiscard]] std::optional<std::uint32_t> load(TimePoint now, std::size_t member) const;

  /// Chooses one of `candidates` for a new session; nothing if none of them can be. `candidates`: all members, or the first
  /// ranks of a flow where members of equal weight are ranked alike; no member twice. For `weighted-random` they must be ranked
  /// by weight, as Pool::ranks does: see policy/ranked_draw.hpp.
  std::optional<std::uint16_t> choose(TimePoint now, std::span<const std::uint16_t> candidates);

  /// Chooses up to `out.size()` of `candidates`, none twice, in the policy's order: the reply to a handle resolution of RFC
  /// 5356. Returns how many. Only the first counts as used in a rotation, for the head advances by one; each counts for
  /// degradation.
  std::size_t select(TimePoint now, std::span<const std::uint16_t> candidates, std::span<std::uint16_t> out);

 private:
  struct Member {
    SelectionMember settings;
    std::uint16_t id_rank = 0;
    std::optional<std::uint32_t> load;
    TimePoint reported{};
    std::uint32_t sessions = 0;   // chosen since the last report
    std::uint64_t last_turn = 0;  // when it was last chosen, counted in choices; 0: never
    std::uint64_t taken = 0;      // by the selection of that number
  };
  using Candidates = std::span<const std::uint16_t>;
  using Choice = std::optional<std::uint16_t>;

  [[nodiscard]] bool free(std::uint16_t member) const;
  [[nodiscard]] std::uint32_t value(std::uint16_t member) const;
  [[nodiscard]] bool earlier(std::uint16_t a, std::uint16_t b) const;
  void update_seat(std::size_t member);

  void use(std::uint16_t member, bool first);
  Choice draw_ranked(Candidates candidates);
  Choice pick(TimePoint now, Candidates candidates, bool first);
  [[nodiscard]] Choice first_usable(Candidates candidates) const;
  [[nodiscard]] Choice highest_priority(Candidates candidates) const;
  template <typename Fits>
  [[nodiscard]] Choice next_turn(Candidates candidates, Fits fits) const;
  [[nodiscard]] Choice least_used(TimePoint now, Candidates candidates) const;
  Choice adaptive(TimePoint now, Candidates candidates, bool first);
  template <typename Weight>
  Choice draw(Candidates candidates, Weight weight);
  std::uint64_t below(std::uint64_t bound);

  SelectionPolicy policy_;
  RandomSource* random_;
  Duration load_age_;
  std::vector<Member> members_;
  std::vector<std::uint16_t> by_id_;
  Rotation rotation_;
  std::uint64_t usable_weight_ = 0;  // of all that may be chosen
  std::uint64_t turns_ = 0;
  std::uint64_t selections_ = 0;
};

}  // namespace asrp::policy
