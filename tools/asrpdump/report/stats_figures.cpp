// SPDX-License-Identifier: BSD-3-Clause
#include "report/stats_figures.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace asrp::dump {

std::size_t Histogram::place_of(std::uint64_t value) {
  if (value < kSteps) return value;
  const auto exponent = static_cast<unsigned>(std::bit_width(value)) - 1;  // at least 4
  const std::uint64_t step = (value >> (exponent - 4)) - kSteps;
  return (exponent - 3) * kSteps + step;
}

std::uint64_t Histogram::limit_of(std::size_t place) {
  if (place < kSteps) return place + 1;
  const auto exponent = static_cast<unsigned>(place / kSteps) + 3;
  return (kSteps + place % kSteps + 1) << (exponent - 4);
}

void Histogram::add(std::int64_t value) {
  value = std::max<std::int64_t>(value, 0);
  ++counts_[place_of(static_cast<std::uint64_t>(value))];
  ++count_;
  max_ = std::max(max_, value);
}

std::int64_t Histogram::percentile(double share) const {
  if (count_ == 0) return 0;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t sum = 0;
  for (std::size_t place = 0; place < counts_.size(); ++place) {
    sum += counts_[place];
    if (sum >= wanted && sum != 0) return std::min(static_cast<std::int64_t>(limit_of(place) - 1), max_);
  }
  return max_;
}

std::uint64_t Histogram::between(std::int64_t from, std::int64_t to) const {
  std::uint64_t sum = 0;
  const std::size_t end = place_of(static_cast<std::uint64_t>(to));
  for (std::size_t place = place_of(static_cast<std::uint64_t>(from)); place < end; ++place) sum += counts_[place];
  return sum;
}

void Rates::add(std::int64_t time, std::size_t kind) {
  if (parts_.empty()) {
    begin_ = time;
    parts_.emplace_back();
  }
  const std::int64_t seconds = std::max<std::int64_t>((time - begin_) / 1'000'000'000, 0);
  while (static_cast<std::size_t>(seconds / seconds_) >= kMost) {
    for (std::size_t i = 0; i < parts_.size(); i += 2) {
      Part joined = parts_[i];
      for (std::size_t k = 0; k < kKinds && i + 1 < parts_.size(); ++k) joined[k] += parts_[i + 1][k];
      parts_[i / 2] = joined;
    }
    parts_.resize((parts_.size() + 1) / 2);
    seconds_ *= 2;
  }
  const auto part = static_cast<std::size_t>(seconds / seconds_);
  if (part >= parts_.size()) parts_.resize(part + 1);
  ++parts_[part][kind];
}

}  // namespace asrp::dump
