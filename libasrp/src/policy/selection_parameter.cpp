// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/selection_parameter.hpp"

#include <array>

#include "asrp/base/assert.hpp"

namespace asrp::policy {
namespace {

constexpr std::size_t kHeader = 4;      // type and length
constexpr std::size_t kWithPolicy = 8;  // and the policy's number
constexpr std::size_t kWord = 4;

using Field = std::uint32_t SelectionParameter::*;

/// The words behind the policy's number; nullptr where there is none.
using Layout = std::array<Field, 2>;

Layout layout_of(SelectionPolicy policy) {
  switch (policy) {
    case SelectionPolicy::hash:
    case SelectionPolicy::round_robin:
    case SelectionPolicy::random:
      break;
    case SelectionPolicy::weighted_round_robin:
    case SelectionPolicy::weighted_random:
      return {&SelectionParameter::weight, nullptr};
    case SelectionPolicy::priority:
      return {&SelectionParameter::priority, nullptr};
    case SelectionPolicy::least_used:
    case SelectionPolicy::randomized_least_used:
      return {&SelectionParameter::load, nullptr};
    case SelectionPolicy::least_used_degradation:
    case SelectionPolicy::priority_least_used:
      return {&SelectionParameter::load, &SelectionParameter::degradation};
  }
  return {nullptr, nullptr};
}

}  // namespace

std::string_view to_string(ParameterError error) {
  switch (error) {
    case ParameterError::truncated:
      return "truncated";
    case ParameterError::type:
      return "type";
    case ParameterError::length:
      return "length";
    case ParameterError::policy:
      break;
  }
  return "policy";
}

std::size_t encoded_size(SelectionPolicy policy) {
  ASRP_ASSERT(policy != SelectionPolicy::hash);
  std::size_t size = kWithPolicy;
  for (const Field field : layout_of(policy)) size += field != nullptr ? kWord : 0;
  return size;
}

Result<DecodedParameter, ParameterError> decode_parameter_prefix(Octets octets) {
  if (octets.size() < kHeader) return Failure{ParameterError::truncated};
  if (load_u16(octets, 0) != kSelectionParameterType) return Failure{ParameterError::type};
  const std::size_t length = load_u16(octets, 2);
  if (length < kWithPolicy) return Failure{ParameterError::length};
  if (length > octets.size()) return Failure{ParameterError::truncated};
  const auto policy = policy_of_number(load_u32(octets, kHeader));
  if (!policy) return Failure{ParameterError::policy};
  if (length != encoded_size(*policy)) return Failure{ParameterError::length};
  DecodedParameter decoded{{}, length};
  decoded.parameter.policy = *policy;
  std::size_t at = kWithPolicy;
  for (const Field field : layout_of(*policy)) {
    if (field == nullptr) break;
    decoded.parameter.*field = load_u32(octets, at);
    at += kWord;
  }
  return decoded;
}

Result<DecodedParameter, ParameterError> decode_parameter(Octets octets) {
  const auto decoded = decode_parameter_prefix(octets);
  if (decoded && decoded->size != octets.size()) return Failure{ParameterError::length};
  return decoded;
}

void encode_parameter(const SelectionParameter& parameter, Buffer& out) {
  ByteWriter writer(out);
  writer.u16(kSelectionParameterType);
  writer.u16(static_cast<std::uint16_t>(encoded_size(parameter.policy)));
  writer.u32(*policy_number(parameter.policy));
  for (const Field field : layout_of(parameter.policy)) {
    if (field != nullptr) writer.u32(parameter.*field);
  }
}

}  // namespace asrp::policy
