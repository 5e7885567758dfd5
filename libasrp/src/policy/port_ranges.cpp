// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/port_ranges.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "asrp/base/assert.hpp"
#include "asrp/base/bytes.hpp"

namespace asrp::policy {
namespace {

IpAddress address_of(Octets octets) { return octets.size() == 4 ? IpAddress::v4(octets) : IpAddress::v6(octets); }

/// The last 32 bits: all that differs in a block of at most 2^32 addresses.
std::uint32_t tail(const IpAddress& address) {
  const Octets octets = address.octets();
  return load_u32(octets, octets.size() - 4);
}

IpAddress at_offset(const Prefix& block, std::uint64_t offset) {
  const Octets from = block.address.octets();
  std::array<std::uint8_t, 16> to{};
  std::copy(from.begin(), from.end(), to.begin());
  store_u32(to, from.size() - 4, tail(block.address) + static_cast<std::uint32_t>(offset));
  return address_of(Octets(to).first(from.size()));
}

/// `address` with the leading bits of `block`.
IpAddress with_prefix(const Prefix& block, const IpAddress& address) {
  const Octets from = address.octets();
  const IpAddress low = masked(address, block.length);
  std::array<std::uint8_t, 16> to{};
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i] = static_cast<std::uint8_t>((from[i] ^ low.octets()[i]) | block.address.octets()[i]);
  }
  return address_of(Octets(to).first(from.size()));
}

/// The last of `blocks` whose first index is not above `index`.
template <typename Block>
const Block& block_at(const std::vector<Block>& blocks, std::uint64_t index) {
  const auto above = std::upper_bound(blocks.begin(), blocks.end(), index,
                                      [](std::uint64_t i, const Block& block) { return i < block.first_index; });
  return *std::prev(above);
}

template <typename Block>
IpAddress address_at(const std::vector<Block>& blocks, std::uint64_t index) {
  const Block& block = block_at(blocks, index);
  return at_offset(block.prefix, index - block.first_index);
}

}  // namespace

PortRanges::PortRanges(const PortRangeConfig& config) : slices_(config.slices), overrides_(config.overrides) {
  for (const ClientNetwork& network : config.networks) add_network(network);
  build_indexes();
}

std::vector<PortRanges::Block> PortRanges::blocks_of(std::vector<Prefix> prefixes, ClientMapping mapping) {
  std::sort(prefixes.begin(), prefixes.end());
  std::vector<Block> blocks;
  std::uint64_t index = 0;
  for (const Prefix& prefix : prefixes) {
    blocks.push_back({prefix, index});
    if (mapping == ClientMapping::ports) index += std::uint64_t{1} << prefix.host_bits();
  }
  return blocks;
}

void PortRanges::add_network(const ClientNetwork& network) {
  Network added{blocks_of(network.clients, network.mapping),
                blocks_of(network.outside, network.mapping),
                network.mapping,
                network.first_port,
                network.last_port,
                network.ports_per_client,
                1,
                0};
  ASRP_ASSERT(!added.clients.empty() && !added.outside.empty());
  if (network.mapping == ClientMapping::ports) {
    ASRP_ASSERT(network.ports_per_client != 0 && network.first_port <= network.last_port);
    added.per_address = (std::uint32_t{network.last_port} - network.first_port + 1) / network.ports_per_client;
    added.client_count = added.clients.back().first_index + (std::uint64_t{1} << added.clients.back().prefix.host_bits());
  } else {
    added.first_port = 0;
    added.last_port = 65535;
    added.ports_per_client = 65536;
  }
  networks_.push_back(std::move(added));
}

void PortRanges::build_indexes() {
  std::sort(networks_.begin(), networks_.end(),
            [](const Network& a, const Network& b) { return a.clients.front().prefix < b.clients.front().prefix; });
  for (std::uint32_t n = 0; n < networks_.size(); ++n) {
    const Network& network = networks_[n];
    for (std::uint32_t i = 0; i < network.clients.size(); ++i) clients_.push_back({network.clients[i].prefix, 0, n, i});
    for (std::uint32_t i = 0; i < network.outside.size(); ++i) {
      outside_.push_back({network.outside[i].prefix, network.first_port, n, i});
    }
  }
  std::sort(clients_.begin(), clients_.end(), [](const Where& a, const Where& b) { return a.prefix < b.prefix; });
  std::sort(outside_.begin(), outside_.end(), [](const Where& a, const Where& b) {
    return std::tie(a.prefix.length, a.prefix.address, a.first_port) <
           std::tie(b.prefix.length, b.prefix.address, b.first_port);
  });
  std::sort(overrides_.begin(), overrides_.end(),
            [](const ClientOverride& a, const ClientOverride& b) { return a.client < b.client; });
  by_outside_.resize(overrides_.size());
  std::iota(by_outside_.begin(), by_outside_.end(), 0u);
  std::sort(by_outside_.begin(), by_outside_.end(), [this](std::uint32_t left, std::uint32_t right) {
    const ClientOverride& a = overrides_[left];
    const ClientOverride& b = overrides_[right];
    return std::tie(a.outside, a.first_port) < std::tie(b.outside, b.first_port);
  });
}

const ClientOverride* PortRanges::override_of(const IpAddress& client) const {
  const auto found = std::lower_bound(overrides_.begin(), overrides_.end(), client,
                                      [](const ClientOverride& o, const IpAddress& c) { return o.client < c; });
  return found != overrides_.end() && found->client == client ? &*found : nullptr;
}

std::optional<PortRange> PortRanges::range_of(const IpAddress& client) const {
  if (const ClientOverride* o = override_of(client)) return PortRange{o->outside, o->first_port, o->last_port};
  const auto above = std::upper_bound(clients_.begin(), clients_.end(), client,
                                      [](const IpAddress& c, const Where& where) { return c < where.prefix.address; });
  if (above == clients_.begin()) return std::nullopt;
  const Where& where = *std::prev(above);
  if (!where.prefix.contains(client)) return std::nullopt;
  const Network& network = networks_[where.network];
  if (network.mapping == ClientMapping::prefix) {
    return PortRange{with_prefix(network.outside.front().prefix, client), 0, 65535, true};
  }
  const std::uint64_t index = network.clients[where.block].first_index + (tail(client) - tail(where.prefix.address));
  const auto low = network.first_port + static_cast<std::uint32_t>(index % network.per_address) * network.ports_per_client;
  return PortRange{address_at(network.outside, index / network.per_address), static_cast<std::uint16_t>(low),
                   static_cast<std::uint16_t>(low + network.ports_per_client - 1)};
}

const PortRanges::Where* PortRanges::outside_block(const Endpoint& outside) const {
  // One search for each prefix length in use. Blocks of networks that share addresses differ in their ports.
  for (auto begin = outside_.begin(); begin != outside_.end();) {
    const std::uint8_t length = begin->prefix.length;
    const auto end = std::upper_bound(begin, outside_.end(), length,
                                      [](std::uint8_t l, const Where& where) { return l < where.prefix.length; });
    if (length <= address_bits(outside.address.family())) {
      const IpAddress network = masked(outside.address, length);
      const auto above = std::upper_bound(begin, end, outside.port, [&network](std::uint16_t port, const Where& where) {
        return std::tie(network, port) < std::tie(where.prefix.address, where.first_port);
      });
      if (above != begin) {
        const Where& where = *std::prev(above);
        if (where.prefix.address == network && outside.port <= networks_[where.network].last_port) return &where;
      }
    }
    begin = end;
  }
  return nullptr;
}

std::optional<PortRanges::Place> PortRanges::place_at(const Endpoint& outside) const {
  const Where* where = outside_block(outside);
  if (where == nullptr) return std::nullopt;
  const Network& network = networks_[where->network];
  if (network.mapping == ClientMapping::prefix) {
    return Place{with_prefix(network.clients.front().prefix, outside.address), 65535};
  }
  const std::uint32_t nth = (std::uint32_t{outside.port} - network.first_port) / network.ports_per_client;
  const std::uint64_t address =
      network.outside[where->block].first_index + (tail(outside.address) - tail(where->prefix.address));
  const std::uint64_t index = address * network.per_address + nth;
  if (nth >= network.per_address || index >= network.client_count) return Place{std::nullopt, network.last_port};
  const std::uint32_t next = network.first_port + (nth + 1) * network.ports_per_client;
  return Place{address_at(network.clients, index), static_cast<std::uint16_t>(next - 1)};
}

std::optional<IpAddress> PortRanges::client_of(const Endpoint& outside) const {
  const auto above =
      std::upper_bound(by_outside_.begin(), by_outside_.end(), outside, [this](const Endpoint& e, std::uint32_t index) {
        return std::tie(e.address, e.port) < std::tie(overrides_[index].outside, overrides_[index].first_port);
      });
  if (above != by_outside_.begin()) {
    const ClientOverride& o = overrides_[*std::prev(above)];
    if (o.outside == outside.address && outside.port <= o.last_port) return o.client;
  }
  const auto place = place_at(outside);
  if (!place || !place->client || override_of(*place->client) != nullptr) return std::nullopt;
  return place->client;
}

bool PortRanges::in_range(const Endpoint& client, const Endpoint& outside) const {
  const auto range = range_of(client.address);
  if (!range || range->outside != outside.address) return false;
  return range->keeps_port ? outside.port == client.port : range->contains(outside.port);
}

std::string PortRanges::canonical() const {
  const auto list = [](const std::vector<Block>& blocks) {
    std::string text;
    for (const Block& block : blocks) text += (text.empty() ? "" : ",") + block.prefix.to_string();
    return text;
  };
  std::string text = "ranges " + std::to_string(kPortRangesVersion) + " slices " + std::to_string(slices_) + "\n";
  for (const Network& network : networks_) {
    text += list(network.clients) + " to " + list(network.outside);
    if (network.mapping == ClientMapping::ports) {
      text += " ports " + std::to_string(network.first_port) + "-" + std::to_string(network.last_port) + " each " +
              std::to_string(network.ports_per_client);
    }
    text += "\n";
  }
  for (const ClientOverride& o : overrides_) {
    text += o.client.to_string() + " to " + o.outside.to_string() + " ports " + std::to_string(o.first_port) + "-" +
            std::to_string(o.last_port) + "\n";
  }
  return text;
}

}  // namespace asrp::policy
