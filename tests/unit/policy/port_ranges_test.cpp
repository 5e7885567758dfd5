// SPDX-License-Identifier: BSD-3-Clause
// Golden vectors are from an independent implementation. They must never change: gateways of two releases run side by side.
#include "asrp/policy/port_ranges.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "support/builders.hpp"
#include "support/policy_builders.hpp"

using namespace asrp;
using namespace asrp::policy;
using namespace asrp::test;

namespace {

ClientNetwork office() {
  return network({"10.0.1.0/24", "10.0.0.0/25", "10.9.0.0/28"}, {"203.0.113.64/30", "203.0.113.8", "203.0.113.12/31"});
}

std::string shown(const std::optional<PortRange>& range) {
  if (!range) return "none";
  return range->outside.to_string() + " " + std::to_string(range->first_port) + "-" + std::to_string(range->last_port);
}

std::string range_of(const PortRanges& ranges, std::string_view client) { return shown(ranges.range_of(address(client))); }

std::string client_of(const PortRanges& ranges, std::string_view outside) {
  const auto client = ranges.client_of(endpoint(outside));
  return client ? client->to_string() : "none";
}

PortRanges sound(const PortRangeConfig& config) {
  for (const PortRangeProblem& problem : PortRanges::check(config)) FAIL(problem.key, ": ", problem.message);
  return PortRanges(config);
}

}  // namespace

TEST_CASE("golden: ranges by formula") {
  CHECK(kPortRangesVersion == 1);
  const PortRanges ranges = sound({{office()}, {}});
  CHECK(range_of(ranges, "10.0.0.0") == "203.0.113.8 1024-2047");
  CHECK(range_of(ranges, "10.0.0.62") == "203.0.113.8 64512-65535");
  CHECK(range_of(ranges, "10.0.0.63") == "203.0.113.12 1024-2047");
  CHECK(range_of(ranges, "10.0.0.127") == "203.0.113.13 2048-3071");
  CHECK(range_of(ranges, "10.0.1.0") == "203.0.113.13 3072-4095");
  CHECK(range_of(ranges, "10.0.1.200") == "203.0.113.66 14336-15359");
  CHECK(range_of(ranges, "10.0.1.255") == "203.0.113.67 6144-7167");
  CHECK(range_of(ranges, "10.9.0.0") == "203.0.113.67 7168-8191");
  CHECK(range_of(ranges, "10.9.0.15") == "203.0.113.67 22528-23551");

  ClientNetwork six = network({"fd00:1::/120"}, {"2001:db8:ff::/122"});
  six.first_port = 20000;
  six.last_port = 29999;
  six.ports_per_client = 1500;
  const PortRanges sixes = sound({{six}, {}});
  CHECK(range_of(sixes, "fd00:1::") == "2001:db8:ff:: 20000-21499");
  CHECK(range_of(sixes, "fd00:1::5") == "2001:db8:ff:: 27500-28999");
  CHECK(range_of(sixes, "fd00:1::6") == "2001:db8:ff::1 20000-21499");
  CHECK(range_of(sixes, "fd00:1::ff") == "2001:db8:ff::2a 24500-25999");
}

TEST_CASE("a server's packet names its client by destination address and port") {
  const PortRanges ranges = sound({{office()}, {}});
  CHECK(client_of(ranges, "203.0.113.8:1024") == "10.0.0.0");
  CHECK(client_of(ranges, "203.0.113.8:2047") == "10.0.0.0");
  CHECK(client_of(ranges, "203.0.113.8:2048") == "10.0.0.1");
  CHECK(client_of(ranges, "203.0.113.13:3072") == "10.0.1.0");
  CHECK(client_of(ranges, "203.0.113.67:23551") == "10.9.0.15");
  CHECK(client_of(ranges, "203.0.113.67:23552") == "none");  // behind the last client
  CHECK(client_of(ranges, "203.0.113.8:1023") == "none");    // below the usable ports
  CHECK(client_of(ranges, "203.0.113.9:1024") == "none");    // no outside address
  CHECK(client_of(ranges, "203.0.113.8:0") == "none");
  CHECK(client_of(ranges, "[2001:db8::1]:1024") == "none");
}

TEST_CASE("a client beyond the networks has no range") {
  const PortRanges ranges = sound({{office()}, {}});
  for (const char* client : {"10.0.0.128", "10.0.2.0", "10.8.255.255", "10.9.0.16", "9.255.255.255", "0.0.0.0",
                             "255.255.255.255", "203.0.113.8", "::", "::ffff:10.0.0.1"}) {
    CAPTURE(client);
    CHECK(range_of(ranges, client) == "none");
    CHECK_FALSE(ranges.in_range({address(client), 5000}, endpoint("203.0.113.8:1024")));
  }
  CHECK(range_of(PortRanges(), "10.0.0.1") == "none");
  CHECK(client_of(PortRanges(), "203.0.113.8:1024") == "none");
}

TEST_CASE("a session complies only on its client's outside address and in its ports [spec 5-1]") {
  const PortRanges ranges = sound({{office()}, {{address("10.0.0.2"), address("203.0.113.99"), 5000, 6999}}});
  const Endpoint first = endpoint("10.0.0.0:40000");
  CHECK(ranges.in_range(first, endpoint("203.0.113.8:1024")));
  CHECK(ranges.in_range(first, endpoint("203.0.113.8:2047")));
  CHECK_FALSE(ranges.in_range(first, endpoint("203.0.113.8:2048")));
  CHECK_FALSE(ranges.in_range(first, endpoint("203.0.113.8:1023")));
  CHECK_FALSE(ranges.in_range(first, endpoint("203.0.113.12:1024")));
  const Endpoint heavy = endpoint("10.0.0.2:40000");
  CHECK(ranges.in_range(heavy, endpoint("203.0.113.99:6999")));
  CHECK_FALSE(ranges.in_range(heavy, endpoint("203.0.113.99:7000")));
  CHECK_FALSE(ranges.in_range(heavy, endpoint("203.0.113.8:3072")));  // its range by formula is not its own any more
}

TEST_CASE("an override replaces the range by formula, which is then free for another override") {
  const PortRanges ranges = sound({{office()},
                                   {{address("10.0.0.3"), address("203.0.113.8"), 3072, 4095},  // what 10.0.0.2 had
                                    {address("10.0.0.2"), address("203.0.113.99"), 1, 65535}}});
  CHECK(range_of(ranges, "10.0.0.2") == "203.0.113.99 1-65535");
  CHECK(range_of(ranges, "10.0.0.3") == "203.0.113.8 3072-4095");
  CHECK(range_of(ranges, "10.0.0.4") == "203.0.113.8 5120-6143");
  CHECK(client_of(ranges, "203.0.113.8:3072") == "10.0.0.3");
  CHECK(client_of(ranges, "203.0.113.8:4096") == "none");  // what 10.0.0.3 had
  CHECK(client_of(ranges, "203.0.113.99:1") == "10.0.0.2");
  CHECK(client_of(ranges, "203.0.113.99:65535") == "10.0.0.2");
}

TEST_CASE("networks may share an outside address with other ports, also where one block lies in the other") {
  ClientNetwork low = network({"10.0.0.0/28"}, {"203.0.113.0/28"});
  low.last_port = 32767;
  ClientNetwork high = network({"10.1.0.0/28"}, {"203.0.113.4"});
  high.first_port = 32768;
  const PortRanges ranges = sound({{high, low}, {}});
  CHECK(range_of(ranges, "10.0.0.15") == "203.0.113.0 16384-17407");
  CHECK(range_of(ranges, "10.1.0.1") == "203.0.113.4 33792-34815");
  CHECK(client_of(ranges, "203.0.113.4:33792") == "10.1.0.1");
  CHECK(client_of(ranges, "203.0.113.4:32767") == "none");
  CHECK(client_of(ranges, "203.0.113.0:16384") == "10.0.0.15");
}

TEST_CASE("mapping by prefix exchanges the leading bits and keeps all others and the port") {
  ClientNetwork net = network({"fd00:5:0:8000::/49"}, {"2001:db8:77::/49"});
  net.mapping = ClientMapping::prefix;
  const PortRanges ranges = sound({{net}, {}});
  const auto range = ranges.range_of(address("fd00:5:0:ffff:1:2:3:4"));
  REQUIRE(range);
  CHECK(range->keeps_port);
  CHECK(range->outside == address("2001:db8:77:7fff:1:2:3:4"));
  CHECK(client_of(ranges, "[2001:db8:77:7fff:1:2:3:4]:1") == "fd00:5:0:ffff:1:2:3:4");
  CHECK(client_of(ranges, "[2001:db8:77:8000::1]:1") == "none");
  CHECK(range_of(ranges, "fd00:5:0:7fff::1") == "none");
  CHECK(ranges.in_range(endpoint("[fd00:5:0:8000::1]:0"), endpoint("[2001:db8:77::1]:0")));  // an ICMP identifier
  CHECK(ranges.in_range(endpoint("[fd00:5:0:8000::1]:443"), endpoint("[2001:db8:77::1]:443")));
  CHECK_FALSE(ranges.in_range(endpoint("[fd00:5:0:8000::1]:443"), endpoint("[2001:db8:77::1]:444")));
  CHECK_FALSE(ranges.in_range(endpoint("[fd00:5:0:8000::1]:443"), endpoint("[2001:db8:77::2]:443")));
}

TEST_CASE("blocks with higher addresses move nobody's range") {
  const PortRanges before = sound({{office()}, {}});
  ClientNetwork grown = office();
  for (const Prefix& p : prefixes({"10.9.1.0/24"})) grown.clients.push_back(p);
  for (const Prefix& p : prefixes({"203.0.113.128/28"})) grown.outside.push_back(p);
  const PortRanges after = sound({{grown}, {}});
  CHECK(range_of(after, "10.9.1.0") != "none");
  for (std::uint32_t i = 0; i < 0x200; ++i) {
    const IpAddress client = IpAddress::v4(0x0a000000u + i);
    CHECK(shown(before.range_of(client)) == (before.range_of(client) ? shown(after.range_of(client)) : "none"));
  }
}

TEST_CASE("four thousand million clients take no more memory than one") {
  ClientNetwork huge = network({"fd00::/96"}, {"2001:db8::/102"});  // 2^32 clients, 2^26 addresses
  huge.ports_per_client = 1000;                                     // 64 clients to an address
  const PortRanges ranges = sound({{huge}, {}});
  CHECK(range_of(ranges, "fd00::") == "2001:db8:: 1024-2023");
  CHECK(range_of(ranges, "fd00::ffff:ffff") == "2001:db8::3ff:ffff 64024-65023");
  CHECK(client_of(ranges, "[2001:db8::3ff:ffff]:65023") == "fd00::ffff:ffff");
  CHECK(client_of(ranges, "[2001:db8::3ff:ffff]:65024") == "none");
}

TEST_CASE("a million clients: each has a range, in the order of addresses, and is found by either end of it") {
  ClientNetwork many = network({"10.0.0.0/12"}, {"198.18.0.0/21"});
  many.ports_per_client = 64;
  const PortRanges ranges = sound({{many}, {}});
  Endpoint last;
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < 1u << 20; ++i) {
    const IpAddress client = IpAddress::v4(0x0a000000u + i);
    const auto range = ranges.range_of(client);
    if (!range) FAIL("no range: ", client.to_string());
    const Endpoint low{range->outside, range->first_port};
    const Endpoint high{range->outside, range->last_port};
    wrong += i != 0 && low <= last ? 1 : 0;
    wrong += ranges.client_of(low) != client || ranges.client_of(high) != client || range->size() != 64 ? 1 : 0;
    last = high;
  }
  CHECK(wrong == 0);
}

namespace {

// Random configurations that are right by construction, and what has to hold for them.
class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  PortRangeConfig make() {
    PortRangeConfig config;
    config.slices = below(16) + 1;
    const unsigned networks = below(4) + 1;
    for (unsigned i = 0; i < networks; ++i) config.networks.push_back(make_network(config.slices));
    for (unsigned i = below(6); i > 0; --i) add_override(config);
    return config;
  }

  PortRangeConfig shuffled(PortRangeConfig config) {
    std::shuffle(config.networks.begin(), config.networks.end(), random_);
    std::shuffle(config.overrides.begin(), config.overrides.end(), random_);
    for (ClientNetwork& network : config.networks) {
      std::shuffle(network.clients.begin(), network.clients.end(), random_);
      std::shuffle(network.outside.begin(), network.outside.end(), random_);
    }
    return config;
  }

  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }

 private:
  /// A block of its own, with a gap in front of it at times.
  Prefix block(bool six, bool outside, unsigned bits) {
    std::uint32_t& end = end_[outside ? 1 : 0];
    const std::uint32_t next = (((end + (1u << bits) - 1) >> bits) + below(2)) << bits;
    end = next + (1u << bits);
    if (!six) return {IpAddress::v4((outside ? 0xc6120000u : 0x0a000000u) + next), static_cast<std::uint8_t>(32 - bits)};
    std::array<std::uint8_t, 16> octets{0x20, 0x01, 0x0d, 0xb8};
    octets[4] = outside ? 1 : 0;
    store_u32(octets, 12, next);
    return {IpAddress::v6(octets), static_cast<std::uint8_t>(128 - bits)};
  }

  ClientNetwork make_network(unsigned slices) {
    const bool six = below(3) == 0;
    ClientNetwork n;
    if (below(5) == 0) {
      n.mapping = ClientMapping::prefix;
      const unsigned bits = below(7);
      n.clients.push_back(block(six, false, bits));
      n.outside.push_back(block(six, true, bits));
      return n;
    }
    n.first_port = static_cast<std::uint16_t>(1 + below(40000));
    n.last_port = static_cast<std::uint16_t>(n.first_port + slices + below(65535u - n.first_port - slices + 1));
    const unsigned window = unsigned{n.last_port} - n.first_port + 1;
    n.ports_per_client = std::max(slices, 1 + below(window));
    std::size_t clients = 0;
    for (unsigned i = below(4) + 1; i > 0; --i) {
      const unsigned bits = below(7);
      n.clients.push_back(block(six, false, bits));
      clients += std::size_t{1} << bits;
    }
    std::size_t room = 0;
    while (room < clients) {
      const unsigned bits = below(5);
      n.outside.push_back(block(six, true, bits));
      room += (std::size_t{1} << bits) * (window / n.ports_per_client);
    }
    return n;
  }

  void add_override(PortRangeConfig& config) {
    const ClientNetwork& n = config.networks[below(static_cast<unsigned>(config.networks.size()))];
    if (n.mapping != ClientMapping::ports) return;
    const IpAddress client = n.clients[0].address;
    for (const ClientOverride& o : config.overrides) {
      if (o.client == client) return;
    }
    const IpAddress outside = block(!client.is_v4(), true, 0).address;
    const auto first = static_cast<std::uint16_t>(1 + below(60000));
    config.overrides.push_back({client, outside, first, static_cast<std::uint16_t>(first + 15 + below(5000))});
  }

  std::mt19937 random_;
  std::uint32_t end_[2] = {0, 0};  // of the blocks that are in use: clients, outside
};

std::vector<IpAddress> addresses_in(const Prefix& block) {
  std::vector<IpAddress> list;
  std::array<std::uint8_t, 16> octets{};
  const Octets from = block.address.octets();
  std::copy(from.begin(), from.end(), octets.begin());
  const std::uint32_t base = load_u32(from, from.size() - 4);
  for (std::uint32_t i = 0; i < 1u << block.host_bits(); ++i) {
    store_u32(octets, from.size() - 4, base + i);
    list.push_back(from.size() == 4 ? IpAddress::v4(Octets(octets).first(4)) : IpAddress::v6(octets));
  }
  return list;
}

}  // namespace

TEST_CASE("random configurations: total, disjoint, and the inverse gives the client back") {
  Maker maker(20261130);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const PortRangeConfig config = maker.make();
    const PortRanges ranges = sound(config);
    std::map<Endpoint, Endpoint> owned;  // first to last endpoint of a range
    std::size_t clients = 0;
    std::size_t wrong = 0;
    for (const ClientNetwork& network : config.networks) {
      for (const Prefix& block : network.clients) {
        for (const IpAddress& client : addresses_in(block)) {
          const auto range = ranges.range_of(client);
          REQUIRE(range);
          ++clients;
          const std::uint16_t some = static_cast<std::uint16_t>(range->first_port + maker.below(range->size()));
          for (const std::uint16_t port : {range->first_port, some, range->last_port}) {
            wrong += ranges.client_of({range->outside, port}) != client ? 1 : 0;
            wrong += !ranges.in_range({client, port}, {range->outside, port}) ? 1 : 0;
          }
          owned.emplace(Endpoint{range->outside, range->first_port}, Endpoint{range->outside, range->last_port});
        }
      }
    }
    CHECK(owned.size() == clients);
    Endpoint last;
    for (const auto& [low, high] : owned) {
      wrong += last != Endpoint{} && low <= last ? 1 : 0;
      last = high;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("random configurations: what is nobody's range has no client") {
  Maker maker(7);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    const PortRangeConfig config = maker.make();
    const PortRanges ranges = sound(config);
    std::size_t wrong = 0;
    for (const ClientNetwork& network : config.networks) {
      for (const Prefix& block : network.outside) {
        for (const IpAddress& outside : addresses_in(block)) {
          for (int i = 0; i < 8; ++i) {
            const Endpoint at{outside, static_cast<std::uint16_t>(maker.below(65536))};
            const auto client = ranges.client_of(at);
            if (!client) continue;
            const auto range = ranges.range_of(*client);
            wrong += !range || range->outside != outside || !range->contains(at.port) ? 1 : 0;
          }
        }
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("random configurations: the order of the tables makes no difference") {
  Maker maker(99);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    const PortRangeConfig config = maker.make();
    const PortRanges one = sound(config);
    const PortRanges other = sound(maker.shuffled(config));
    CHECK(one.canonical() == other.canonical());
    std::size_t wrong = 0;
    for (const ClientNetwork& network : config.networks) {
      for (const Prefix& block : network.clients) {
        for (const IpAddress& client : addresses_in(block)) wrong += one.range_of(client) != other.range_of(client) ? 1 : 0;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the canonical text tells configurations apart") {
  const PortRangeConfig base{{office()}, {{address("10.0.0.2"), address("203.0.113.99"), 5000, 6999}}};
  CHECK(PortRanges(base).canonical() ==
        "ranges 1 slices 16\n"
        "10.0.0.0/25,10.0.1.0/24,10.9.0.0/28 to 203.0.113.8/32,203.0.113.12/31,203.0.113.64/30 ports 1024-65535 each 1024\n"
        "10.0.0.2 to 203.0.113.99 ports 5000-6999\n");
  std::set<std::string> texts{PortRanges(base).canonical()};
  const auto differs = [&](const auto& change) {
    PortRangeConfig other = base;
    change(other);
    return texts.insert(PortRanges(other).canonical()).second;
  };
  CHECK(differs([](PortRangeConfig& c) { c.slices = 8; }));
  CHECK(differs([](PortRangeConfig& c) { c.networks[0].ports_per_client = 1000; }));
  CHECK(differs([](PortRangeConfig& c) { c.networks[0].first_port = 1025; }));
  CHECK(differs([](PortRangeConfig& c) { c.networks[0].last_port = 65000; }));
  CHECK(differs([](PortRangeConfig& c) { c.networks[0].clients.pop_back(); }));
  CHECK(differs([](PortRangeConfig& c) { c.networks[0].outside.pop_back(); }));
  CHECK(differs([](PortRangeConfig& c) { c.overrides[0].last_port = 7000; }));
  CHECK(differs([](PortRangeConfig& c) { c.overrides.clear(); }));
  CHECK(differs([](PortRangeConfig& c) {
    c.networks[0] = {
        .clients = prefixes({"10.0.0.0/25"}), .outside = prefixes({"198.51.100.0/25"}), .mapping = ClientMapping::prefix};
  }));
}
