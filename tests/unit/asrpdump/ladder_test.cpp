// SPDX-License-Identifier: BSD-3-Clause
// Which sessions are drawn where not all can be. (report/ladder.cpp)
#include "report/ladder.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tape.hpp"

using namespace asrp;
using namespace asrp::test;
using namespace asrp::test::lab;

namespace {

std::string node(int number) { return "10.9.0." + std::to_string(number); }

/// One session of two is drawn. Each has a client port of its own.
class Choice {
 public:
  Choice()
      : report_(
            options(), [this](std::string_view text) { out_ += text; }, [](std::string_view) {}) {}

  static TuplePair pair(int client) {
    const std::string from = "203.0.113.7:" + std::to_string(client);
    return {tcp_tuple(from, "198.51.100.1:80"), tcp_tuple(from, "10.0.0.1:80")};
  }
  /// NS of the first, the second ... node.
  Choice& created(int client, int nodes) {
    for (int n = 1; n <= nodes; ++n) {
      tape_.add(standalone(node(n) + ":51200", "10.0.0.1:51200", ns(pair(client)).node(node(n)).cookie(7)));
    }
    return *this;
  }
  /// A node asks and gets it.
  Choice& restored(int client, int at) {
    tape_.add(standalone(node(at) + ":1000", "10.0.0.1:51200", qs(pair(client).client_side).cookie(5)));
    tape_.add(standalone("10.0.0.1:1000", node(at) + ":51200", rs(pair(client)).cookie(5)));
    return *this;
  }
  /// All kinds of messages that one node and its holders exchange when nothing moves.
  Choice& much_at_one_node(int client) {
    created(client, 1).restored(client, 1);
    tape_.add(standalone("10.0.0.1:51200", node(1) + ":51200", na(pair(client)).cookie(7)));
    tape_.add(standalone(node(1) + ":1001", "10.0.0.2:51200", qs(pair(client).client_side).cookie(6)));
    tape_.add(standalone("10.0.0.2:1001", node(1) + ":51200", rx(pair(client).client_side).cookie(6)));
    tape_.add(inline_of(tcp(pair(client).server_side.reversed()).syn_ack().build(), ps(pair(client)).cookie(7)));
    return *this;
  }
  bool draws(int client) {
    tape_.end();
    return out_.find("203.0.113.7:" + std::to_string(client)) != std::string::npos;
  }

 private:
  static dump::LadderOptions options() {
    dump::LadderOptions options;
    options.limit = 1;
    return options;
  }
  std::string out_;
  dump::LadderReport report_;
  Tape tape_{report_};
};

}  // namespace

TEST_CASE("of sessions that tell the same, the first is drawn") {
  CHECK(Choice().created(41000, 1).created(42000, 1).draws(41000));
}

TEST_CASE("more messages tell more") { CHECK(Choice().created(41000, 1).much_at_one_node(42000).draws(42000)); }

TEST_CASE("a node that gets a session from its holder tells more than all that happens at one node") {
  CHECK(Choice().much_at_one_node(41000).created(42000, 1).restored(42000, 2).draws(42000));
  CHECK(Choice().much_at_one_node(41000).created(42000, 1).restored(42000, 1).draws(41000));
}

TEST_CASE("so does a second node that sends NS") { CHECK(Choice().much_at_one_node(41000).created(42000, 2).draws(42000)); }

TEST_CASE("more nodes tell more, but more than four nothing new") {
  CHECK(Choice().created(41000, 3).created(42000, 4).draws(42000));
  CHECK(Choice().created(41000, 6).created(42000, 4).restored(42000, 4).draws(42000));
}
