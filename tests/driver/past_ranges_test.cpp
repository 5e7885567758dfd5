// SPDX-License-Identifier: BSD-3-Clause
// Port ranges of former configurations: which are kept, for how long, and what of them is needed.
#include "asrpd-node/past_ranges.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "asrpd-node/config.hpp"
#include "driver/node_texts.hpp"
#include "runtime/files.hpp"
#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::node;

namespace {

/// A network of 10.1.0.0/24 with that outside; the rest may be anything.
NatConfig nat_of(const std::string& outside = "192.0.2.0/29", const std::string& more = "", const std::string& slices = "16") {
  return *test::config_of(
              "[node]\nlocal_ips = [\"198.51.100.1\"]\nslice = 3\n"
              "[keys]\nplacement_key = \"000102030405060708090a0b0c0d0e0f\"\n"
              "cookie_keys = [{ key = \"101112131415161718191a1b1c1d1e1f\", use = \"sign\" }]\n[nat]\nslices = " +
              slices +
              "\n"
              "[[networks]]\nname = \"office\"\nclients = [\"10.1.0.0/24\"]\noutside = [\"" +
              outside + "\"]\n" + more)
              .nat;
}

std::string outside_of(const FormerRanges& ranges) { return ranges.ranges.networks.at(0).outside.at(0).to_string(); }

/// A folder that ends with the test.
struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / "asrp-ranges-XXXXXX") {
    std::string name = path.string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

engine::FlowEntry entry(Protocol protocol, const char* inside, const char* outside) {
  const Endpoint far = test::endpoint("203.0.113.1:80");
  engine::FlowEntry out;
  out.tuples = {{test::endpoint(inside), far, protocol}, {test::endpoint(outside), far, protocol}};
  return out;
}

engine::NatOptions with_former(NatConfig now, const RangesState& state) {
  set_former(now, state);
  return now.settings;
}

}  // namespace

TEST_CASE("the first configuration has no past; the same one again changes nothing, other ranges do") {
  RangesState state = next_ranges({}, nat_of(), 1000);
  CHECK(state.past.empty());
  CHECK(state.current->began == 1000);
  state = next_ranges(state, nat_of(), 2000);
  CHECK(state.current->began == 1000);
  state = next_ranges(state, nat_of("192.0.2.8/29"), 3000);
  REQUIRE(state.past.size() == 1);
  CHECK(outside_of(state.past[0]) == "192.0.2.0/29");
  CHECK(state.past[0].began == 1000);
  CHECK(state.past[0].ended == 3000);
  CHECK(state.current->began == 3000);
}

TEST_CASE("slices and names move no range; ports and overrides do") {
  const RangesState state = next_ranges({}, nat_of(), 1000);
  CHECK(next_ranges(state, nat_of("192.0.2.0/29", "", "8"), 2000).past.empty());
  NatConfig renamed = nat_of();
  renamed.names[0] = "other";
  CHECK(next_ranges(state, renamed, 2000).past.empty());
  CHECK(next_ranges(state, renamed, 2000).current->names[0] == "other");
  CHECK(next_ranges(state, nat_of("192.0.2.0/29", "ports = \"2048-65535\"\n"), 2000).past.size() == 1);
  CHECK(next_ranges(
            state,
            nat_of("192.0.2.0/29", "[[overrides]]\nclient = \"10.1.0.9\"\noutside = \"192.0.2.9\"\nports = \"1024-2047\"\n"),
            2000)
            .past.size() == 1);
}

TEST_CASE("ranges that come back are no longer former ones; a clock set back ends nothing before it began") {
  RangesState state = next_ranges({}, nat_of("192.0.2.0/29"), 1000);
  state = next_ranges(state, nat_of("192.0.2.8/29"), 2000);
  state = next_ranges(state, nat_of("192.0.2.0/29"), 500);
  REQUIRE(state.past.size() == 1);
  CHECK(outside_of(state.past[0]) == "192.0.2.8/29");
  CHECK(state.past[0].ended == 2000);
}

TEST_CASE("of many former ranges the newest are kept") {
  RangesState state;
  for (int i = 0; i < 12; ++i) state = next_ranges(state, nat_of("192.0." + std::to_string(i) + ".0/29"), 1000 * i);
  REQUIRE(state.past.size() == kMaxPastRanges);
  CHECK(outside_of(state.past.front()) == "192.0.10.0/29");
  CHECK(outside_of(state.past.back()) == "192.0.3.0/29");
}

TEST_CASE("the configuration gets them in the same order, for engine and commands") {
  RangesState state = next_ranges({}, nat_of("192.0.2.0/29"), 1000);
  state = next_ranges(state, nat_of("192.0.2.8/29"), 2000);
  state = next_ranges(state, nat_of("192.0.2.16/29"), 3000);
  NatConfig nat = nat_of("192.0.2.16/29");
  set_former(nat, state);
  set_former(nat, state);  // not added to what was there
  REQUIRE(nat.former.size() == 2);
  REQUIRE(nat.settings.past_ranges.size() == 2);
  CHECK(outside_of(nat.former[0]) == "192.0.2.8/29");
  CHECK(nat.settings.past_ranges[1].networks[0].outside[0].to_string() == "192.0.2.0/29");
}

TEST_CASE("written and read it is the same; what is damaged is put aside, and read again without a trace it changes nothing") {
  const Folder folder;
  const std::string six = "[[overrides]]\nclient = \"10.1.0.9\"\noutside = \"192.0.2.99\"\nports = \"1024-2047\"\n";
  RangesState state = next_ranges({}, nat_of("192.0.2.0/29", six), 1000);
  state = next_ranges(state, nat_of("192.0.2.8/29"), 2000);
  REQUIRE(save_ranges(folder.path, state));
  std::string trouble;
  CHECK(ranges_json(load_ranges(folder.path, trouble)) == ranges_json(state));
  CHECK(trouble.empty());
  const std::string good = ranges_json(state);
  std::string bad;
  SUBCASE("no JSON") { bad = good.substr(0, good.size() / 2); }
  SUBCASE("a range that does not fit") { bad = good, bad.replace(bad.find("192.0.2.0/29"), 12, "192.0.2.0/32"); }
  SUBCASE("a port that is none") { bad = good, bad.replace(bad.find("65535"), 5, "65536"); }
  SUBCASE("another version") { bad = good, bad.replace(bad.find("\"version\":1"), 11, "\"version\":2"); }
  SUBCASE("a time that is none") { bad = good, bad.replace(bad.find("\"ended\":2000"), 12, "\"ended\":-200"); }
  SUBCASE("a mapping that is none") { bad = good, bad.replace(bad.find("\"ports\""), 7, "\"posts\""); }
  const std::string file = (folder.path / "ranges.json").string();
  REQUIRE(runtime::write_file(file, bad));
  CHECK(read_ranges(folder.path).past.empty());
  CHECK(std::filesystem::exists(file));
  CHECK(load_ranges(folder.path, trouble).past.empty());
  CHECK(trouble.find("damaged") != std::string::npos);
  CHECK(std::filesystem::exists(file + ".unreadable"));
  CHECK(!std::filesystem::exists(file));
}

TEST_CASE("former ranges are needed by sessions that only they explain") {
  RangesState state = next_ranges({}, nat_of("192.0.2.0/29"), 1000);
  state = next_ranges(state, nat_of("192.0.2.8/29"), 2000);
  const NatConfig now = nat_of("192.0.2.16/29");
  state = next_ranges(state, now, 3000);
  FormerSessions sessions(with_former(now, state));
  using Indexes = std::vector<std::size_t>;
  CHECK(sessions.unused(state.past, 3000) == Indexes{0, 1});
  CHECK(sessions.unused(state.past, 2999) == Indexes{1});  // the other one ended later
  CHECK(sessions.unused(state.past, 1999) == Indexes{});
  sessions.see(entry(Protocol::tcp, "10.1.0.1:4000", "192.0.2.16:2048"));
  sessions.see(entry(Protocol::tcp, "10.7.0.1:4000", "192.0.2.0:2048"));
  CHECK(sessions.unused(state.past, 3000) == Indexes{0, 1});
  sessions.see(entry(Protocol::tcp, "10.1.0.1:4000", "192.0.2.0:2048"));
  CHECK(sessions.unused(state.past, 3000) == Indexes{0});
}

TEST_CASE("what is not TCP and of no client any more is an orphan") {
  const RangesState before = next_ranges({}, nat_of(), 1000);
  NatConfig now = nat_of();
  now.settings.ranges.networks[0].clients = {*Prefix::parse("10.1.0.0/25")};
  const FormerSessions sessions(with_former(now, next_ranges(before, now, 2000)));
  CHECK(sessions.is_orphan(entry(Protocol::udp, "10.1.0.200:4000", "192.0.2.3:12288")));
  CHECK(sessions.is_orphan(entry(Protocol::icmp, "10.1.0.200:4000", "192.0.2.3:12288")));
  CHECK(!sessions.is_orphan(entry(Protocol::tcp, "10.1.0.200:4000", "192.0.2.3:12288")));
  CHECK(!sessions.is_orphan(entry(Protocol::udp, "10.1.0.1:4000", "192.0.2.0:2048")));
  CHECK(!sessions.is_orphan(entry(Protocol::udp, "10.9.0.200:4000", "192.0.2.3:12288")));  // somebody else's
}
