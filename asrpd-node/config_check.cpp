// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/config_check.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "config/host_address.hpp"

namespace asrp::node {
namespace {

using config::Reader;
using config::shown;
using engine::ForwardMode;
using engine::Service;

std::string family_name(Family family) { return family == Family::v4 ? "IPv4" : "IPv6"; }

void check_node(const NodeConfig& config, Reader& place) {
  for (const Family family : {Family::v4, Family::v6}) {
    const auto count = std::count_if(config.local_ips.begin(), config.local_ips.end(),
                                     [family](const IpAddress& a) { return a.family() == family; });
    if (count > 1)
      place.problem("local_ips",
                    "found " + std::to_string(count) + " " + family_name(family) + " addresses, allowed is one of each family");
    if (count == 0 && config.has_family(family))
      place.problem("local_ips", "found no " + family_name(family) + " address, but a " + (config.nat ? "network" : "service") +
                                     " has one: messages need a source");
  }
  for (const IpAddress& address : config.local_ips)
    if (const std::string why(config::why_no_host(address)); !why.empty())
      place.problem("local_ips", "found " + address.to_string() + ", " + why + "; allowed are this node's own addresses");
}

void check_marks(const MarksConfig& marks, Reader& place) {
  if (marks.waiting == marks.unprotected) place.problem("unprotected", "is the same bit as waiting");
  if (marks.flow == marks.own) place.problem("own", "is the same bit as flow");
  if (marks.admitted == marks.flow || marks.admitted == marks.own) place.problem("admitted", "is the same bit as flow or own");
}

/// What is found by name or address: a file may have ten thousand of each.
struct Index {
  explicit Index(const NodeConfig& config) {
    for (const PoolConfig& pool : config.pools) pools.emplace(pool.name, &pool);
    for (const ServiceConfig& service : config.services) used_pools.insert(service.pool);
  }

  std::map<std::string_view, const PoolConfig*> pools;  // the first of each name
  std::set<std::string_view> used_pools;
  // Services that were looked at already.
  std::set<std::string_view> names;
  std::map<std::pair<Endpoint, Protocol>, std::string_view> addresses;
};

void check_pool(const NodeConfig& config, const Index& known, std::size_t index, Reader& place) {
  const PoolConfig& pool = config.pools[index];
  if (pool.name.empty()) return;  // reported where it was read
  if (known.pools.at(pool.name) != &pool) place.problem("name", "found " + shown(pool.name) + " a second time");
  if (known.used_pools.count(pool.name) == 0) place.warning("name", "no service uses pool " + shown(pool.name));
  if (pool.servers.empty() && place.has("servers")) place.problem("servers", "is empty, allowed is at least one server");
  if (pool.health) check_health(*pool.health, pool.servers, place);
  const bool any_active = std::any_of(pool.servers.begin(), pool.servers.end(), [](const engine::Backend& server) {
    return server.state == engine::BackendState::active && server.weight > 0;
  });
  if (!pool.servers.empty() && !any_active)
    place.warning("servers", "no server is active with a weight above 0: new sessions will find none");
  check_policy(pool.policy, pool.servers, place);
  if (policy::is_adaptive(pool.policy.policy) && !config.load.enabled)
    place.warning("policy", "policy \"" + std::string(policy::to_string(pool.policy.policy)) +
                                "\" goes by loads, but [load] is not enabled: none is known, and it is round robin then");
}

void check_names(const NodeConfig& config, Index& known, const Service& service, Reader& place) {
  if (!known.names.insert(service.name).second) place.problem("name", "found " + shown(service.name) + " a second time");
  if (service.address.port != 0) {
    const auto [other, is_first] = known.addresses.emplace(std::pair(service.address, service.protocol), service.name);
    if (!is_first) place.problem("address", "service " + shown(other->second) + " has the same address, port and protocol");
  }
  if (service.protocol == Protocol::udp && service.address.port == config.port)
    place.problem("address", "found port " + std::to_string(config.port) + ", which is ASRP-PORT");
  const std::string why(service.address.port != 0 ? config::why_no_host(service.address.address) : "");
  if (!why.empty())
    place.problem("address", "found " + service.address.address.to_string() + ", " + why +
                                 "; allowed is an address that is routed to the nodes");
  const auto& own = config.local_ips;
  if (std::find(own.begin(), own.end(), service.address.address) != own.end())
    place.warning("address",
                  service.address.address.to_string() + " is one of local_ips: the service cannot move to another node");
}

void check_range(const NodeConfig& config, const Service& service, Reader& place) {
  const engine::FullNatRange& range = service.full_nat;
  if (!place.has("full_nat")) return;  // reported where it was asked for
  if (range.addresses.empty()) return place.problem("full_nat.addresses", "holds no address, allowed is at least one");
  for (const IpAddress& address : range.addresses) {
    if (address.family() != service.address.address.family())
      place.problem("full_nat.addresses", "found " + address.to_string() + ", not of the service's family");
    const bool is_own = std::find(config.local_ips.begin(), config.local_ips.end(), address) != config.local_ips.end();
    const auto in_range = [&](std::uint16_t port) { return range.first_port <= port && port <= range.last_port; };
    if (is_own && service.protocol == Protocol::udp && in_range(config.port))
      place.problem("full_nat.ports", "holds ASRP-PORT " + std::to_string(config.port) + " of " + address.to_string() +
                                          ", which is this node's own address");
    for (const ServiceConfig& other : config.services) {
      const Endpoint& taken = other.settings.address;
      if (taken.address == address && other.settings.protocol == service.protocol && in_range(taken.port))
        place.problem("full_nat.addresses",
                      "the range holds " + taken.to_string() + ", the address of service " + shown(other.settings.name));
    }
  }
}

void check_servers(const NodeConfig& config, const Index& known, const ServiceConfig& service, Reader& place) {
  const auto found = known.pools.find(service.pool);
  const PoolConfig* const pool = found == known.pools.end() ? nullptr : found->second;
  const Service& s = service.settings;
  if (pool == nullptr) {
    std::vector<std::string> names;
    for (const PoolConfig& each : config.pools) names.push_back(each.name);
    const auto guess = config::nearest(service.pool, names);
    return place.problem("pool", "found " + shown(service.pool) + ", but there is no such pool" +
                                     (guess ? "; did you mean " + config::escaped(*guess) + "?" : std::string()));
  }
  for (const engine::Backend& server : pool->servers) {
    if (server.address.port == 0) continue;  // reported where it stands
    if (server.address.address.family() != s.address.address.family())
      place.problem("pool", "server " + shown(server.id) + " (" + server.address.to_string() +
                                ") is not of the service's family " + family_name(s.address.address.family()));
    if (server.address == s.address)
      place.problem("pool", "server " + shown(server.id) + " has the service's own address and port");
    if (s.protocol == Protocol::udp && server.address.port == config.port)
      place.problem("pool", "server " + shown(server.id) + " has ASRP-PORT as its port");
    const auto has_server = [&](const std::vector<IpAddress>& addresses) {
      return std::find(addresses.begin(), addresses.end(), server.address.address) != addresses.end();
    };
    if (has_server(config.local_ips))
      place.problem("pool", "server " + shown(server.id) + " has an address of local_ips; a server is another host");
    if (has_server(s.full_nat.addresses))
      place.problem("full_nat.addresses",
                    "holds " + server.address.address.to_string() + ", the address of server " + shown(server.id));
    // Decision 8: without a holder nobody can tell two nodes apart that chose the same outside port.
    if (s.forward != ForwardMode::full_nat || server.holder != engine::HolderPresence::no) continue;
    const auto& own = config.local_ips;
    const bool all_own = std::all_of(s.full_nat.addresses.begin(), s.full_nat.addresses.end(),
                                     [&](const IpAddress& a) { return std::find(own.begin(), own.end(), a) != own.end(); });
    if (!all_own)
      place.problem("forward", "found \"full-nat\" to server " + shown(server.id) +
                                   " with holder = \"no\"; allowed only if every full_nat address is one of local_ips");
  }
}

void check_service(const NodeConfig& config, Index& known, std::size_t index, Reader& place) {
  const ServiceConfig& service = config.services[index];
  const Service& s = service.settings;
  check_names(config, known, s, place);
  if (s.forward == ForwardMode::full_nat) check_range(config, s, place);
  check_servers(config, known, service, place);
  if (s.protocol == Protocol::tcp && place.has("explicit_first"))
    place.problem("explicit_first", "is given for TCP, where a SYN always begins a session; it is for protocol = \"udp\"");
  if (s.explicit_first == engine::ExplicitFirst::any)
    place.warning("explicit_first",
                  "\"any\" is for services of one request and one answer: after a loss of state the next packet of a longer "
                  "session would begin a new one, at another server perhaps");
  if (s.forward == ForwardMode::full_nat && s.server_initiated)
    place.problem("server_initiated", "is given with forward = \"full-nat\"; it is for \"nat\"");
}

}  // namespace

void check_config(const NodeConfig& config, Places places) {
  check_node(config, places.node);
  check_marks(config.marks, places.marks);
  Index known(config);
  for (std::size_t i = 0; i < config.pools.size(); ++i) check_pool(config, known, i, places.pools[i]);
  for (std::size_t i = 0; i < config.services.size(); ++i) check_service(config, known, i, places.services[i]);
}

}  // namespace asrp::node
