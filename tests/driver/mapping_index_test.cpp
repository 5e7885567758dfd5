// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-node/mapping_index.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "support/builders.hpp"
#include "support/seeded_random.hpp"

using namespace asrp;
using namespace asrp::test;
using node::MappedSession;
using node::MappingIndex;
using Added = MappingIndex::Added;

namespace {

constexpr Protocol kUdp = Protocol::udp;

MappedSession talk(std::string_view inside, std::string_view outside, std::string_view remote, Protocol protocol = kUdp) {
  return {protocol, endpoint(inside), endpoint(outside), endpoint(remote)};
}

/// As a worker does it.
Added add(MappingIndex& index, const MappedSession& session) {
  const Added added = index.pin(session);
  index.unpin(session, true);
  return added;
}

/// Removes what is older, in pieces of three.
void remove_older(MappingIndex& index) {
  std::uint32_t place = 0;
  while (index.remove_older(place, 3)) continue;
}

}  // namespace

TEST_CASE("a mapping lives as long as one of its sessions, and tells whom it talks to") {
  MappingIndex index(1, 100);
  const Endpoint inside = endpoint("10.0.0.1:5000");
  const Endpoint outside = endpoint("203.0.113.8:2240");
  CHECK_FALSE(index.outside_of(kUdp, inside));
  CHECK(add(index, talk("10.0.0.1:5000", "203.0.113.8:2240", "198.51.100.1:53")) == Added::added);
  CHECK(add(index, talk("10.0.0.1:5000", "203.0.113.8:2240", "198.51.100.1:53")) == Added::known);
  CHECK(add(index, talk("10.0.0.1:5000", "203.0.113.8:2240", "198.51.100.1:54")) == Added::added);
  CHECK(add(index, talk("10.0.0.1:5000", "203.0.113.8:2240", "198.51.100.2:53")) == Added::added);
  CHECK(index.mappings() == 1);
  CHECK(index.sessions() == 3);
  CHECK(index.outside_of(kUdp, inside) == outside);
  CHECK(index.inside_of(kUdp, outside) == inside);
  CHECK_FALSE(index.outside_of(Protocol::tcp, inside));  // protocols have ports of their own
  CHECK_FALSE(index.inside_of(Protocol::tcp, outside));
  CHECK_FALSE(index.inside_of(kUdp, endpoint("203.0.113.8:2241")));
  CHECK(index.has_session_with(kUdp, outside, address("198.51.100.1")));
  CHECK_FALSE(index.has_session_with(kUdp, outside, address("198.51.100.3")));

  index.remove(talk("10.0.0.1:5000", "203.0.113.8:2240", "198.51.100.1:53"));
  index.remove(talk("10.0.0.1:5000", "203.0.113.8:2240", "198.51.100.1:53"));  // told twice
  CHECK(index.has_session_with(kUdp, outside, address("198.51.100.1")));
  index.remove(talk("10.0.0.1:5000", "203.0.113.8:2240", "198.51.100.1:54"));
  CHECK_FALSE(index.has_session_with(kUdp, outside, address("198.51.100.1")));
  CHECK(index.outside_of(kUdp, inside) == outside);
  index.remove(talk("10.0.0.1:5000", "203.0.113.8:2240", "198.51.100.2:53"));
  CHECK_FALSE(index.outside_of(kUdp, inside));
  CHECK_FALSE(index.inside_of(kUdp, outside));
  CHECK(index.mappings() == 0);
  CHECK(index.sessions() == 0);
}

TEST_CASE("of several mappings of an endpoint the oldest counts, whatever has ended before") {
  MappingIndex index(1, 100);
  add(index, talk("10.0.0.1:1", "203.0.113.8:2250", "198.51.100.1:1"));
  index.remove(talk("10.0.0.1:1", "203.0.113.8:2250", "198.51.100.1:1"));  // its place is used again
  add(index, talk("10.0.0.1:5000", "203.0.113.8:2241", "198.51.100.1:53"));
  add(index, talk("10.0.0.1:5000", "203.0.113.8:2242", "198.51.100.1:53"));
  add(index, talk("10.0.0.1:6000", "203.0.113.8:2241", "198.51.100.9:53"));
  CHECK(index.outside_of(kUdp, endpoint("10.0.0.1:5000")) == endpoint("203.0.113.8:2241"));
  CHECK(index.inside_of(kUdp, endpoint("203.0.113.8:2241")) == endpoint("10.0.0.1:5000"));
  CHECK_FALSE(index.has_session_with(kUdp, endpoint("203.0.113.8:2241"), address("198.51.100.9")));
  index.remove(talk("10.0.0.1:5000", "203.0.113.8:2241", "198.51.100.1:53"));
  CHECK(index.outside_of(kUdp, endpoint("10.0.0.1:5000")) == endpoint("203.0.113.8:2242"));
  CHECK(index.inside_of(kUdp, endpoint("203.0.113.8:2241")) == endpoint("10.0.0.1:6000"));
}

TEST_CASE("there is a limit, and room again behind it") {
  MappingIndex index(1, 2);
  CHECK(add(index, talk("10.0.0.1:1", "203.0.113.8:2241", "198.51.100.1:1")) == Added::added);
  CHECK(add(index, talk("10.0.0.1:1", "203.0.113.8:2241", "198.51.100.1:2")) == Added::added);
  CHECK(add(index, talk("10.0.0.1:1", "203.0.113.8:2241", "198.51.100.1:3")) == Added::full);
  CHECK(add(index, talk("10.0.0.1:1", "203.0.113.8:2241", "198.51.100.1:2")) == Added::known);
  index.remove(talk("10.0.0.1:1", "203.0.113.8:2241", "198.51.100.1:1"));
  CHECK(add(index, talk("10.0.0.2:1", "203.0.113.8:3265", "198.51.100.1:3")) == Added::added);
  index.set_limit(3);
  CHECK(add(index, talk("10.0.0.3:1", "203.0.113.8:4289", "198.51.100.1:3")) == Added::added);
}

TEST_CASE("what was only read is told from what somebody has installed") {
  MappingIndex index(1, 100);
  const MappedSession first = talk("10.0.0.1:1", "203.0.113.8:2241", "198.51.100.1:1");
  const MappedSession second = talk("10.0.0.1:2", "203.0.113.8:2242", "198.51.100.1:1");
  index.add_read(first);
  add(index, second);
  index.add_read(second);
  index.remove_read(first);
  index.remove_read(second);
  CHECK_FALSE(index.outside_of(kUdp, first.inside));
  CHECK(index.outside_of(kUdp, second.inside));
  index.add_read(first);
  add(index, first);  // installed meanwhile
  index.remove_read(first);
  CHECK(index.outside_of(kUdp, first.inside));
}

TEST_CASE("what somebody is about to install stays until he has done so") {
  MappingIndex index(1, 100);
  const MappedSession one = talk("10.0.0.1:1", "203.0.113.8:2241", "198.51.100.1:1");
  const auto is_there = [&] { return index.outside_of(kUdp, one.inside).has_value(); };

  SUBCASE("the kernel refuses it") {
    index.pin(one);
    CHECK(is_there());
    index.unpin(one, false);
    CHECK_FALSE(is_there());
  }
  SUBCASE("two at once, of whom one is first") {
    index.pin(one);
    index.pin(one);
    SUBCASE("and says so first") {
      index.unpin(one, true);
      index.unpin(one, false);
    }
    SUBCASE("and says so last") {
      index.unpin(one, false);
      index.unpin(one, true);
    }
    CHECK(is_there());
    index.remove(one);
    CHECK_FALSE(is_there());
  }
  SUBCASE("two at once, and the kernel wants neither") {
    index.pin(one);
    index.pin(one);
    index.unpin(one, false);
    CHECK(is_there());
    index.unpin(one, false);
    CHECK_FALSE(is_there());
  }
  SUBCASE("a look that began before has not seen it") {
    index.pin(one);
    index.begin_stamp();
    remove_older(index);
    index.unpin(one, true);
    CHECK(is_there());
    index.begin_stamp();
    remove_older(index);
    CHECK_FALSE(is_there());
  }
  SUBCASE("the one before it ends meanwhile") {
    add(index, one);
    index.pin(one);
    index.remove(one);
    CHECK(is_there());
    SUBCASE("and it takes its place") {
      index.unpin(one, true);
      CHECK(is_there());
    }
    SUBCASE("after it was in its way") {
      index.unpin(one, false);
      CHECK_FALSE(is_there());
    }
  }
  CHECK(index.sessions() == (is_there() ? 1 : 0));
}

TEST_CASE("what is older than a stamp goes, in pieces; a protocol likewise") {
  MappingIndex index(1, 100);
  for (int i = 1; i <= 20; ++i)
    add(index, talk("10.0.0.1:" + std::to_string(i), "203.0.113.8:" + std::to_string(2240 + i), "198.51.100.1:9",
                    i % 2 == 0 ? kUdp : Protocol::tcp));
  index.begin_stamp();
  for (const int i : {3, 4, 20})
    index.add_read(talk("10.0.0.1:" + std::to_string(i), "203.0.113.8:" + std::to_string(2240 + i), "198.51.100.1:9",
                        i % 2 == 0 ? kUdp : Protocol::tcp));
  add(index, talk("10.0.0.1:99", "203.0.113.8:2299", "198.51.100.1:9"));
  remove_older(index);
  CHECK(index.sessions() == 4);
  CHECK(index.outside_of(kUdp, endpoint("10.0.0.1:20")));
  CHECK(index.outside_of(kUdp, endpoint("10.0.0.1:99")));
  CHECK(index.outside_of(Protocol::tcp, endpoint("10.0.0.1:3")));
  std::uint32_t place = 0;
  while (index.remove_protocol(kUdp, place, 3)) continue;
  CHECK(index.sessions() == 1);
  CHECK(index.outside_of(Protocol::tcp, endpoint("10.0.0.1:3")));
}

TEST_CASE("ten thousand random changes: as a plain list has it") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SeededRandom random(seed);
    MappingIndex index(seed, 400);
    std::vector<std::pair<MappedSession, bool>> list;  // and whether it has the newest stamp
    const auto same = [](const MappedSession& a, const MappedSession& b) {
      return a.protocol == b.protocol && a.inside == b.inside && a.outside == b.outside && a.remote == b.remote;
    };
    for (int step = 0; step < 10000; ++step) {
      const auto number = [&random](std::uint64_t n) { return std::to_string(1 + random.below(n)); };
      const bool six = random.one_in(3);
      const std::string client = number(6);
      const MappedSession one = talk((six ? "[fd00::" + client + "]:" : "10.0.0." + client + ":") + number(4),
                                     (six ? "[2001:db8::1]:" : "203.0.113.8:") + number(20),
                                     (six ? "[2001:db8:2::" + number(4) + "]:" : "198.51.100." + number(4) + ":") + number(3),
                                     random.one_in(4) ? Protocol::tcp : kUdp);
      const auto known = std::find_if(list.begin(), list.end(), [&](const auto& each) { return same(each.first, one); });
      if (random.one_in(500)) {
        if (random.one_in(2)) remove_older(index);
        std::uint32_t place = 0;
        while (index.remove_older(place, 7)) continue;
        std::erase_if(list, [](const auto& each) { return !each.second; });
        index.begin_stamp();
        for (auto& each : list) each.second = false;
      } else if (random.one_in(2)) {
        index.remove(one);
        if (known != list.end()) list.erase(known);
      } else if (known != list.end()) {
        REQUIRE(add(index, one) == Added::known);
        known->second = true;
      } else if (add(index, one) == Added::added) {
        list.emplace_back(one, true);
      } else {
        REQUIRE(list.size() == 400);
      }
      REQUIRE(index.sessions() == list.size());
      const auto inside = std::find_if(list.begin(), list.end(), [&](const auto& each) {
        return each.first.protocol == one.protocol && each.first.inside == one.inside;
      });
      REQUIRE(index.outside_of(one.protocol, one.inside).has_value() == (inside != list.end()));
      const auto owner = index.inside_of(one.protocol, one.outside);
      const bool talks = owner && std::any_of(list.begin(), list.end(), [&](const auto& each) {
                           return each.first.protocol == one.protocol && each.first.inside == *owner &&
                                  each.first.outside == one.outside && each.first.remote.address == one.remote.address;
                         });
      REQUIRE(index.has_session_with(one.protocol, one.outside, one.remote.address) == talks);
    }
  }
}
