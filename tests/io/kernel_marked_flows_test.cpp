// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>
#include <poll.h>

#include <set>
#include <string>

#include "io/lab.hpp"
#include "io/marked_flows.hpp"

using namespace asrp;
using namespace asrp::io;
using namespace asrp::test;

namespace {

constexpr std::uint32_t kBit = 0x04000000;

void add(const std::string& what, std::uint32_t mark) {
  run("conntrack -I --timeout 600 --mark " + std::to_string(mark) + " " + what);
}
std::string tcp_entry(const std::string& state, unsigned port) {
  return "-p tcp --state " + state + " -s 10.0.0.1 -d 198.51.100.1 --sport " + std::to_string(port) + " --dport 80";
}

/// Reads to the end of what has begun.
std::set<unsigned> ports_of(MarkedFlows& flows, bool clears = false) {
  std::set<unsigned> ports;
  for (pollfd ready{flows.descriptor(), POLLIN, 0}; ::poll(&ready, 1, 200) == 1;) {
    const auto piece = flows.next();
    for (const Tuple& tuple : piece) ports.insert(tuple.src.port);
    if (clears) flows.clear(piece);
  }
  return ports;
}

}  // namespace

TEST_CASE("marked flows: those with the bit, of both protocols and families, but none that ends; the bit alone is taken away") {
  const Namespace ns;
  add(tcp_entry("ESTABLISHED", 1), kBit | 1);
  add(tcp_entry("ESTABLISHED", 2), 1);
  add(tcp_entry("TIME_WAIT", 3), kBit);
  add("-p udp -s 10.0.0.1 -d 198.51.100.1 --sport 4 --dport 53", kBit);
  add("-p udp -s fd00::1 -d 2001:db8::1 --sport 5 --dport 53", kBit);
  auto opened = MarkedFlows::open(kBit);
  REQUIRE(opened.has_value());
  MarkedFlows& flows = **opened;
  CHECK(ports_of(flows).empty());  // nothing has begun
  flows.begin();
  CHECK(ports_of(flows) == std::set<unsigned>{1, 4, 5});
  flows.begin();
  CHECK(ports_of(flows, true) == std::set<unsigned>{1, 4, 5});
  flows.begin();
  CHECK(ports_of(flows).empty());
  CHECK(run("conntrack -L -p tcp --sport 1").find("mark=1 ") != std::string::npos);
}

TEST_CASE("marked flows: many come in pieces, and what begins again is read once more") {
  const Namespace ns;
  std::string lines;
  for (unsigned port = 1000; port < 1600; ++port)
    lines += "-I --timeout 600 --mark " + std::to_string(kBit) + " " + tcp_entry("ESTABLISHED", port) + "\n";
  run("conntrack -R -", lines);
  auto opened = MarkedFlows::open(kBit);
  REQUIRE(opened.has_value());
  MarkedFlows& flows = **opened;
  flows.begin();
  const std::size_t first = flows.next().size();
  CHECK(first > 0);
  CHECK(first < 600);
  flows.begin();  // under way
  CHECK(ports_of(flows).size() == 600);
}
