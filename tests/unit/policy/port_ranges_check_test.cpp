// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "asrp/policy/port_ranges.hpp"
#include "support/builders.hpp"
#include "support/policy_builders.hpp"

using namespace asrp;
using namespace asrp::policy;
using namespace asrp::test;

namespace {

ClientNetwork by_prefix(std::initializer_list<const char*> clients, std::initializer_list<const char*> outside) {
  ClientNetwork n = network(clients, outside);
  n.mapping = ClientMapping::prefix;
  return n;
}

ClientNetwork with_ports(ClientNetwork n, std::uint16_t first, std::uint16_t last, std::uint32_t each = 1024) {
  n.first_port = first;
  n.last_port = last;
  n.ports_per_client = each;
  return n;
}

/// "networks[0].clients: found ...", one a line.
std::string problems(const PortRangeConfig& config) {
  std::string text;
  for (const PortRangeProblem& p : PortRanges::check(config)) {
    if (p.table == PortRangeProblem::Table::network) text += "networks[" + std::to_string(p.index) + "].";
    if (p.table == PortRangeProblem::Table::override_) text += "overrides[" + std::to_string(p.index) + "].";
    text += p.key + ": " + p.message + "\n";
  }
  return text;
}

const ClientNetwork kOffice = network({"10.0.0.0/24"}, {"203.0.113.0/29"});

}  // namespace

TEST_CASE("a right configuration has no problems") {
  CHECK(problems({}) == "");
  CHECK(problems({{kOffice}, {}}) == "");
  CHECK(problems({{kOffice, by_prefix({"fd00::/48"}, {"2001:db8::/48"})},
                  {{address("10.0.0.9"), address("203.0.113.9"), 1, 65535}}}) == "");
}

TEST_CASE("blocks: none, host bits, lengths, families, sizes") {
  CHECK(problems({{network({}, {})}, {}}) ==
        "networks[0].clients: is empty, allowed is at least one prefix\n"
        "networks[0].outside: is empty, allowed is at least one prefix\n");
  CHECK(problems({{network({"10.0.0.1/24", "fd00::/120"}, {"203.0.113.0/29", "2001:db8::1"})}, {}}) ==
        "networks[0].clients: found 10.0.0.1/24, which has host bits; did you mean 10.0.0.0/24?\n"
        "networks[0].clients: found fd00::/120, which is not IPv4 as the first of clients is\n"
        "networks[0].outside: found 2001:db8::1/128, which is not IPv4 as the first of clients is\n");
  ClientNetwork too_long = kOffice;
  too_long.clients[0].length = 33;
  CHECK(problems({{too_long}, {}}) == "networks[0].clients: found 10.0.0.0/33, allowed is a prefix length up to 32\n");
  CHECK(problems({{network({"fd00::/64"}, {"2001:db8::/95"})}, {}}) ==
        "networks[0].clients: found fd00::/64, more than 2^32 addresses; allowed is a prefix length from 96, or mapping = "
        "\"prefix\"\n"
        "networks[0].outside: found 2001:db8::/95, more than 2^32 addresses; allowed is a prefix length from 96, or mapping = "
        "\"prefix\"\n");
}

TEST_CASE("ports: none, too few, fewer than slices") {
  CHECK(problems({{with_ports(kOffice, 0, 5)}, {}}) ==
        "networks[0].ports: found 0-5, allowed is FIRST-LAST with ports from 1 to 65535\n");
  CHECK(problems({{with_ports(kOffice, 2000, 1999, 0)}, {}}) ==
        "networks[0].ports: found 2000-1999, allowed is FIRST-LAST with ports from 1 to 65535\n"
        "networks[0].ports_per_client: found 0, allowed is 1 to 65535\n");
  CHECK(problems({{with_ports(kOffice, 2000, 2099, 101)}, {}}) ==
        "networks[0].ports_per_client: found 101, allowed is 1 to 100\n");
  CHECK(problems({{with_ports(kOffice, 1024, 65535, 15)}, {}}) ==
        "networks[0].ports_per_client: found 15, allowed is at least one port for each of the 16 slices\n");
  CHECK(problems({{with_ports(kOffice, 1024, 65535, 16)}, {}}) == "");
  CHECK(problems({{kOffice}, {}, 0}) == "slices: found 0, allowed is 1 to 256\n");
  CHECK(problems({{kOffice}, {}, 257}) == "slices: found 257, allowed is 1 to 256\n");
  CHECK(problems({{kOffice}, {}, 256}) == "");
  // That ports are fewer than so many slices follows from it.
  CHECK(problems({{with_ports(kOffice, 1024, 65535, 256)}, {{address("10.0.0.9"), address("203.0.113.9"), 1, 256}}, 257}) ==
        "slices: found 257, allowed is 1 to 256\n");
}

TEST_CASE("not enough outside ports for the clients") {
  CHECK(problems({{network({"10.0.0.0/24"}, {"203.0.113.0/30"})}, {}}) ==
        "networks[0].outside: found 4 addresses, but 256 clients with 1024 ports each need 5\n");
  CHECK(problems({{network({"10.0.0.0/24"}, {"203.0.113.0/30", "203.0.113.4"})}, {}}) == "");
  CHECK(problems({{with_ports(network({"10.0.0.0/31"}, {"203.0.113.0"}), 1000, 2999, 1000)}, {}}) == "");
  CHECK(problems({{with_ports(network({"10.0.0.0/31"}, {"203.0.113.0"}), 1000, 2998, 1000)}, {}}) ==
        "networks[0].outside: found 1 addresses, but 2 clients with 1000 ports each need 2\n");
}

TEST_CASE("mapping by prefix: one block on each side, of the same length") {
  CHECK(problems({{by_prefix({"fd00::/48", "fd01::/48"}, {"2001:db8::/48", "2001:db9::/48", "2001:dba::/48"})}, {}}) ==
        "networks[0].clients: found 2 prefixes, allowed with mapping = \"prefix\" is one\n"
        "networks[0].outside: found 3 prefixes, allowed with mapping = \"prefix\" is one\n");
  CHECK(problems({{by_prefix({"fd00::/48"}, {"2001:db8::/56"})}, {}}) ==
        "networks[0].outside: found 2001:db8::/56, allowed with mapping = \"prefix\" is the length of fd00::/48\n");
  CHECK(problems({{by_prefix({"10.0.0.0/24"}, {"203.0.113.0/24"})}, {}}) == "");
}

TEST_CASE("blocks that overlap") {
  CHECK(problems({{network({"10.0.0.0/24", "10.0.0.64/26"}, {"203.0.113.0/28"})}, {}}) ==
        "networks[0].clients: found 10.0.0.64/26, which overlaps 10.0.0.0/24, clients of the same network\n");
  CHECK(problems({{network({"10.0.0.0/28"}, {"203.0.113.0/29"}), network({"10.0.0.0/24"}, {"203.0.113.8/29"})}, {}}) ==
        "networks[0].clients: found 10.0.0.0/28, which overlaps 10.0.0.0/24, clients of another network\n");
  CHECK(problems({{kOffice, network({"10.1.0.0/24"}, {"203.0.113.4", "203.0.113.16/29"})}, {}}) ==
        "networks[1].outside: found 203.0.113.4/32, which overlaps 203.0.113.0/29, outside of another network with the same "
        "ports\n");
  CHECK(problems({{kOffice, by_prefix({"10.1.0.0/29"}, {"203.0.113.0/29"})}, {}}) ==
        "networks[1].outside: found 203.0.113.0/29, which overlaps 203.0.113.0/29, outside of another network with the same "
        "ports\n");
  CHECK(problems({{network({"10.0.0.0/24"}, {"10.0.0.128/25"})}, {}}) ==
        "networks[0].outside: found 10.0.0.128/25, which overlaps 10.0.0.0/24, clients of the same network\n");
  CHECK(problems({{network({"10.0.0.128/25"}, {"10.0.0.0/24"})}, {}}) ==
        "networks[0].outside: found 10.0.0.0/24, which overlaps 10.0.0.128/25, clients of the same network\n");
}

TEST_CASE("overlaps are found across the kinds of blocks between") {
  // The widest block is two levels up; the one between shares its address but not its ports.
  const ClientNetwork wide = with_ports(network({"10.1.0.0/28"}, {"203.0.113.0/28"}), 1024, 32767);
  const ClientNetwork between = with_ports(network({"10.2.0.0/30"}, {"203.0.113.0/29"}), 32768, 65535);
  const ClientNetwork inner = with_ports(network({"10.3.0.0/30"}, {"203.0.113.0/30"}), 30000, 32767, 64);
  CHECK(problems({{wide, between}, {}}) == "");
  CHECK(problems({{wide, between, inner}, {}}) ==
        "networks[2].outside: found 203.0.113.0/30, which overlaps 203.0.113.0/28, outside of another network with the same "
        "ports\n");
}

TEST_CASE("blocks one within the other: each is told of the one that is next around it") {
  CHECK(problems({{network({"10.0.0.0/16", "10.0.0.0/20", "10.0.0.0/24"}, {"203.0.112.0/21"})}, {}}) ==
        "networks[0].clients: found 10.0.0.0/20, which overlaps 10.0.0.0/16, clients of the same network\n"
        "networks[0].clients: found 10.0.0.0/24, which overlaps 10.0.0.0/20, clients of the same network\n");
  // Around clients every outside block is wrong.
  const ClientNetwork wide = with_ports(network({"10.1.0.0/28"}, {"10.0.0.0/16"}), 1024, 32767);
  const ClientNetwork between = with_ports(network({"10.2.0.0/28"}, {"10.0.0.0/20"}), 32768, 65535);
  CHECK(problems({{wide, between, kOffice}, {}}) ==
        "networks[0].outside: found 10.0.0.0/16, which overlaps 10.0.0.0/24, clients of another network\n"
        "networks[1].outside: found 10.0.0.0/20, which overlaps 10.0.0.0/24, clients of another network\n");
}

TEST_CASE("a block that overlaps two others is told of both") {
  const ClientNetwork wide = network({"10.0.0.0/16"}, {"203.0.112.0/21"});
  const ClientNetwork between = network({"10.1.0.0/24"}, {"10.0.0.0/17"});
  const ClientNetwork inner = network({"10.0.0.0/24"}, {"203.0.100.0/24"});
  CHECK(problems({{wide, between, inner}, {}}) ==
        "networks[1].outside: found 10.0.0.0/17, which overlaps 10.0.0.0/16, clients of another network\n"
        "networks[1].outside: found 10.0.0.0/17, which overlaps 10.0.0.0/24, clients of another network\n"
        "networks[2].clients: found 10.0.0.0/24, which overlaps 10.0.0.0/16, clients of another network\n");
}

TEST_CASE("overrides: the client") {
  const ClientOverride good{address("10.0.0.9"), address("203.0.113.9"), 1, 65535};
  ClientOverride stranger = good;
  stranger.client = address("10.0.1.0");
  CHECK(problems({{kOffice}, {stranger}}) ==
        "overrides[0].client: found 10.0.1.0, allowed is an address in the clients of a network\n");
  ClientOverride again = good;
  again.outside = address("203.0.113.10");
  CHECK(problems({{kOffice}, {good, again}}) == "overrides[1].client: found 10.0.0.9 a second time\n");
  CHECK(problems({{by_prefix({"10.0.0.0/24"}, {"203.0.112.0/24"})}, {good}}) ==
        "overrides[0].client: found 10.0.0.9 of 10.0.0.0/24, a network with mapping = \"prefix\"; allowed is one with "
        "\"ports\"\n");
}

TEST_CASE("overrides: outside and ports") {
  const ClientOverride good{address("10.0.0.9"), address("203.0.113.9"), 1, 65535};
  ClientOverride six = good;
  six.outside = address("2001:db8::1");
  CHECK(problems({{kOffice}, {six}}) == "overrides[0].outside: found 2001:db8::1, which is not IPv4 as the client is\n");
  ClientOverride inside = good;
  inside.outside = address("10.0.0.77");
  CHECK(problems({{kOffice}, {inside}}) ==
        "overrides[0].outside: found 10.0.0.77, which lies in 10.0.0.0/24, clients of a network\n");
  ClientOverride none = good;
  none.first_port = 0;
  CHECK(problems({{kOffice}, {none}}) ==
        "overrides[0].ports: found 0-65535, allowed is FIRST-LAST with ports from 1 to 65535\n");
  ClientOverride few = good;
  few.last_port = 15;
  CHECK(problems({{kOffice}, {few}}) ==
        "overrides[0].ports: found 1-15, allowed is at least one port for each of the 16 slices\n");
}

TEST_CASE("overrides must not overlap ranges that others have") {
  const auto on_first = [](const char* client, std::uint16_t first, std::uint16_t last) {
    return ClientOverride{address(client), address("203.0.113.0"), first, last};
  };
  CHECK(problems({{kOffice}, {on_first("10.0.0.9", 2000, 2100)}}) ==
        "overrides[0].ports: found 2000-2100 of 203.0.113.0, which overlaps the ports of client 10.0.0.0\n");
  CHECK(problems({{kOffice}, {on_first("10.0.0.0", 2000, 2100)}}) ==
        "overrides[0].ports: found 2000-2100 of 203.0.113.0, which overlaps the ports of client 10.0.0.1\n");
  CHECK(problems({{kOffice}, {on_first("10.0.0.0", 1, 2047)}}) == "");
  CHECK(problems({{kOffice}, {on_first("10.0.0.9", 1, 1023)}}) == "");                            // below the usable ports
  CHECK(problems({{kOffice}, {{address("10.0.0.9"), address("203.0.113.7"), 1, 65535}}}) == "");  // address without clients
  // Ports that the overridden client has by formula are free, though it comes later in the table.
  CHECK(problems({{kOffice}, {on_first("10.0.0.9", 2048, 3071), {address("10.0.0.1"), address("203.0.113.9"), 1, 100}}}) == "");
  CHECK(problems({{kOffice}, {on_first("10.0.0.9", 1, 500), on_first("10.0.0.8", 100, 200), on_first("10.0.0.7", 450, 600)}}) ==
        "overrides[1].ports: found 100-200 of 203.0.113.0, which overlaps the ports of client 10.0.0.9\n"
        "overrides[2].ports: found 450-600 of 203.0.113.0, which overlaps the ports of client 10.0.0.9\n");
  CHECK(problems({{kOffice}, {on_first("10.0.0.9", 400, 500), on_first("10.0.0.8", 300, 400)}}) ==
        "overrides[1].ports: found 300-400 of 203.0.113.0, which overlaps the ports of client 10.0.0.9\n");
  const auto elsewhere = [](const char* client, const char* outside, std::uint16_t first, std::uint16_t last) {
    return ClientOverride{address(client), address(outside), first, last};
  };
  CHECK(problems({{kOffice},
                  {elsewhere("10.0.0.9", "203.0.113.5", 1000, 2000), elsewhere("10.0.0.8", "203.0.113.6", 500, 600),
                   elsewhere("10.0.0.7", "203.0.113.6", 550, 650)}}) ==
        "overrides[2].ports: found 550-650 of 203.0.113.6, which overlaps the ports of client 10.0.0.8\n");
  const ClientNetwork rewritten = by_prefix({"10.5.0.0/24"}, {"203.0.112.0/24"});
  CHECK(problems({{kOffice, rewritten}, {{address("10.0.0.9"), address("203.0.112.3"), 5, 100}}}) ==
        "overrides[0].ports: found 5-100 of 203.0.112.3, which overlaps the ports of client 10.5.0.3\n");
}

TEST_CASE("all problems are told at once, in the order of the tables, and a wrong network hides nothing of others") {
  const ClientOverride clash{address("10.0.0.9"), address("203.0.113.0"), 2000, 2100};
  const ClientOverride stranger{address("10.0.1.0"), address("203.0.113.9"), 0, 1};
  CHECK(problems({{network({"10.1.0.1/24"}, {}), kOffice}, {clash, stranger}, 0}) ==
        "slices: found 0, allowed is 1 to 256\n"
        "networks[0].clients: found 10.1.0.1/24, which has host bits; did you mean 10.1.0.0/24?\n"
        "networks[0].outside: is empty, allowed is at least one prefix\n"
        "overrides[0].ports: found 2000-2100 of 203.0.113.0, which overlaps the ports of client 10.0.0.0\n"
        "overrides[1].client: found 10.0.1.0, allowed is an address in the clients of a network\n"
        "overrides[1].ports: found 0-1, allowed is FIRST-LAST with ports from 1 to 65535\n");
}

namespace {

/// A small world in which nearly everything overlaps: 16 addresses, 24 ports.
PortRangeConfig crowded(std::mt19937& random) {
  const auto below = [&random](unsigned bound) { return static_cast<unsigned>(random() % bound); };
  const auto block = [&] {
    const unsigned bits = below(3);
    return Prefix{IpAddress::v4(0x0a000000u + (below(16) >> bits << bits)), static_cast<std::uint8_t>(32 - bits)};
  };
  PortRangeConfig config;
  config.slices = 1 + below(2);
  for (unsigned i = 1 + below(2); i > 0; --i) {
    ClientNetwork n;
    n.mapping = below(4) == 0 ? ClientMapping::prefix : ClientMapping::ports;
    n.clients.push_back(block());
    if (below(3) == 0) n.clients.push_back(block());
    n.outside.push_back(block());
    if (below(3) == 0) n.outside.push_back(block());
    n.first_port = static_cast<std::uint16_t>(1 + below(12));
    n.last_port = static_cast<std::uint16_t>(n.first_port + below(12));
    n.ports_per_client = 1 + below(4);
    config.networks.push_back(n);
  }
  for (unsigned i = below(3); i > 0; --i) {
    const auto first = static_cast<std::uint16_t>(1 + below(20));
    config.overrides.push_back({IpAddress::v4(0x0a000000u + below(16)), IpAddress::v4(0x0a000000u + below(16)), first,
                                static_cast<std::uint16_t>(first + below(5))});
  }
  return config;
}

/// The same question asked of each address and each port by itself.
class Counted {
 public:
  explicit Counted(const PortRangeConfig& config) : config_(config) {
    for (const ClientNetwork& n : config.networks) add(n);
    for (const ClientOverride& o : config.overrides) add(o);
    for (const auto& [client, range] : formula_) {
      if (overridden_.count(client) != 0) continue;
      for (std::uint32_t p = range.first_port; p <= range.last_port; ++p) take(range.outside, static_cast<std::uint16_t>(p));
    }
    for (const auto& claimed : reserved_) good_ = good_ && clients_.count(claimed.first) == 0;
  }
  [[nodiscard]] bool good() const { return good_; }

 private:
  static std::vector<IpAddress> all(const std::vector<Prefix>& blocks) {
    std::vector<IpAddress> list;
    for (const Prefix& b : blocks) {
      for (std::uint32_t i = 0; i < 1u << b.host_bits(); ++i)
        list.push_back(IpAddress::v4(load_u32(b.address.octets(), 0) + i));
    }
    std::sort(list.begin(), list.end());
    return list;
  }
  void take(const IpAddress& outside, std::uint16_t port) { good_ = taken_.insert({outside, port}).second && good_; }

  void add(const ClientNetwork& n) {
    const std::vector<IpAddress> clients = all(n.clients);
    const std::vector<IpAddress> outside = all(n.outside);
    const bool rewrites = n.mapping == ClientMapping::prefix;
    const std::uint32_t first = rewrites ? 0 : n.first_port;
    const std::uint32_t last = rewrites ? 65535 : n.last_port;
    const std::uint32_t each = rewrites ? 65536 : n.ports_per_client;
    const std::size_t per_address = (last - first + 1) / each;
    if (per_address == 0 || each < config_.slices || clients.size() > outside.size() * per_address) good_ = false;
    if (rewrites && (n.clients.size() != 1 || n.outside.size() != 1 || clients.size() != outside.size())) good_ = false;
    for (const IpAddress& a : outside) {
      for (std::uint32_t p = first; p <= (rewrites ? 100u : last); ++p) good_ = reserved_.insert({a, p}).second && good_;
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
      good_ = clients_.insert(clients[i]).second && good_;
      if (rewrites) rewritten_.insert(clients[i]);
      if (!good_) return;
      const std::uint32_t low = first + static_cast<std::uint32_t>(i % per_address) * each;
      const std::uint32_t high = rewrites ? 100 : low + each - 1;
      formula_[clients[i]] = {outside[i / per_address], static_cast<std::uint16_t>(low), static_cast<std::uint16_t>(high)};
    }
  }

  void add(const ClientOverride& o) {
    if (clients_.count(o.client) == 0 || rewritten_.count(o.client) != 0 || clients_.count(o.outside) != 0) good_ = false;
    if (std::uint32_t{o.last_port} - o.first_port + 1 < config_.slices) good_ = false;
    good_ = overridden_.insert(o.client).second && good_;
    for (std::uint32_t p = o.first_port; p <= o.last_port; ++p) take(o.outside, static_cast<std::uint16_t>(p));
  }

  const PortRangeConfig& config_;
  bool good_ = true;
  std::set<IpAddress> clients_;
  std::set<IpAddress> rewritten_;
  std::set<IpAddress> overridden_;
  std::map<IpAddress, PortRange> formula_;
  std::set<std::pair<IpAddress, std::uint16_t>> taken_;
  std::set<std::pair<IpAddress, std::uint32_t>> reserved_;  // outside ports that networks claim, in use or not
};

}  // namespace

TEST_CASE("crowded configurations: no problem is found exactly where counting finds none") {
  std::mt19937 random(4787);
  std::size_t good = 0;
  std::size_t with_overrides = 0;
  for (int round = 0; round < 60000; ++round) {
    const PortRangeConfig config = crowded(random);
    const bool counted = Counted(config).good();
    CAPTURE(round);
    if (PortRanges::check(config).empty() != counted) FAIL_CHECK(counted, " is counted, but found: ", problems(config));
    good += counted ? 1 : 0;
    with_overrides += counted && !config.overrides.empty() ? 1 : 0;
  }
  CHECK(good > 1000);
  CHECK(with_overrides > 100);
}
