// SPDX-License-Identifier: BSD-3-Clause
// What a configuration of port ranges may look like: each network, all blocks against each other, the overrides.
#include <algorithm>
#include <tuple>

#include "asrp/policy/port_ranges.hpp"

namespace asrp::policy {
namespace {

using Table = PortRangeProblem::Table;

constexpr unsigned kMostHostBits = 32;  // of a block whose clients are counted

std::string number(std::uint64_t n) { return std::to_string(n); }
std::string ports_text(std::uint16_t first, std::uint16_t last) { return number(first) + "-" + number(last); }
std::string family_name(Family family) { return family == Family::v4 ? "IPv4" : "IPv6"; }
bool are_ports(std::uint16_t first, std::uint16_t last) { return first != 0 && first <= last; }

/// A block of clients or of outside addresses, and whose it is.
struct Item {
  Prefix prefix;
  std::size_t network;
  bool is_outside;
  std::uint16_t first_port;
  std::uint16_t last_port;
};

}  // namespace

/// One run of PortRanges::check().
class PortRangeCheck {
 public:
  explicit PortRangeCheck(const PortRangeConfig& config) : config_(config), sound_(config.networks.size(), true) {}

  std::vector<PortRangeProblem> run() {
    if (config_.slices == 0 || config_.slices > kMaxSlices) {
      report(Table::whole, 0, "slices", "found " + number(config_.slices) + ", allowed is 1 to " + number(kMaxSlices));
    }
    for (std::size_t i = 0; i < config_.networks.size(); ++i) check_network(i);
    check_overlaps();
    check_overrides();
    std::stable_sort(problems_.begin(), problems_.end(), [](const PortRangeProblem& a, const PortRangeProblem& b) {
      return std::tie(a.table, a.index) < std::tie(b.table, b.index);
    });
    return std::move(problems_);
  }

 private:
  void report(Table table, std::size_t index, std::string key, std::string message) {
    problems_.push_back({table, index, std::move(key), std::move(message)});
    if (table == Table::network) sound_[index] = false;
  }
  void network_problem(std::size_t index, std::string key, std::string message) {
    report(Table::network, index, std::move(key), std::move(message));
  }
  void override_problem(std::size_t index, std::string key, std::string message) {
    report(Table::override_, index, std::move(key), std::move(message));
  }

  // --- each network ---------------------------------------------------------------------------------------------------

  void check_network(std::size_t index) {
    const ClientNetwork& network = config_.networks[index];
    check_blocks(index, "clients", network.clients, network.clients);
    check_blocks(index, "outside", network.outside, network.clients);
    if (network.mapping == ClientMapping::prefix) {
      if (sound_[index]) check_prefix_mapping(index);
      return;
    }
    check_ports(index);
    if (sound_[index]) check_capacity(index);
  }

  void check_blocks(std::size_t index, const std::string& key, const std::vector<Prefix>& blocks,
                    const std::vector<Prefix>& clients) {
    if (blocks.empty()) return network_problem(index, key, "is empty, allowed is at least one prefix");
    for (const Prefix& block : blocks) {
      const std::string found = "found " + block.to_string();
      const unsigned bits = address_bits(block.family());
      if (!block.is_valid()) {
        network_problem(index, key, found + ", allowed is a prefix length up to " + number(bits));
      } else if (!block.is_network()) {
        network_problem(index, key, found + ", which has host bits; did you mean " + block.network().to_string() + "?");
      } else if (!clients.empty() && block.family() != clients.front().family()) {
        network_problem(index, key,
                        found + ", which is not " + family_name(clients.front().family()) + " as the first of clients is");
      } else if (config_.networks[index].mapping == ClientMapping::ports && block.host_bits() > kMostHostBits) {
        network_problem(index, key,
                        found + ", more than 2^32 addresses; allowed is a prefix length from " + number(bits - kMostHostBits) +
                            ", or mapping = \"prefix\"");
      }
    }
  }

  void check_prefix_mapping(std::size_t index) {
    const ClientNetwork& network = config_.networks[index];
    for (const auto* blocks : {&network.clients, &network.outside}) {
      if (blocks->size() == 1) continue;
      network_problem(index, blocks == &network.clients ? "clients" : "outside",
                      "found " + number(blocks->size()) + " prefixes, allowed with mapping = \"prefix\" is one");
    }
    if (sound_[index] && network.clients.front().length != network.outside.front().length) {
      network_problem(index, "outside",
                      "found " + network.outside.front().to_string() + ", allowed with mapping = \"prefix\" is the length of " +
                          network.clients.front().to_string());
    }
  }

  void check_ports(std::size_t index) {
    const ClientNetwork& network = config_.networks[index];
    const bool good = are_ports(network.first_port, network.last_port);
    if (!good) {
      network_problem(
          index, "ports",
          "found " + ports_text(network.first_port, network.last_port) + ", allowed is FIRST-LAST with ports from 1 to 65535");
    }
    const std::uint32_t each = network.ports_per_client;
    const std::uint32_t all = good ? std::uint32_t{network.last_port} - network.first_port + 1 : 65535;
    if (each == 0 || each > all) {
      network_problem(index, "ports_per_client", "found " + number(each) + ", allowed is 1 to " + number(all));
    } else if (each < config_.slices && config_.slices <= kMaxSlices) {
      network_problem(
          index, "ports_per_client",
          "found " + number(each) + ", allowed is at least one port for each of the " + number(config_.slices) + " slices");
    }
  }

  void check_capacity(std::size_t index) {
    const ClientNetwork& network = config_.networks[index];
    const auto count = [](const std::vector<Prefix>& blocks) {
      std::uint64_t sum = 0;
      for (const Prefix& block : blocks) sum += std::uint64_t{1} << block.host_bits();
      return sum;
    };
    const std::uint64_t clients = count(network.clients);
    const std::uint64_t addresses = count(network.outside);
    const std::uint64_t each = (std::uint64_t{network.last_port} - network.first_port + 1) / network.ports_per_client;
    const std::uint64_t needed = (clients + each - 1) / each;
    if (needed <= addresses) return;
    network_problem(index, "outside",
                    "found " + number(addresses) + " addresses, but " + number(clients) + " clients with " +
                        number(network.ports_per_client) + " ports each need " + number(needed));
  }

  // --- all blocks -----------------------------------------------------------------------------------------------------

  [[nodiscard]] std::vector<Item> all_blocks() const {
    std::vector<Item> items;
    for (std::size_t i = 0; i < config_.networks.size(); ++i) {
      const ClientNetwork& network = config_.networks[i];
      const bool all_ports = network.mapping == ClientMapping::prefix || !are_ports(network.first_port, network.last_port);
      const std::uint16_t first = all_ports ? std::uint16_t{0} : network.first_port;
      const std::uint16_t last = all_ports ? std::uint16_t{65535} : network.last_port;
      const auto add = [&](const std::vector<Prefix>& blocks, bool is_outside) {
        for (const Prefix& block : blocks) {
          if (block.is_valid()) items.push_back({block.network(), i, is_outside, first, last});
        }
      };
      add(network.clients, false);
      add(network.outside, true);
    }
    std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.prefix < b.prefix; });
    return items;
  }

  /// Of two blocks that have addresses in common one lies in the other, which stands in front of it.
  void check_overlaps() {
    std::vector<Item> around;
    for (const Item& item : all_blocks()) {
      while (!around.empty() && !around.back().prefix.contains(item.prefix)) around.pop_back();
      bool told[2] = {false, false};  // the nearest of each kind is enough
      for (auto outer = around.rbegin(); outer != around.rend(); ++outer) {
        // Clients are what the operator can't choose: where both kinds meet, the outside is to be changed.
        const bool outer_is_wrong = outer->is_outside && !item.is_outside;
        if (!excludes(*outer, item) || (!outer_is_wrong && told[outer->is_outside ? 1 : 0])) continue;
        told[outer->is_outside ? 1 : 0] = true;
        report_overlap(outer_is_wrong ? *outer : item, outer_is_wrong ? item : *outer);
      }
      around.push_back(item);
    }
  }

  static bool excludes(const Item& a, const Item& b) {
    const bool share_ports = a.first_port <= b.last_port && b.first_port <= a.last_port;
    return !a.is_outside || !b.is_outside || share_ports;
  }

  void report_overlap(const Item& wrong, const Item& other) {
    const bool same = other.network == wrong.network;
    network_problem(wrong.network, wrong.is_outside ? "outside" : "clients",
                    "found " + wrong.prefix.to_string() + ", which overlaps " + other.prefix.to_string() + ", " +
                        (other.is_outside ? "outside" : "clients") + (same ? " of the same network" : " of another network") +
                        (wrong.is_outside && other.is_outside && !same ? " with the same ports" : ""));
  }

  // --- overrides ------------------------------------------------------------------------------------------------------

  void check_overrides() {
    if (config_.overrides.empty()) return;
    PortRangeConfig sound;
    for (std::size_t i = 0; i < config_.networks.size(); ++i) {
      if (sound_[i]) sound.networks.push_back(config_.networks[i]);
    }
    const PortRanges formula(sound);
    std::vector<IpAddress> clients;
    for (const ClientOverride& o : config_.overrides) clients.push_back(o.client);
    std::sort(clients.begin(), clients.end());
    for (std::size_t i = 0; i < config_.overrides.size(); ++i) {
      check_client(i);
      check_outside(i);
      if (has_ports(config_.overrides[i])) check_against_formula(i, formula, clients);
    }
    check_among_overrides();
  }

  static bool has_ports(const ClientOverride& o) { return are_ports(o.first_port, o.last_port); }

  [[nodiscard]] const ClientNetwork* network_with(const IpAddress& client, Prefix& block) const {
    for (const ClientNetwork& network : config_.networks) {
      for (const Prefix& clients : network.clients) {
        if (!clients.is_valid() || !clients.contains(client)) continue;
        block = clients;
        return &network;
      }
    }
    return nullptr;
  }

  void check_client(std::size_t index) {
    const IpAddress& client = config_.overrides[index].client;
    const std::string found = "found " + client.to_string();
    Prefix block;
    const ClientNetwork* network = network_with(client, block);
    if (network == nullptr) {
      override_problem(index, "client", found + ", allowed is an address in the clients of a network");
    } else if (network->mapping == ClientMapping::prefix) {
      override_problem(
          index, "client",
          found + " of " + block.to_string() + ", a network with mapping = \"prefix\"; allowed is one with \"ports\"");
    }
    for (std::size_t i = 0; i < index; ++i) {
      if (config_.overrides[i].client == client) return override_problem(index, "client", found + " a second time");
    }
  }

  void check_outside(std::size_t index) {
    const ClientOverride& o = config_.overrides[index];
    const std::string found = "found " + o.outside.to_string();
    Prefix block;
    if (o.outside.family() != o.client.family()) {
      override_problem(index, "outside", found + ", which is not " + family_name(o.client.family()) + " as the client is");
    } else if (network_with(o.outside, block) != nullptr) {
      override_problem(index, "outside", found + ", which lies in " + block.to_string() + ", clients of a network");
    }
    if (!has_ports(o)) {
      override_problem(index, "ports",
                       "found " + ports_text(o.first_port, o.last_port) + ", allowed is FIRST-LAST with ports from 1 to 65535");
    } else if (std::uint32_t{o.last_port} - o.first_port + 1 < config_.slices && config_.slices <= kMaxSlices) {
      override_problem(index, "ports",
                       "found " + ports_text(o.first_port, o.last_port) + ", allowed is at least one port for each of the " +
                           number(config_.slices) + " slices");
    }
  }

  /// Ranges by formula are free where nobody has them, and where their client has an override.
  void check_against_formula(std::size_t index, const PortRanges& formula, const std::vector<IpAddress>& overridden) {
    const ClientOverride& o = config_.overrides[index];
    for (std::uint32_t port = o.first_port; port <= o.last_port; ++port) {
      const auto place = formula.place_at({o.outside, static_cast<std::uint16_t>(port)});
      if (!place) continue;
      if (place->client && !std::binary_search(overridden.begin(), overridden.end(), *place->client)) {
        return override_problem(index, "ports",
                                "found " + ports_text(o.first_port, o.last_port) + " of " + o.outside.to_string() +
                                    ", which overlaps the ports of client " + place->client->to_string());
      }
      port = place->last_port;
    }
  }

  void check_among_overrides() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < config_.overrides.size(); ++i) {
      if (has_ports(config_.overrides[i])) order.push_back(i);
    }
    const auto& all = config_.overrides;
    std::stable_sort(order.begin(), order.end(), [&all](std::size_t a, std::size_t b) {
      return std::tie(all[a].outside, all[a].first_port) < std::tie(all[b].outside, all[b].first_port);
    });
    std::size_t highest = 0;  // of those before on the same address, the one that reaches furthest
    for (std::size_t i = 1; i < order.size(); ++i) {
      const ClientOverride& o = all[order[i]];
      const ClientOverride& before = all[order[highest]];
      const bool same_address = before.outside == o.outside;
      if (same_address && o.first_port <= before.last_port) {
        const std::size_t later = std::max(order[i], order[highest]);
        const ClientOverride& other = later == order[i] ? before : o;
        override_problem(later, "ports",
                         "found " + ports_text(all[later].first_port, all[later].last_port) + " of " + o.outside.to_string() +
                             ", which overlaps the ports of client " + other.client.to_string());
      }
      if (!same_address || o.last_port > before.last_port) highest = i;
    }
  }

  const PortRangeConfig& config_;
  std::vector<bool> sound_;  // networks without a problem, as far as is known
  std::vector<PortRangeProblem> problems_;
};

std::vector<PortRangeProblem> PortRanges::check(const PortRangeConfig& config) { return PortRangeCheck(config).run(); }

}  // namespace asrp::policy
