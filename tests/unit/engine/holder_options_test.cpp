// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/engine/holder_options.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"

namespace asrp::test {
namespace {

bool contains(std::string_view prefix, int length, std::string_view a) {
  return engine::Prefix{address(prefix), static_cast<std::uint8_t>(length)}.contains(address(a));
}

TEST_CASE("a prefix contains its addresses and no others") {
  CHECK(contains("192.0.2.10", 32, "192.0.2.10"));
  CHECK(!contains("192.0.2.10", 32, "192.0.2.11"));
  CHECK(contains("192.0.2.0", 24, "192.0.2.255"));
  CHECK(!contains("192.0.2.0", 24, "192.0.3.0"));
  CHECK(contains("192.0.2.128", 25, "192.0.2.200"));
  CHECK(!contains("192.0.2.128", 25, "192.0.2.127"));
  CHECK(contains("10.0.0.0", 7, "11.255.0.1"));
  CHECK(!contains("10.0.0.0", 7, "12.0.0.1"));
  CHECK(contains("0.0.0.0", 0, "203.0.113.1"));
  CHECK(contains("2001:db8::", 33, "2001:db8:7fff::1"));
  CHECK(!contains("2001:db8::", 33, "2001:db8:8000::1"));
  CHECK(contains("2001:db8::1", 128, "2001:db8::1"));
  CHECK(!contains("2001:db8::1", 128, "2001:db8::2"));
}

TEST_CASE("the families do not mix, and a length beyond the address means all of it") {
  CHECK(!contains("0.0.0.0", 0, "::"));
  CHECK(!contains("::", 0, "0.0.0.0"));
  CHECK(contains("192.0.2.1", 200, "192.0.2.1"));
  CHECK(!contains("192.0.2.1", 200, "192.0.2.3"));
}

}  // namespace
}  // namespace asrp::test
