// SPDX-License-Identifier: GPL-2.0-or-later
// ACT mode: what of the clients' and the outside's packets reaches which queue, and what may never leave. The kernel calls an
// entry of ours SNAT, in both directions.
#include <algorithm>

#include "asrpd-node/rules_parts.hpp"

namespace asrp::node {
namespace {

/// "-s 10.1.0.0/16 ": what comes from these clients.
std::string from(const Prefix& prefix) { return "-s " + prefix.to_string() + " "; }
std::string to(const Prefix& prefix) { return "-d " + prefix.to_string() + " "; }

constexpr const char* kUnknown = "-m conntrack ! --ctstate SNAT ";

/// Outside addresses with those of their ports that clients may have.
struct OutsideBlock {
  Prefix prefix;
  std::uint16_t first_port = 0;  // 0: all, whatever the last
  std::uint16_t last_port = 0;

  [[nodiscard]] std::string match(Protocol protocol) const {
    std::string out = "-p " + to_string(protocol) + " " + to(prefix);
    if (first_port != 0) out += "--dport " + std::to_string(first_port) + ":" + std::to_string(last_port) + " ";
    return out;
  }
};

class NatBuilder {
 public:
  NatBuilder(const NodeConfig& config, Family family)
      : config_(config), family_(family), queues_(config.queue), clients_(config.nat->clients(family)) {
    outside_ = blocks_of(config.nat->settings.ranges);
    todays_ = outside_.size();
    for (const Prefix& prefix : config.nat->settings.untranslated)
      if (prefix.family() == family) untranslated_.push_back(prefix);
    for (const policy::PortRangeConfig& former : config.nat->settings.past_ranges) add_former(former);
  }

  Result<RuleTexts, io::IoError> build() {
    texts_ = first_rules(config_, family_, "SNAT");
    // What almost all packets are leaves first.
    texts_.raw_prerouting.emplace_back("-p tcp --tcp-flags SYN NONE -j RETURN");
    texts_.prerouting.push_back("-p tcp ! --tcp-option " + std::to_string(config_.option.tcp_kind) +
                                " -m conntrack --ctstate SNAT -j RETURN");
    add_first();
    if (auto done = add_outside(); !done) return Failure{done.error()};
    // Outside addresses may be this host's own, so they stand in front of this.
    add_exceptions(texts_.prerouting);
    if (auto done = add_clients(); !done) return Failure{done.error()};
    if (auto done = add_former_clients(); !done) return Failure{done.error()};
    add_guards();
    return std::move(texts_);
  }

 private:
  [[nodiscard]] std::vector<OutsideBlock> blocks_of(const policy::PortRangeConfig& ranges) const {
    std::vector<OutsideBlock> out;
    for (const policy::ClientNetwork& network : ranges.networks) {
      const bool all_ports = network.mapping == policy::ClientMapping::prefix;
      for (const Prefix& prefix : network.outside)
        if (prefix.family() == family_)
          out.push_back({prefix, all_ports ? std::uint16_t{0} : network.first_port, network.last_port});
    }
    for (const policy::ClientOverride& each : ranges.overrides)
      if (each.outside.family() == family_) out.push_back({Prefix::of(each.outside), each.first_port, each.last_port});
    return out;
  }

  /// What today's configuration uses otherwise is no longer that of before.
  [[nodiscard]] bool is_free(const Prefix& prefix) const {
    const auto overlaps = [&](const Prefix& other) { return prefix.overlaps(other); };
    return std::none_of(untranslated_.begin(), untranslated_.end(), overlaps) &&
           std::none_of(config_.local_ips.begin(), config_.local_ips.end(),
                        [&](const IpAddress& own) { return prefix.contains(own); });
  }

  void add_former(const policy::PortRangeConfig& former) {
    for (const OutsideBlock& block : blocks_of(former))
      if (is_free(block.prefix) &&
          std::none_of(clients_.begin(), clients_.end(), [&](const Prefix& client) { return client.overlaps(block.prefix); }))
        outside_.push_back(block);
    for (const policy::ClientNetwork& network : former.networks)
      for (const Prefix& prefix : network.clients)
        if (prefix.family() == family_ && is_free(prefix) &&
            std::find(clients_.begin(), clients_.end(), prefix) == clients_.end())
          former_clients_.push_back(prefix);
  }

  /// The raw tap takes SYN of clients, and no other ones: nothing that begins outside is queued before conntrack.
  void add_first() {
    std::vector<std::string>& raw = texts_.raw_prerouting;
    for (const Prefix& client : clients_)
      for (std::size_t i = 0; i < todays_; ++i)
        once(raw, "-p tcp " + from(client) + to(outside_[i].prefix) + "--syn " + queues_.first);
    add_exceptions(raw);
    for (const Prefix& client : clients_) once(raw, "-p tcp " + from(client) + "--syn " + queues_.first);
    // The daemon refuses and counts them.
    for (const std::string& name : config_.nat->interfaces) once(raw, "-i " + name + " -p tcp --syn " + queues_.first);
  }

  /// What is for this host itself, or goes on as it is.
  void add_exceptions(std::vector<std::string>& chain) {
    // Of IPv6 an address must be all that the rule lists, and there is no broadcast (kernel-notes 12).
    once(chain, "-m addrtype --dst-type LOCAL -j RETURN");
    once(chain, "-m addrtype --dst-type MULTICAST -j RETURN");
    if (family_ == Family::v4) once(chain, "-m addrtype --dst-type BROADCAST -j RETURN");
    for (const Prefix& prefix : untranslated_) once(chain, to(prefix) + "-j RETURN");
  }

  Result<Done, io::IoError> add_outside() {
    std::vector<std::string>& net = texts_.prerouting;
    const engine::NatOptions& nat = config_.nat->settings;
    const bool may_begin = nat.endpoint_independent_tcp && nat.filtering != engine::Filtering::address_port;
    for (const OutsideBlock& outside : outside_) {
      // From outside a SYN asks nobody (decision 26), so the daemon needs to see it only where a mapping may take it. Those of
      // clients the raw tap has taken.
      if (!may_begin) once(net, outside.match(Protocol::tcp) + "--syn " + kUnknown + "-j DROP");
      for (const Protocol protocol : {Protocol::tcp, Protocol::udp})
        once(net, outside.match(protocol) + kUnknown + queues_.stray);
    }
    for (const OutsideBlock& outside : outside_)
      if (auto done = add_known([&outside](Protocol protocol) { return outside.match(protocol); }); !done) return done;
    for (const OutsideBlock& outside : outside_)
      if (auto done = add_icmp_errors(outside.prefix, true); !done) return done;
    return Done{};
  }

  Result<Done, io::IoError> add_clients() {
    for (const Prefix& client : clients_)
      for (const Protocol protocol : {Protocol::tcp, Protocol::udp})
        once(texts_.prerouting, "-p " + to_string(protocol) + " " + from(client) + kUnknown + queues_.stray);
    for (const std::string& name : config_.nat->interfaces)
      for (const Protocol protocol : {Protocol::tcp, Protocol::udp})
        once(texts_.prerouting, "-i " + name + " -p " + to_string(protocol) + " " + kUnknown + queues_.stray);
    const std::string echo =
        family_ == Family::v4 ? "-p icmp -m icmp --icmp-type 8 " : "-p ipv6-icmp -m icmp6 --icmpv6-type 128 ";
    for (const Prefix& client : clients_) once(texts_.prerouting, echo + from(client) + kUnknown + queues_.stray);
    for (const std::string& name : config_.nat->interfaces)
      once(texts_.prerouting, "-i " + name + " " + echo + kUnknown + queues_.stray);
    for (const Prefix& client : clients_) {
      const auto match = [&client](Protocol protocol) { return "-p " + to_string(protocol) + " " + from(client); };
      if (auto done = add_known(match); !done) return done;
      if (auto done = add_icmp_errors(client, false); !done) return done;
    }
    return Done{};
  }

  /// Of clients that are none any more: what was open may still be, here or elsewhere. All else of them is the host's own
  /// business.
  Result<Done, io::IoError> add_former_clients() {
    const auto carries = message_matches(config_, family_, Protocol::tcp);
    if (!carries) return Failure{carries.error()};
    for (const Prefix& client : former_clients_) {
      const std::string tcp = "-p tcp " + from(client);
      once(texts_.prerouting, tcp + "! --syn -m conntrack --ctstate NEW,INVALID " + queues_.stray);
      for (const std::string& each : *carries)
        once(texts_.prerouting, tcp + each + "-m conntrack --ctstate SNAT " + queues_.known);
    }
    return Done{};
  }

  template <typename Match>
  Result<Done, io::IoError> add_known(const Match& match) {
    for (const Protocol protocol : {Protocol::tcp, Protocol::udp}) {
      const auto carries = message_matches(config_, family_, protocol);
      if (!carries) return Failure{carries.error()};
      for (const std::string& each : *carries) once(texts_.prerouting, match(protocol) + each + queues_.known);
    }
    return Done{};
  }

  /// Errors about packets that went out, or to a client, where the kernel knows no session.
  Result<Done, io::IoError> add_icmp_errors(const Prefix& network, bool source) {
    const auto match = icmp_error_match(network, source);
    if (!match) return Failure{match.error()};
    once(texts_.prerouting, *match + queues_.stray);
    return Done{};
  }

  /// They hold without the daemon: nothing of a client leaves under its own address, and what comes for an outside address
  /// without a session does not go round between this host and its router.
  void add_guards() {
    for (const Prefix& client : clients_)  // nobody reaches a holder through the node (decision 9)
      once(texts_.forward, "-p udp " + to(client) + "--dport " + std::to_string(config_.port) + " -j DROP");
    for (const Prefix& prefix : untranslated_) once(texts_.forward, to(prefix) + "-j RETURN");
    const std::string flow = flow_packets(config_.marks);
    for (const Prefix& client : clients_) {
      once(texts_.forward, from(client) + kUnknown + "-j DROP");
      once(texts_.postrouting, from(client) + flow + kUnknown + "-j DROP");
    }
    for (const Prefix& client : former_clients_) once(texts_.postrouting, from(client) + flow + kUnknown + "-j DROP");
    for (const std::string& name : config_.nat->interfaces) once(texts_.forward, "-i " + name + " " + kUnknown + "-j DROP");
    for (const OutsideBlock& outside : outside_) {
      once(texts_.forward, to(outside.prefix) + "-j DROP");
      once(texts_.postrouting, to(outside.prefix) + flow + "-j DROP");
    }
  }

  static void once(std::vector<std::string>& chain, std::string rule) {
    if (std::find(chain.begin(), chain.end(), rule) == chain.end()) chain.push_back(std::move(rule));
  }

  const NodeConfig& config_;
  Family family_;
  QueueTargets queues_;
  std::vector<Prefix> clients_;
  std::vector<Prefix> former_clients_;
  std::vector<OutsideBlock> outside_;  // today's, and behind them those of former configurations
  std::size_t todays_ = 0;
  std::vector<Prefix> untranslated_;
  RuleTexts texts_;
};

}  // namespace

Result<RuleTexts, io::IoError> nat_rules(const NodeConfig& config, Family family) { return NatBuilder(config, family).build(); }

}  // namespace asrp::node
