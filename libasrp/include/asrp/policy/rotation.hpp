// SPDX-License-Identifier: BSD-3-Clause
// Weighted rotation, evenly spread: whose turn it is among members of which each is due in proportion to its weight
// (RFC 5356 4.1 and 4.2). Used by MemberSelector.
//
// Virtual time advances by 1/(sum of weights) with each turn; a member's turns are 1/weight apart in it, and each has to come
// before the next one is due. Of the members whose turn is due, the one whose time runs out first has it, of equals the
// heavier. As long as the weights don't change, no member is then ever a whole turn away from its due, and two of its turns are
// never twice its spacing apart: each turn is a task with release and deadline, and earliest deadline first meets all of them.
//
// Turns among a part of the members only are served from the same account: who could not be served while others were is served
// first when it can be. So a part that differs from turn to turn doesn't distort the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace asrp::policy {

class Rotation {
 public:
  /// New members, of weight 0. `from[i]`: where member i was among the former ones, or -1.
  void reshape(std::span<const std::int32_t> from);
  /// 0: takes no part until it gets another weight. Turns missed meanwhile are not made up for; one had early still counts.
  void set_weight(std::size_t member, std::uint32_t weight);

  /// Makes the changes take effect; until the next one, `before` is a strict order but for equals.
  void settle();
  /// Whether `a` has its turn before `b`. Precondition: settled, and both take part.
  [[nodiscard]] bool before(std::size_t a, std::size_t b) const;
  /// `member` has had its turn. Precondition: settled, and it takes part.
  void charge(std::size_t member);

 private:
  struct Seat {
    std::uint32_t weight = 0;
    bool known = false;           // had a weight before: `start` means something
    bool away = true;             // had none when this was last settled
    std::int64_t start = 0;       // virtual time from which its next turn is due
    std::uint32_t remainder = 0;  // of `start`, in 1/weight: nothing is lost by rounding
  };
  /// One turn of a member of weight 1.
  static constexpr std::int64_t kUnit = std::int64_t{1} << 40;
  static constexpr std::int64_t kRebase = std::int64_t{1} << 61;

  [[nodiscard]] std::int64_t end() const;
  static std::int64_t deadline(const Seat& seat);
  void rebase();

  std::vector<Seat> seats_;
  std::uint64_t total_ = 0;  // sum of weights
  std::int64_t now_ = 0;     // virtual time
  std::uint64_t now_remainder_ = 0;
  bool settled_ = true;
};

}  // namespace asrp::policy
