// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-node/table_sweep.hpp"

#include <doctest/doctest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "driver/twins.hpp"
#include "io/unique_fd.hpp"
#include "runtime/clock.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::FlowMark;
using node::TableSweep;

namespace {

constexpr std::size_t kEntries = 10 * TableSweep::kPiece + 3;

std::unique_ptr<MemoryConntrack> filled_table() {
  auto table = std::make_unique<MemoryConntrack>();
  for (std::uint16_t port = 1; port <= kEntries; ++port) {
    const Endpoint client{*IpAddress::parse("203.0.113.5"), port};
    const TuplePair session{{client, *Endpoint::parse("198.51.100.1:80"), Protocol::tcp},
                            {client, *Endpoint::parse("10.0.0.1:8080"), Protocol::tcp}};
    table->table.entries.push_back({session, port % 2 == 0 ? FlowMark::unprotected : FlowMark::none, false});
  }
  return table;
}

void nothing() {}
bool all(const engine::FlowEntry&) { return true; }

}  // namespace

TEST_CASE("a sweep brings every wanted entry, in the loop's thread, in pieces") {
  runtime::EventLoop loop;
  const auto sweep = TableSweep::open(loop, filled_table());
  const auto here = std::this_thread::get_id();
  std::vector<std::uint16_t> ports;
  sweep->begin(
      TableSweep::What::translated, [](const engine::FlowEntry& e) { return e.tuples.client_side.src.port != 7; },
      [&](std::span<const engine::FlowEntry> piece) {
        CHECK(std::this_thread::get_id() == here);
        CHECK(piece.size() <= TableSweep::kPiece);
        for (const engine::FlowEntry& e : piece) ports.push_back(e.tuples.client_side.src.port);
      },
      [&] {
        CHECK(ports.size() == kEntries - 1);
        CHECK(sweep->was_whole());
        loop.stop();
      });
  loop.set_timer(runtime::monotonic_now() + std::chrono::seconds(20), [&] { loop.stop(); });
  loop.run();
  REQUIRE(ports.size() == kEntries - 1);
  CHECK(ports[5] == 6);
  CHECK(ports[6] == 8);
  CHECK(ports.back() == kEntries);
}

TEST_CASE("what comes in during a sweep has its turn between two pieces") {
  runtime::EventLoop loop;
  const auto sweep = TableSweep::open(loop, filled_table());
  const io::UniqueFd always(::eventfd(1, EFD_CLOEXEC));  // readable all the time, as a busy queue is
  std::size_t turns = 0;
  std::size_t pieces = 0;
  std::size_t without = 0;
  std::size_t seen = 0;
  loop.watch(always.get(), [&] { ++turns; });
  sweep->begin(
      TableSweep::What::translated, all,
      [&](std::span<const engine::FlowEntry> piece) {
        if (pieces++ > 0 && turns == 0) ++without;
        turns = 0;
        seen += piece.size();
        if (seen == kEntries) loop.stop();
      },
      nothing);
  loop.set_timer(runtime::monotonic_now() + std::chrono::seconds(20), [&] { loop.stop(); });
  loop.run();
  loop.unwatch(always.get());
  CHECK(pieces == 11);
  CHECK(without == 0);
}

TEST_CASE("sweeps follow one another; a second one for marked entries is left out while one is under way") {
  runtime::EventLoop loop;
  const auto sweep = TableSweep::open(loop, filled_table());
  std::size_t marked = 0;
  std::size_t others = 0;
  for (int i = 0; i < 3; ++i)
    sweep->begin(
        TableSweep::What::marked, all, [&](std::span<const engine::FlowEntry> piece) { marked += piece.size(); }, nothing);
  sweep->begin(
      TableSweep::What::translated, all,
      [&](std::span<const engine::FlowEntry> piece) {
        others += piece.size();
        if (others == kEntries) loop.stop();
      },
      nothing);
  loop.set_timer(runtime::monotonic_now() + std::chrono::seconds(20), [&] { loop.stop(); });
  loop.run();
  CHECK(marked == kEntries / 2);
  CHECK(others == kEntries);
}

TEST_CASE("a sweep that is under way ends with its owner") {
  runtime::EventLoop loop;
  auto sweep = TableSweep::open(loop, filled_table());
  std::size_t seen = 0;  // the thread's, until it has ended
  std::size_t pieces = 0;
  sweep->begin(
      TableSweep::What::translated,
      [&](const engine::FlowEntry&) {
        ++seen;
        return true;
      },
      [&](std::span<const engine::FlowEntry>) {
        if (++pieces == 1) loop.stop();
      },
      nothing);
  loop.set_timer(runtime::monotonic_now() + std::chrono::seconds(20), [&] { loop.stop(); });
  loop.run();
  sweep.reset();  // waits for the thread, which waits for nobody
  CHECK(pieces == 1);
  CHECK(seen <= 2 * TableSweep::kPiece);  // the second piece waited for its turn; the rest of the table is left alone
}
