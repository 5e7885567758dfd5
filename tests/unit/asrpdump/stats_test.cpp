// SPDX-License-Identifier: BSD-3-Clause
#include "report/stats.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tape.hpp"

using namespace asrp;
using namespace asrp::test;
using namespace asrp::test::lab;

TEST_CASE("percentiles are exact to a sixteenth, the largest value is exact") {
  dump::Histogram histogram;
  for (std::int64_t value = 1; value <= 1000; ++value) histogram.add(value * 1000);
  CHECK(histogram.count() == 1000);
  CHECK(histogram.max() == 1'000'000);
  for (const double share : {0.5, 0.9, 0.99}) {
    const double exact = share * 1'000'000;
    CHECK(static_cast<double>(histogram.percentile(share)) >= exact);
    CHECK(static_cast<double>(histogram.percentile(share)) <= exact * 17 / 16);
  }
  CHECK(histogram.percentile(1.0) == 1'000'000);
  CHECK(histogram.between(1024, 2048) == 1);
  CHECK(histogram.between(0, std::int64_t{1} << 40) == 1000);
}

TEST_CASE("every value has a place between its neighbours") {
  for (int bit = 0; bit < 62; ++bit) {
    for (const std::int64_t off : {-1, 0, 1}) {
      const std::int64_t value = (std::int64_t{1} << bit) + off;
      dump::Histogram histogram;
      histogram.add(value);
      histogram.add(std::int64_t{1} << 62);
      CHECK(histogram.percentile(0.5) >= value);
      CHECK(histogram.percentile(0.5) <= value + value / 16);
    }
  }
  CHECK(dump::Histogram().percentile(0.5) == 0);
}

TEST_CASE("rates: longer parts when there would be too many, nothing is lost") {
  dump::Rates rates;
  for (std::int64_t second = 0; second < 1000; ++second) rates.add(second * 1'000'000'000, 2);
  CHECK(rates.seconds() == 32);
  CHECK(rates.parts().size() <= dump::Rates::kMost);
  std::uint64_t sum = 0;
  for (const auto& part : rates.parts()) sum += part[2];
  CHECK(sum == 1000);
  CHECK(rates.parts()[0][2] == 32);
}

TEST_CASE("counts: a message at two points is one, an invalid one counts by its reason, silence is told") {
  std::string out;
  dump::StatsReport report(
      {.follow = {}, .json = true}, [&](std::string_view text) { out += text; }, [](std::string_view) {});
  Tape tape(report);
  const auto message = ns(kPair).node(kNode1);
  tape.add(inline_of(tcp(kPair.server_side).syn().ttl(63).build(), message));
  tape.add(inline_of(tcp(kPair.server_side).syn().ttl(62).build(), message));
  tape.add(inline_of(tcp(kPair.server_side).syn().identification(5).ttl(63).build(), message));
  tape.add(standalone("10.9.0.2:1000", "10.0.0.1:51200", qs(kPair.client_side).cookie(5), 1));
  tape.add(standalone("10.9.0.2:1000", "10.0.0.1:51200", qs(kPair.client_side).cookie(5), 2));
  tape.add(standalone("10.9.0.2:1000", "10.0.0.2:51200", qs(kPair.client_side).cookie(5)));
  tape.add(standalone("10.0.0.1:1000", "10.9.0.2:51200", rs(kPair).cookie(5)));
  Buffer damaged = rx(kPair.client_side).cookie(5).build();
  damaged.push_back(0);
  damaged[2] = 1;  // ST44: not for RX
  tape.add(udp("10.0.0.2:1000", "10.9.0.2:51200").payload(damaged).build());
  tape.add(udp("10.0.0.2:2000", "10.9.0.2:51200").payload("hello, this is not one").build());
  tape.add(udp("10.9.0.2:51200", "10.0.0.2:2000").payload("nor is the answer").build());
  tape.end();
  const auto has = [&](std::string_view part) { return out.find(part) != std::string::npos; };
  CHECK(has(R"("messages":{"NS":{"inline-tcp":2},"QS":{"standalone":3},"RS":{"standalone":1}})"));
  CHECK(has(R"("invalid":{"sttype":{"standalone":1}})"));
  CHECK(has(R"("not_asrp":1)"));
  CHECK(has(R"("queries":{"rs":1,"rx":0,"unanswered":1})"));
  CHECK(has(R"("repeated":{"ns":1,"qs":1})"));
  CHECK(has(R"("restored":{"rs":1,"ps":0})"));
  CHECK(has(R"("latency_ms":{"count":1,"p50":3.000)"));
}
