// SPDX-License-Identifier: BSD-3-Clause
// RFC 5356's Pool Member Selection Policy Parameters, octet by octet as its diagrams draw them.
#include "asrp/policy/selection_parameter.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/seeded_random.hpp"

using namespace asrp;
using namespace asrp::policy;

namespace {

using enum SelectionPolicy;

struct Vector {
  const char* section;
  SelectionParameter parameter;
  const char* octets;
};

constexpr Vector kVectors[] = {
    {"4.1.4", {round_robin, 0, 0, 0, 0}, "0008 0008 00000001"},
    {"4.2.4", {weighted_round_robin, 0x01020304, 0, 0, 0}, "0008 000c 00000002 01020304"},
    {"4.3.4", {random, 0, 0, 0, 0}, "0008 0008 00000003"},
    {"4.4.4", {weighted_random, 50, 0, 0, 0}, "0008 000c 00000004 00000032"},
    {"4.5.4", {priority, 0, 0xfffffffe, 0, 0}, "0008 000c 00000005 fffffffe"},
    {"5.1.4", {least_used, 0, 0, 0x80000000, 0}, "0008 000c 40000001 80000000"},
    {"5.2.4", {least_used_degradation, 0, 0, 0xffffffff, 0x19999999}, "0008 0010 40000002 ffffffff 19999999"},
    {"5.3.4", {priority_least_used, 0, 0, 0x7fffffff, 0x0ccccccc}, "0008 0010 40000003 7fffffff 0ccccccc"},
    {"5.4.4", {randomized_least_used, 0, 0, 0, 0}, "0008 000c 40000004 00000000"},
};

Buffer octets_of(std::string text) {
  std::erase(text, ' ');
  Buffer out;
  REQUIRE(from_hex(text, out));
  return out;
}

std::string error_of(const char* text) {
  const auto decoded = decode_parameter(octets_of(text));
  return decoded ? "none" : std::string(to_string(decoded.error()));
}

std::string prefix_error_of(const char* text) {
  const auto decoded = decode_parameter_prefix(octets_of(text));
  return decoded ? "none" : std::string(to_string(decoded.error()));
}

}  // namespace

TEST_CASE("each policy's parameter is encoded as the RFC draws it, and decodes to the same") {
  for (const Vector& v : kVectors) {
    CAPTURE(v.section);
    const Buffer expected = octets_of(v.octets);
    Buffer out{0xee};  // what is there already stays
    encode_parameter(v.parameter, out);
    CHECK(Buffer(out.begin() + 1, out.end()) == expected);
    CHECK(encoded_size(v.parameter.policy) == expected.size());
    const auto decoded = decode_parameter(expected);
    REQUIRE(decoded.has_value());
    CHECK(decoded->parameter == v.parameter);
    CHECK(decoded->size == expected.size());
  }
}

TEST_CASE("no proper prefix of a parameter decodes, nor does one with an octet more; a prefix decodes before other octets") {
  for (const Vector& v : kVectors) {
    CAPTURE(v.section);
    Buffer octets = octets_of(v.octets);
    for (std::size_t n = 0; n < octets.size(); ++n) {
      const auto decoded = decode_parameter_prefix(Octets(octets).first(n));
      REQUIRE_FALSE(decoded.has_value());
      CHECK(decoded.error() == ParameterError::truncated);
    }
    octets.push_back(0);
    REQUIRE_FALSE(decode_parameter(octets).has_value());
    CHECK(decode_parameter(octets).error() == ParameterError::length);
    REQUIRE(decode_parameter_prefix(octets).has_value());
    CHECK(decode_parameter_prefix(octets)->parameter == v.parameter);
    CHECK(decode_parameter_prefix(octets)->size == octets.size() - 1);
  }
}

TEST_CASE("every way to be wrong has its reason, and the first check wins") {
  CHECK(error_of("") == "truncated");
  CHECK(error_of("000800") == "truncated");
  CHECK(error_of("000900") == "truncated");
  CHECK(error_of("0007 0008 00000001") == "type");
  CHECK(error_of("0100 0008 00000001") == "type");
  CHECK(error_of("0009 0000") == "type");
  CHECK(error_of("0008 0000 00000001") == "length");
  CHECK(error_of("0008 0004 00000001") == "length");
  CHECK(error_of("0008 0004") == "length");
  CHECK(error_of("0008 0007 000000") == "length");
  CHECK(error_of("0008 0007 00000001") == "length");
  CHECK(error_of("0008 0008 0000") == "truncated");
  CHECK(error_of("0008 ffff 00000001") == "truncated");
  CHECK(error_of("0008 0008 00000002") == "length");                    // the weight is missing
  CHECK(error_of("0008 000c 00000001 00000001") == "length");           // round robin has none
  CHECK(error_of("0008 0010 40000001 00000001 00000001") == "length");  // least used has no degradation
  CHECK(error_of("0008 000c 40000003 00000001") == "length");
  CHECK(error_of("0008 0009 00000001 00") == "length");  // padding after a length that needs none
  CHECK(prefix_error_of("0008 0008 00000001 0008") == "none");
}

TEST_CASE("reserved, unassigned and private policy numbers are refused") {
  for (const char* number : {"00000000", "00000006", "3fffffff", "40000000", "40000005", "7fffffff", "80000000", "80000001",
                             "c0000001", "ffffffff", "01000000"}) {
    CAPTURE(number);
    CHECK(error_of((std::string("0008 0008 ") + number).c_str()) == "policy");
    CHECK(error_of((std::string("0008 000c ") + number + "00000001").c_str()) == "policy");
  }
}

TEST_CASE("random parameters come back as they went; what decodes is what encoding gives") {
  test::SeededRandom random(5356);
  for (int i = 0; i < 20000; ++i) {
    SelectionParameter in{static_cast<SelectionPolicy>(1 + random.below(kSelectionPolicyCount - 1)), random.u32(), random.u32(),
                          random.u32(), random.u32()};
    Buffer octets;
    encode_parameter(in, octets);
    const auto out = decode_parameter(octets);
    REQUIRE(out.has_value());
    Buffer again;
    encode_parameter(out->parameter, again);
    CHECK(again == octets);
    CHECK(out->parameter.policy == in.policy);
    // One damaged octet: either refused or another meaning, never the same one.
    octets[random.below(octets.size())] ^= static_cast<std::uint8_t>(1 + random.below(255));
    const auto damaged = decode_parameter(octets);
    if (damaged) CHECK(damaged->parameter != out->parameter);
  }
}
