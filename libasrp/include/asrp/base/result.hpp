// SPDX-License-Identifier: BSD-3-Clause
// A value or the reason why there is none. Stands in for std::expected, which C++20 lacks.
#pragma once

#include <utility>
#include <variant>

#include "asrp/base/assert.hpp"

namespace asrp {

template <typename E>
struct Failure {
  E reason;
};
template <typename E>
Failure(E) -> Failure<E>;

template <typename T, typename E>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}           // NOLINT: implicit on purpose
  Result(Failure<E> failure) : state_(std::in_place_index<1>, failure.reason) {}  // NOLINT

  explicit operator bool() const { return state_.index() == 0; }
  [[nodiscard]] bool has_value() const { return state_.index() == 0; }

  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  T& value() {
    ASRP_ASSERT(has_value());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const {
    ASRP_ASSERT(has_value());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] E error() const {
    ASRP_ASSERT(!has_value());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, E> state_;
};

/// Success without a value.
struct Done {};

}  // namespace asrp
