// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-node/worker_messages.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "asrp/wire/decode.hpp"
#include "io/testing/memory_edges.hpp"
#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::test;
using node::MessageExchange;
using node::WorkerMessages;

namespace {

const Endpoint kHolder = *Endpoint::parse("10.0.0.1:51200");
const Endpoint kNode = *Endpoint::parse("192.0.2.10:51200");
const TuplePair kSession{tcp_tuple("203.0.113.5:4000", "198.51.100.1:80"), tcp_tuple("203.0.113.5:4000", "10.0.0.1:8080")};

/// Workers, of which the first has the real socket, and `known` is the one that knows the sessions.
struct Workers {
  explicit Workers(unsigned count = 4) : exchange(count), asked(count) {
    auto real = std::make_unique<io::testing::MemoryMessageSocket>();
    socket = real.get();
    for (unsigned w = 0; w < count; ++w) {
      workers.push_back(std::make_unique<WorkerMessages>(exchange, w, w == 0 ? std::move(real) : nullptr));
      workers[w]->set_expects([this, w](Octets) {
        ++asked[w];
        return known == static_cast<int>(w);
      });
    }
  }
  /// Lets every worker read until nothing moves any more; who kept how many.
  std::vector<std::size_t> settle() {
    std::vector<std::size_t> kept(workers.size());
    for (int round = 0; round < 8; ++round)
      for (unsigned w = 0; w < workers.size(); ++w) {
        kept[w] += workers[w]->receive().size();
        kept[w] += workers[w]->unreachable_peers().size();
      }
    return kept;
  }

  MessageExchange exchange;
  io::testing::MemoryMessageSocket* socket = nullptr;
  std::vector<std::unique_ptr<WorkerMessages>> workers;
  std::vector<int> asked;
  int known = -1;
};

}  // namespace

TEST_CASE("workers: bits that tell them apart") {
  CHECK(node::worker_bits(1) == 0);
  CHECK(node::worker_bits(2) == 1);
  CHECK(node::worker_bits(4) == 2);
  CHECK(node::worker_bits(5) == 3);
  CHECK(node::worker_bits(64) == 6);
}

TEST_CASE("workers: RS and RX go straight to the one whose bits their cookie has") {
  Workers four;
  for (std::uint32_t w = 0; w < 4; ++w) {
    const std::uint32_t cookie = w << 30 | 0x1234;
    four.socket->deliver(kHolder, kNode, rs(kSession).cookie(cookie).build());
    four.socket->deliver(kHolder, kNode, rx(kSession.client_side).cookie(cookie).build());
  }
  CHECK(four.settle() == std::vector<std::size_t>{2, 2, 2, 2});
  CHECK(four.asked == std::vector<int>(4));
}

TEST_CASE("workers: NA and NC find the one that knows their session, whatever the cookie; exactly one gets each") {
  for (int known = -1; known < 4; ++known)
    for (std::uint32_t cookie = 0; cookie < 4; ++cookie) {
      Workers four;
      four.known = known;
      four.socket->deliver(kHolder, kNode, na(kSession).cookie(cookie).build());
      four.socket->deliver(kHolder, kNode, nc(kSession).cookie(cookie).build());
      const auto kept = four.settle();
      CHECK(kept[0] + kept[1] + kept[2] + kept[3] == 2);  // known to nobody: counted once as such
      if (known >= 0) CHECK(kept[static_cast<std::size_t>(known)] == 2);
    }
}

TEST_CASE("workers: an odd number of them is asked one by one, also with the largest cookies") {
  for (std::uint32_t cookie = 0xfffffff8; cookie != 8; ++cookie)
    for (int known = 0; known < 3; ++known) {
      Workers three(3);
      three.known = known;
      three.socket->deliver(kHolder, kNode, na(kSession).cookie(cookie).build());
      CHECK(three.settle()[static_cast<std::size_t>(known)] == 1);
    }
}

TEST_CASE("workers: an ICMP error goes to the one whose QS it quotes") {
  Workers four;
  const Buffer quoted = qs(kSession.client_side).cookie(2u << 30).build();
  four.socket->deliver_unreachable({kHolder.address, 4711, quoted});
  std::size_t found = 0;
  for (int round = 0; round < 3; ++round)
    for (unsigned w = 0; w < 4; ++w) {
      static_cast<void>(four.workers[w]->receive());
      for (const engine::Unreachable& error : four.workers[w]->unreachable_peers()) {
        CHECK(w == 2);
        CHECK(error.peer == kHolder.address);
        CHECK(error.source_port == 4711);
        CHECK(Buffer(error.message.begin(), error.message.end()) == quoted);
        ++found;
      }
    }
  CHECK(found == 1);
}

TEST_CASE("workers: what is no message stays where it came in") {
  Workers four;
  four.socket->deliver(kHolder, kNode, Buffer(5));
  four.socket->deliver(kHolder, kNode, Buffer(40, 0xff));
  CHECK(four.settle() == std::vector<std::size_t>{2, 0, 0, 0});
}

TEST_CASE("workers: what nobody takes is bounded and counted") {
  MessageExchange exchange(2);
  std::vector<MessageExchange::Handed> many(MessageExchange::kMaxWaiting + 7);
  exchange.leave(1, many);
  CHECK(many.empty());
  CHECK(exchange.lost(1) == 7);
  CHECK(exchange.take(1).size() == MessageExchange::kMaxWaiting);
  CHECK(exchange.take(1).empty());
}

TEST_CASE("workers: each message is kept once with all of them running") {
  MessageExchange exchange(4);
  constexpr std::size_t kMessages = 20'000;
  std::atomic<std::size_t> kept{0};
  std::vector<std::atomic<int>> times(kMessages);
  const auto work = [&](unsigned w) {
    WorkerMessages messages(exchange, w, nullptr);
    messages.set_expects([w](Octets octets) { return octets[octets.size() - 1] % 4 == w; });
    while (kept < kMessages) {
      for (const auto& message : messages.receive()) {
        ++times[wire::decode(message.octets)->message.cookie.value];
        ++kept;
      }
      std::this_thread::yield();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned w = 0; w < 4; ++w) threads.emplace_back(work, w);
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    std::vector<MessageExchange::Handed> one;
    one.push_back({kHolder, kNode, na(kSession).cookie(i).build(), 0, 0});
    exchange.leave(i % 4, one);
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::atomic<int>& one : times) CHECK(one == 1);
  for (unsigned w = 0; w < 4; ++w) CHECK(exchange.lost(w) == 0);
}
