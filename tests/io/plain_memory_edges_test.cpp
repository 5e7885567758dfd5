// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>
#include <poll.h>

#include "io/testing/memory_edges.hpp"

using namespace asrp;
using namespace asrp::io;
using namespace asrp::io::testing;

namespace {

bool readable(int descriptor) {
  pollfd waiting{descriptor, POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 1;
}

}  // namespace

TEST_CASE("the queue's twin hands out bursts and wants exactly one verdict for each packet") {
  Order order;
  MemoryPacketQueue queue(order, 2);
  CHECK_FALSE(readable(queue.descriptor()));
  for (std::uint8_t i = 0; i < 3; ++i) queue.deliver(5, {i}, i);
  CHECK(readable(queue.descriptor()));
  const auto burst = queue.receive();
  REQUIRE(burst.size() == 2);
  CHECK(burst[1].octets[0] == 1);
  CHECK(burst[1].mark == 1);
  const Buffer changed = {9, 9};
  queue.stage_verdict(burst[0].id, Verdict::accept, changed, 4);
  queue.stage_verdict(burst[0].id, Verdict::drop, {}, 0);
  queue.send_verdicts();
  CHECK(queue.statistics().verdict_errors == 1);
  CHECK(queue.unanswered() == 2);
  const auto given = queue.take_verdicts();
  REQUIRE(given.size() == 1);
  CHECK(given[0].replacement == changed);
  CHECK(given[0].mark == 4);
  CHECK(queue.receive().size() == 1);
  CHECK_FALSE(readable(queue.descriptor()));
  CHECK(queue.receive().empty());
}

TEST_CASE("the twins share one order of what leaves") {
  Order order;
  MemoryPacketQueue queue(order);
  MemoryPacketSender sender(order);
  queue.deliver(5, {1});
  const auto id = queue.receive()[0].id;
  const Buffer packet = {7};
  sender.stage(packet, 3);
  CHECK(sender.take_sent().empty());
  sender.flush();
  queue.stage_verdict(id, Verdict::accept, {}, 0);
  queue.send_verdicts();
  const auto sent = sender.take_sent();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].packet == packet);
  CHECK(sent[0].order < queue.take_verdicts().at(0).order);
}

TEST_CASE("the message socket's twin is readable while messages or notices wait") {
  MemoryMessageSocket socket;
  const Endpoint from = *Endpoint::parse("10.0.0.1:1");
  const Endpoint to = *Endpoint::parse("10.0.0.2:51200");
  socket.deliver(from, to, {1, 2});
  socket.deliver_unreachable({from.address, 1, {}});
  CHECK(readable(socket.descriptor()));
  const auto messages = socket.receive();
  REQUIRE(messages.size() == 1);
  CHECK(messages[0].from == from);
  CHECK(messages[0].to == to);
  CHECK(readable(socket.descriptor()));
  CHECK(socket.unreachable_peers().size() == 1);
  CHECK_FALSE(readable(socket.descriptor()));
}
