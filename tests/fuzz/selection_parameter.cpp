// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/selection_parameter.hpp"

#include <algorithm>

#include "fuzz/support/fuzz_target.hpp"

namespace asrp::fuzz {

int one_input(Octets input) {
  const auto whole = policy::decode_parameter(input);
  const auto prefix = policy::decode_parameter_prefix(input);
  if (whole) {
    FUZZ_CHECK(prefix.has_value());
    FUZZ_CHECK(whole->size == input.size());
    FUZZ_CHECK(whole->parameter == prefix->parameter);
  }
  if (!prefix) return 0;
  FUZZ_CHECK(prefix->size <= input.size());
  FUZZ_CHECK(prefix->size == load_u16(input, 2));
  FUZZ_CHECK(prefix->size == policy::encoded_size(prefix->parameter.policy));
  Buffer encoded;
  policy::encode_parameter(prefix->parameter, encoded);
  FUZZ_CHECK(encoded.size() == prefix->size);
  FUZZ_CHECK(std::equal(encoded.begin(), encoded.end(), input.begin()));
  for (std::size_t n = 0; n < prefix->size; ++n) {
    const auto part = policy::decode_parameter_prefix(input.first(n));
    FUZZ_CHECK(!part && part.error() == policy::ParameterError::truncated);
  }
  return 0;
}

}  // namespace asrp::fuzz
