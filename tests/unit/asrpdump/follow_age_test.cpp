// SPDX-License-Identifier: BSD-3-Clause
// How long the follower remembers a session, which one leaves first, what it occupies. (report/follow.cpp)
#include <doctest/doctest.h>

#include "report/follow.hpp"
#include "tape.hpp"

using namespace asrp;
using namespace asrp::test;
using namespace asrp::test::lab;

namespace {

struct Ballast : dump::Attachment {
  static constexpr std::size_t kOctets = 5000;
  [[nodiscard]] std::size_t octets() const override { return kOctets; }
};

class Keeper : public dump::Report, private dump::FollowListener {
 public:
  explicit Keeper(dump::FollowOptions options = {}) : follower(options, *this) {}
  void on_packet(const dump::Packet& packet) override { follower.on_packet(packet); }
  void finish() override { follower.finish(); }

  dump::Follower follower;
  bool attaches = false;

 private:
  void on_heard(const dump::Heard& heard) override {
    if (attaches && heard.session != nullptr) heard.session->attachment = std::make_unique<Ballast>();
  }
  void on_gone(dump::Session& /*session*/) override {}
};

TuplePair pair_of(int client) {
  const std::string from = "203.0.113.7:" + std::to_string(client);
  return {tcp_tuple(from, "198.51.100.1:80"), tcp_tuple(from, "10.0.0.1:80")};
}

void begin(Tape& tape, int client) {
  tape.add(inline_of(tcp(pair_of(client).server_side).syn().build(), ns(pair_of(client)).node(kNode1)));
}

}  // namespace

TEST_CASE("a session that talks stays, however long ago it began") {
  Keeper keeper;
  Tape tape(keeper);
  begin(tape, 1);
  for (int n = 0; n < 4; ++n) {
    tape.wait_ms(600'000).add(tcp(pair_of(1).server_side).push().payload("a").build());
    CHECK(keeper.follower.live() == 1);
  }
  tape.wait_ms(901'000).add(tcp("192.0.2.1:1", "192.0.2.2:2").build());
  CHECK(keeper.follower.live() == 0);
}

TEST_CASE("one that has ended makes room first, and that is no loss") {
  Keeper keeper({.max_sessions = 2});
  Tape tape(keeper);
  begin(tape, 1);
  begin(tape, 2);
  tape.add(tcp(pair_of(2).server_side).rst().build());
  begin(tape, 3);
  CHECK(keeper.follower.live() == 2);
  CHECK(keeper.follower.knows(pair_of(1).client_side));
  CHECK_FALSE(keeper.follower.knows(pair_of(2).client_side));
  CHECK(keeper.follower.forgotten() == 0);
  begin(tape, 4);
  CHECK_FALSE(keeper.follower.knows(pair_of(1).client_side));
  CHECK(keeper.follower.forgotten() == 1);
}

TEST_CASE("what hangs on a session counts as long as it is there") {
  Keeper keeper;
  Tape tape(keeper);
  tape.add(standalone("10.9.0.1:51200", "10.0.0.1:51200", ns(kPair).node(kNode1)));
  const std::size_t alone = keeper.follower.octets();
  tape.add(tcp(kPair.server_side).push().payload("a").build());
  const std::size_t waiting = keeper.follower.octets();
  CHECK(waiting >= alone + sizeof(std::array<dump::Waiting, 2>));
  keeper.attaches = true;
  tape.add(tcp(kPair.server_side).push().payload("b").build());
  CHECK(keeper.follower.octets() >= waiting + Ballast::kOctets);
  tape.end();
  CHECK(keeper.follower.octets() < alone);
}
