// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: which outside address and ports each client has (draft 3.5.4, first solution; RFC 7422). A pure function of the
// configuration, both ways: any node tells the client of a server's packet by its destination port, and nobody keeps a log.
// No state per client. Which port of its range a session gets is port_choice.hpp.
//
// Version 1, which a release never changes:
//   - a network's client blocks are put in the order of their addresses, and so are its outside blocks; every address of
//     a block counts, its first and last too
//   - per address = (last_port - first_port + 1) / ports_per_client, rounded down; what is left over at the top is unused
//   - the client with index i, from 0 over all its network's blocks, has of the outside address with index i / per address the
//     ports first_port + (i mod per address) * ports_per_client and up
//   - a client with an override has the range of the override and no other; the one by formula is then free
// So a client block or an outside block with higher addresses than those that are there may be added, and no range moves.
//
// Mapping `prefix` is for those who want one outside address per client: the leading bits are exchanged, all others and the
// ports are kept, so there is nothing to choose. This is the address mapping of RFC 6296 without its second half: it is not
// checksum-neutral. Neutrality would cost a change of 16 more bits, the subnet 0xFFFF, and host parts that are the same on
// both sides; it helps translators that leave transport checksums alone. Ours is the kernel's connection tracking, which mends
// the checksums of TCP, UDP and ICMPv6, of quoted packets too. What it doesn't track isn't translated at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "asrp/base/address.hpp"
#include "asrp/base/prefix.hpp"

namespace asrp::policy {

inline constexpr std::uint8_t kPortRangesVersion = 1;
/// Largest number of slices: more gateways than a cluster has, and a range of 1024 ports still gives each of them four.
inline constexpr unsigned kMaxSlices = 256;

enum class ClientMapping : std::uint8_t {
  ports,   // clients share outside addresses, each with a range of ports
  prefix,  // one outside address for each client; ports are kept
};

struct ClientNetwork {
  std::vector<Prefix> clients;
  std::vector<Prefix> outside;  // routed to the cluster as a whole
  ClientMapping mapping = ClientMapping::ports;
  // ClientMapping::ports only:
  std::uint16_t first_port = 1024;  // RFC 4787 REQ-3: a client's high port never becomes a well-known one
  std::uint16_t last_port = 65535;
  std::uint32_t ports_per_client = 1024;  // 63 clients to an address
};

/// A range that the formula doesn't give: a server among the clients, a heavy user.
struct ClientOverride {
  IpAddress client;  // of a network with ClientMapping::ports
  IpAddress outside;
  std::uint16_t first_port = 0;
  std::uint16_t last_port = 0;
};

struct PortRangeConfig {
  std::vector<ClientNetwork> networks;
  std::vector<ClientOverride> overrides;
  unsigned slices = 16;  // of each range, one per gateway that creates sessions (decision 25)
};

/// What is wrong with a configuration, and where: a reader of files adds file and line.
struct PortRangeProblem {
  enum class Table : std::uint8_t { whole, network, override_ };
  Table table = Table::whole;
  std::size_t index = 0;  // of the network or the override, as configured
  std::string key;        // of this table: "clients", "outside", "ports", "ports_per_client", "client", "slices", ...
  std::string message;    // what was found and what is allowed; not the place
};

/// All that a client has on the outside.
struct PortRange {
  IpAddress outside;
  std::uint16_t first_port = 0;
  std::uint16_t last_port = 65535;
  bool keeps_port = false;  // ClientMapping::prefix: the outside port is the client's own

  [[nodiscard]] std::uint32_t size() const { return std::uint32_t{last_port} - first_port + 1; }
  [[nodiscard]] bool contains(std::uint16_t port) const { return first_port <= port && port <= last_port; }
  friend bool operator==(const PortRange&, const PortRange&) = default;
};

class PortRanges {
 public:
  /// All problems of a configuration at once, in the order of its tables; what follows from another problem is left out.
  static std::vector<PortRangeProblem> check(const PortRangeConfig& config);

  /// No client at all.
  PortRanges() = default;
  /// Precondition: check() finds nothing. The order of networks, blocks and overrides makes no difference.
  explicit PortRanges(const PortRangeConfig& config);

  /// The range of a client; nothing if it is in none of the networks. O(log of the configuration), as the others.
  [[nodiscard]] std::optional<PortRange> range_of(const IpAddress& client) const;
  /// Whose outside address and port this is; nothing if they are nobody's.
  [[nodiscard]] std::optional<IpAddress> client_of(const Endpoint& outside) const;
  /// The rule that a session must comply with (draft section 5): its outside endpoint is one that its client may have, in
  /// whatever slice.
  [[nodiscard]] bool in_range(const Endpoint& client, const Endpoint& outside) const;

  [[nodiscard]] unsigned slices() const { return slices_; }
  /// The configuration as text in a fixed order, with the version: nodes whose texts are equal map alike. For digests
  /// (decision 28).
  [[nodiscard]] std::string canonical() const;

 private:
  struct Block {
    Prefix prefix;
    std::uint64_t first_index;  // of its first address, over all blocks of its network
  };
  struct Network {
    std::vector<Block> clients;
    std::vector<Block> outside;
    ClientMapping mapping;
    std::uint16_t first_port;
    std::uint16_t last_port;
    std::uint32_t ports_per_client;
    std::uint32_t per_address;
    std::uint64_t client_count;
  };
  /// Where to find a block: its network, and its place in there.
  struct Where {
    Prefix prefix;
    std::uint16_t first_port;
    std::uint32_t network;
    std::uint32_t block;
  };
  /// What the formula has at an outside endpoint, overrides aside.
  struct Place {
    std::optional<IpAddress> client;  // nothing: unused
    std::uint16_t last_port;          // up to which it is the same
  };

  static std::vector<Block> blocks_of(std::vector<Prefix> prefixes, ClientMapping mapping);
  void add_network(const ClientNetwork& network);
  void build_indexes();
  [[nodiscard]] const Where* outside_block(const Endpoint& outside) const;
  [[nodiscard]] std::optional<Place> place_at(const Endpoint& outside) const;
  [[nodiscard]] const ClientOverride* override_of(const IpAddress& client) const;

  unsigned slices_ = 1;
  std::vector<Network> networks_;          // in the order of their clients
  std::vector<Where> clients_;             // in the order of addresses; no two overlap
  std::vector<Where> outside_;             // by length, address, first port
  std::vector<ClientOverride> overrides_;  // by client
  std::vector<std::uint32_t> by_outside_;  // overrides_ in the order of outside address and port

  friend class PortRangeCheck;
};

}  // namespace asrp::policy
