// SPDX-License-Identifier: BSD-3-Clause
// The Pool Member Selection Policy Parameter of ASAP and ENRP (RFC 5354; RFC 5356 4 and 5):
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |        Param Type = 8         |      Length = 8, 12, 16       |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                          Policy Type                          |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |              Weight, Priority or Load, if any                 |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                    Load Degradation, if any                   |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// All lengths are multiples of four, so that this parameter never has padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "asrp/base/bytes.hpp"
#include "asrp/base/result.hpp"
#include "asrp/policy/selection_policy.hpp"

namespace asrp::policy {

inline constexpr std::uint16_t kSelectionParameterType = 8;
inline constexpr std::size_t kMaxSelectionParameter = 16;  // octets

/// What a pool element says of itself. Fields that the policy doesn't have are 0.
struct SelectionParameter {
  SelectionPolicy policy = SelectionPolicy::round_robin;  // never `hash`, which has no number
  std::uint32_t weight = 0;                               // weighted_round_robin, weighted_random
  std::uint32_t priority = 0;                             // priority; larger is higher
  std::uint32_t load = 0;                                 // adaptive ones: 0 is not utilized at all, 0xffffffff fully
  std::uint32_t degradation = 0;  // least_used_degradation, priority_least_used: load that one more session adds
  friend bool operator==(const SelectionParameter&, const SelectionParameter&) = default;
};

/// Why octets are no such parameter, in the order of the checks.
enum class ParameterError : std::uint8_t {
  truncated,  // fewer than 4 octets, or fewer than Length says
  type,       // another parameter
  length,     // Length is not the policy's, or (decode) not the number of octets
  policy,     // a reserved, unassigned or private policy number
};
std::string_view to_string(ParameterError error);

struct DecodedParameter {
  SelectionParameter parameter;
  std::size_t size;  // octets that it took
};

/// Decodes a parameter that must fill `octets` exactly.
Result<DecodedParameter, ParameterError> decode_parameter(Octets octets);
/// Decodes a parameter at the head of `octets`; what follows belongs to others.
Result<DecodedParameter, ParameterError> decode_parameter_prefix(Octets octets);

/// 8, 12 or 16. Precondition: the policy is not `hash`.
std::size_t encoded_size(SelectionPolicy policy);
/// Appends the parameter; fields that the policy doesn't have are ignored. Precondition: the policy is not `hash`.
void encode_parameter(const SelectionParameter& parameter, Buffer& out);

}  // namespace asrp::policy
