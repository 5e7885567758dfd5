// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/rotation.hpp"

#include <algorithm>

#include "asrp/base/assert.hpp"

namespace asrp::policy {

void Rotation::reshape(std::span<const std::int32_t> from) {
  std::vector<Seat> seats(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] < 0) continue;
    seats[i] = seats_[static_cast<std::size_t>(from[i])];
    seats[i].weight = 0;
  }
  seats_ = std::move(seats);
  settled_ = false;
}

void Rotation::set_weight(std::size_t member, std::uint32_t weight) {
  Seat& seat = seats_[member];
  if (seat.weight == weight) return;
  seat.weight = weight;
  settled_ = false;
}

void Rotation::settle() {
  if (settled_) return;
  settled_ = true;
  total_ = 0;
  for (const Seat& seat : seats_) total_ += seat.weight;
  // Who is new begins at its due, and so does who was away, but for a turn that it had early. More than a turn owed or had
  // early comes from other times: it would be served in one go.
  for (Seat& seat : seats_) {
    seat.remainder = 0;
    if (seat.weight == 0) {
      seat.away = true;
      continue;
    }
    const std::int64_t turn = kUnit / seat.weight;
    seat.start = seat.known ? std::clamp(seat.start, now_ - (seat.away ? 0 : turn), now_ + turn) : now_;
    seat.known = true;
    seat.away = false;
  }
  now_remainder_ = 0;
}

/// Virtual time after the turn that is to be given.
std::int64_t Rotation::end() const {
  const auto total = static_cast<std::int64_t>(total_);
  const bool carry = now_remainder_ + static_cast<std::uint64_t>(kUnit % total) >= total_;
  return now_ + kUnit / total + (carry ? 1 : 0);
}

/// When the turn after the next one is due. Precondition: the seat has a weight.
std::int64_t Rotation::deadline(const Seat& seat) {
  const bool carry = std::uint64_t{seat.remainder} + static_cast<std::uint64_t>(kUnit % seat.weight) >= seat.weight;
  return seat.start + kUnit / seat.weight + (carry ? 1 : 0);
}

bool Rotation::before(std::size_t a, std::size_t b) const {
  const Seat& one = seats_[a];
  const Seat& two = seats_[b];
  const std::int64_t time = end();
  const bool one_due = one.start < time;
  const bool two_due = two.start < time;
  if (one_due != two_due) return one_due;
  const std::int64_t one_deadline = deadline(one);
  const std::int64_t two_deadline = deadline(two);
  return one_deadline != two_deadline ? one_deadline < two_deadline : one.weight > two.weight;
}

void Rotation::charge(std::size_t member) {
  Seat& seat = seats_[member];
  ASRP_ASSERT(settled_ && seat.weight != 0);
  ASRP_ASSERT(seat.remainder < seat.weight && now_remainder_ < total_);
  seat.start = deadline(seat);
  const std::uint64_t remainder = std::uint64_t{seat.remainder} + static_cast<std::uint64_t>(kUnit % seat.weight);
  seat.remainder = static_cast<std::uint32_t>(remainder >= seat.weight ? remainder - seat.weight : remainder);
  const auto total = static_cast<std::int64_t>(total_);
  now_ = end();
  now_remainder_ = (now_remainder_ + static_cast<std::uint64_t>(kUnit % total)) % total_;
  if (now_ > kRebase) rebase();
}

void Rotation::rebase() {
  for (Seat& seat : seats_) seat.start = std::max(seat.start - now_, -kRebase);
  now_ = 0;
}

}  // namespace asrp::policy
