// SPDX-License-Identifier: BSD-3-Clause
// Links and routes between clients, nodes and servers. Every hop may lose, double, delay and so reorder a packet. Traffic to
// the cluster is spread over the nodes that are up by rendezvous hashing, as an ECMP router with resilient hashing does. To
// clients behind gateways the nodes are the way to all servers, and each side's router chooses for itself.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "asrp/packet/packet_view.hpp"
#include "sim/agenda.hpp"
#include "support/builders.hpp"
#include "support/holder_twins.hpp"

namespace asrp::sim {

using test::SeededRandom;

struct Impairment {
  std::uint64_t lost_per_mille = 0;
  std::uint64_t doubled_per_mille = 0;
  std::uint64_t late_per_mille = 0;   // by up to 20 ms: overtaken by others
  std::uint64_t error_per_mille = 0;  // of the packets to clients and servers: an ICMP error comes back
};

/// Where a host is: on the side of the clients, between, or on the side of the servers.
enum class Place : std::uint8_t { client, node, server };

class Host {
 public:
  virtual ~Host() = default;
  /// Called also when the host is down; it knows itself.
  virtual void on_packet(Buffer packet) = 0;
  /// Its number among the nodes, for the choice of routes.
  std::uint64_t number = 0;
  Place place = Place::client;
};

struct AddressHash {
  std::size_t operator()(const IpAddress& a) const { return table_hash({{a, 0}, {a, 0}, Protocol::tcp}, 2); }
};

class Network {
 public:
  using From = Place;

  Network(Agenda& agenda, SeededRandom& random) : agenda_(agenda), random_(random) {}

  void attach(const IpAddress& address, Host& host) { hosts_[address] = &host; }
  /// Addresses that lead to any node: those of services and of full-NAT ranges.
  void route_to_cluster(const IpAddress& address) { cluster_[address] = true; }
  void set_nodes(std::vector<Host*> up) { nodes_ = std::move(up); }
  /// Moves flows between nodes although none came or went.
  void reshuffle() { salt_ = random_.next(); }
  /// Both directions of a client's traffic take the same node, whatever is translated.
  void set_symmetric(bool symmetric) {
    if (!symmetric) return set_path_key({});
    set_path_key([](From from, const Tuple& tuple) {
      const Endpoint client = from == From::client ? tuple.src : tuple.dst;
      return Tuple{client, client, tuple.protocol};
    });
  }
  /// What of a packet's tuple decides which node it takes; by default all of it.
  using PathKey = std::function<Tuple(From, const Tuple&)>;
  void set_path_key(PathKey key) { path_key_ = std::move(key); }
  /// What the servers' router knows better than by the packet's tuple: the number of the node to take, if it is up.
  using WayBack = std::function<std::optional<std::uint64_t>(const Tuple&)>;
  void set_way_back(WayBack way_back) { way_back_ = std::move(way_back); }
  /// Clients reach nothing but other clients without a node between.
  void set_nodes_are_gateways() { nodes_are_gateways_ = true; }
  void detach(const IpAddress& address) { hosts_.erase(address); }
  void set_impairment(Impairment impairment) { impairment_ = impairment; }
  /// Clients and applications say no more; nodes and holders go on.
  void silence_ends() { ends_are_silent_ = true; }

  void send(From from, Buffer packet) {
    const auto view = packet::PacketView::parse(packet);
    if (!view) return;
    if (random_.below(1000) < impairment_.lost_per_mille) return;
    if (ends_are_silent_ && from != From::node && !is_to_node(view->tuple())) return;
    Host* host = next_hop(from, view->tuple());
    if (host == nullptr) {
      ++unroutable_;
      return;
    }
    if (from == From::node && !is_node(host) && random_.below(1000) < impairment_.error_per_mille) complain(*host, *view);
    if (random_.below(1000) < impairment_.doubled_per_mille) deliver(host, packet);
    deliver(host, std::move(packet));
  }
  [[nodiscard]] std::size_t unroutable() const { return unroutable_; }

 private:
  Host* next_hop(From from, const Tuple& tuple) {
    const bool to_cluster = cluster_.contains(tuple.dst.address);
    const auto known = hosts_.find(tuple.dst.address);
    if (nodes_are_gateways_)
      return next_hop_by_gateways(from, tuple, to_cluster, known == hosts_.end() ? nullptr : known->second);
    // Servers reach clients through the cluster only.
    const bool is_direct = known != hosts_.end() && (from == From::node || is_node(known->second));
    if (!to_cluster && is_direct) return known->second;
    if (from == From::client && !to_cluster) return nullptr;
    if (from == From::node) return nullptr;
    return pick_node(from, tuple);
  }

  Host* next_hop_by_gateways(From from, const Tuple& tuple, bool to_cluster, Host* known) {
    if (to_cluster) return from == From::node ? nullptr : pick_node(from, tuple);
    if (known == nullptr) return nullptr;
    if (known->place == Place::node) return from != From::server && is_node(known) ? known : nullptr;
    if (from == From::node || from == known->place) return known;
    return from == From::client ? pick_node(from, tuple) : nullptr;
  }

  [[nodiscard]] bool is_to_node(const Tuple& tuple) const {
    const auto known = hosts_.find(tuple.dst.address);
    return known != hosts_.end() && is_node(known->second);
  }
  [[nodiscard]] bool is_node(const Host* host) const { return std::find(nodes_.begin(), nodes_.end(), host) != nodes_.end(); }

  Host* pick_node(From from, Tuple tuple) {
    if (from == From::server && way_back_) {
      const auto number = way_back_(tuple);
      const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const Host* node) { return node->number == number; });
      if (found != nodes_.end()) return *found;
    }
    if (path_key_) tuple = path_key_(from, tuple);
    Host* best = nullptr;
    std::uint64_t highest = 0;
    for (Host* node : nodes_) {
      const std::uint64_t score = table_hash(tuple, salt_ ^ (node->number * 977 + 1));
      if (best == nullptr || score > highest) {
        best = node;
        highest = score;
      }
    }
    return best;
  }

  /// A router before the host says something of a packet of a flow, to the packet's sender. (Nothing that ends a session.)
  void complain(const Host& host, const packet::PacketView& view) {
    if (view.is_icmp() || view.tuple().dst.port == kDefaultPort) return;
    const Tuple& about = view.tuple();
    send(host.place, test::icmp_error(about.dst.address, about.src.address).quoting(view.octets()).build());
  }

  void deliver(Host* host, Buffer packet) {
    Duration delay = std::chrono::microseconds(100 + random_.below(300));
    if (random_.below(1000) < impairment_.late_per_mille) delay += std::chrono::microseconds(random_.below(20'000));
    agenda_.in(delay, [host, octets = std::move(packet)] { host->on_packet(octets); });
  }

  Agenda& agenda_;
  SeededRandom& random_;
  std::unordered_map<IpAddress, Host*, AddressHash> hosts_;
  std::unordered_map<IpAddress, bool, AddressHash> cluster_;
  std::vector<Host*> nodes_;
  std::uint64_t salt_ = 0;
  PathKey path_key_;
  WayBack way_back_;
  bool nodes_are_gateways_ = false;
  bool ends_are_silent_ = false;
  Impairment impairment_;
  std::size_t unroutable_ = 0;
};

}  // namespace asrp::sim
