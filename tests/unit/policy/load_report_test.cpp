// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/load_report.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::policy;
using asrp::test::address;

namespace {

HashKey key_with(std::uint8_t octet) {
  HashKey key;
  key.fill(octet);
  return key;
}

const HashKey kKey = key_with(7);
const HashKey kOther = key_with(8);
const IpAddress kServer = address("10.0.2.1");
const LoadReport kReport{0x80000000, 1'700'000'000'123, 42};

Result<LoadReport, ReportError> decode(Octets octets, const IpAddress& sender = kServer, HashKey key = kKey) {
  return decode_load_report(octets, std::span(&key, 1), sender);
}

}  // namespace

TEST_CASE("a report has the layout that its header shows") {
  const auto octets = encode_load_report({0x01020304, 0x1112131415161718, 0x2122232425262728}, kKey, kServer);
  CHECK(to_hex(Octets(octets).first(24)) == "010000000102030411121314151617182122232425262728");
  // Golden, by another BLAKE2b: what another release sends must be understood.
  CHECK(to_hex(Octets(octets).last(16)) == "f391581ddb59fb41bba28f2a2a8092fa");
}

TEST_CASE("what was encoded decodes to the same, at the ends of every range") {
  for (const LoadReport& report :
       {LoadReport{}, kReport,
        LoadReport{0xffffffff, std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::uint64_t>::max()}}) {
    for (const IpAddress& sender : {kServer, address("2001:db8::1")}) {
      const auto decoded = decode(encode_load_report(report, kKey, sender), sender);
      REQUIRE(decoded.has_value());
      CHECK(*decoded == report);
    }
  }
}

TEST_CASE("no octet of a report can be another one") {
  const auto good = encode_load_report(kReport, kKey, kServer);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      auto bad = good;
      bad[at] = static_cast<std::uint8_t>(bad[at] ^ (1 << bit));
      const auto decoded = decode(bad);
      REQUIRE(!decoded.has_value());
      CHECK(decoded.error() == (at < 4 ? ReportError::version : ReportError::mac));
    }
  }
}

TEST_CASE("shorter and longer ones are refused") {
  const auto good = encode_load_report(kReport, kKey, kServer);
  Buffer octets(good.begin(), good.end());
  for (std::size_t size = 0; size < good.size(); ++size) CHECK(decode(Octets(octets).first(size)).error() == ReportError::size);
  octets.push_back(0);
  CHECK(decode(octets).error() == ReportError::size);
}

TEST_CASE("the MAC is of one key and one sender; any of several keys will do, and without one nothing does") {
  const auto octets = encode_load_report(kReport, kKey, kServer);
  CHECK(decode(octets, kServer, kOther).error() == ReportError::mac);
  CHECK(decode(octets, address("10.0.2.2")).error() == ReportError::mac);
  CHECK(decode(octets, address("::10.0.2.1")).error() == ReportError::mac);
  CHECK(decode(octets, address("a00:201::")).error() == ReportError::mac);  // the same octets, of the other family
  CHECK(decode_load_report(octets, {}, kServer).error() == ReportError::mac);
  const HashKey both[] = {kOther, kKey};
  CHECK(decode_load_report(octets, both, kServer).has_value());
}

TEST_CASE("each reason has a word of its own") {
  std::set<std::string_view> words;
  for (const ReportError error : {ReportError::size, ReportError::version, ReportError::mac}) words.insert(to_string(error));
  CHECK(words == std::set<std::string_view>{"size", "version", "mac"});
}

TEST_CASE("a part of the whole is scaled to the whole range, and never beyond") {
  CHECK(scaled_load(0) == 0);
  CHECK(scaled_load(-3) == 0);
  CHECK(scaled_load(-std::numeric_limits<double>::infinity()) == 0);
  CHECK(scaled_load(0.5) == 0x7fffffff);
  CHECK(scaled_load(1) == 0xffffffff);
  CHECK(scaled_load(7) == 0xffffffff);
  CHECK(scaled_load(std::nextafter(1.0, 0.0)) >= 0xfffffffe);
  CHECK(scaled_load(std::numeric_limits<double>::infinity()) == 0xffffffff);
  CHECK(scaled_load(std::numeric_limits<double>::quiet_NaN()) == 0xffffffff);  // what nobody knows attracts nobody
}

TEST_CASE("window: time and counter rise, sender by sender") {
  ReportWindow window;
  const std::uint64_t now = 1'700'000'000'000;
  using Verdict = ReportWindow::Verdict;
  CHECK(window.ask(kServer, {1, now, 5}, now) == Verdict::fresh);
  CHECK(window.ask(kServer, {1, now, 5}, now) == Verdict::repeated);
  CHECK(window.ask(kServer, {2, now, 4}, now) == Verdict::repeated);
  CHECK(window.ask(kServer, {2, now, 6}, now) == Verdict::fresh);
  CHECK(window.ask(kServer, {2, now, 6}, now) == Verdict::repeated);
  CHECK(window.ask(kServer, {2, now - 1, 7}, now) == Verdict::repeated);
  CHECK(window.ask(kServer, {2, now + 1, 0}, now) == Verdict::fresh);  // it was started again
  CHECK(window.ask(address("10.0.2.2"), {1, now, 5}, now) == Verdict::fresh);
  CHECK(window.size() == 2);
}

TEST_CASE("window: clocks may differ by ten seconds in either direction; what is refused moves nothing") {
  const std::uint64_t now = 1'700'000'000'000;
  using Verdict = ReportWindow::Verdict;
  for (const std::int64_t apart : {-10'000, 10'000}) {
    ReportWindow window;
    const std::uint64_t time = now + static_cast<std::uint64_t>(apart);
    CHECK(window.ask(kServer, {1, apart < 0 ? time - 1 : time + 1, 9}, now) == Verdict::time);
    CHECK(window.size() == 0);
    CHECK(window.ask(kServer, {1, time, 0}, now) == Verdict::fresh);
  }
  ReportWindow window;
  CHECK(window.ask(kServer, {1, std::numeric_limits<std::uint64_t>::max(), 1}, now) == Verdict::time);
  CHECK(window.ask(kServer, {1, 0, 1}, now) == Verdict::time);
}

TEST_CASE("window: a sender that is no server any more is forgotten") {
  ReportWindow window;
  const std::uint64_t now = 1'700'000'000'000;
  CHECK(window.ask(kServer, {1, now, 1}, now) == ReportWindow::Verdict::fresh);
  CHECK(window.ask(address("10.0.2.2"), {1, now, 1}, now) == ReportWindow::Verdict::fresh);
  window.keep_only([](const IpAddress& each) { return each == kServer; });
  CHECK(window.size() == 1);
  CHECK(window.ask(kServer, {1, now, 1}, now) == ReportWindow::Verdict::repeated);
  CHECK(window.ask(address("10.0.2.2"), {1, now, 1}, now) == ReportWindow::Verdict::fresh);
}
