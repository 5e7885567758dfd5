// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/rules.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "asrpd-node/rules_parts.hpp"
#include "config/filters.hpp"

namespace asrp::node {
namespace {

using config::bit;
using engine::ForwardMode;
using engine::Service;

constexpr std::string_view kStateDirMark = "state_dir=";

/// "-p tcp -d 192.0.2.1 --dport 80 ": packets of clients.
std::string to_endpoint(Protocol protocol, const Endpoint& e) {
  return "-p " + to_string(protocol) + " -d " + e.address.to_string() + " --dport " + std::to_string(e.port) + " ";
}
/// "10.0.2.1", "10.0.2.0/24": as iptables lists them.
std::string text_of(const Prefix& block) { return block.host_bits() == 0 ? block.address.to_string() : block.to_string(); }

/// Addresses of servers as blocks: ten thousand servers are rarely strewn, and each packet that is no known session's passes
/// all rules.
std::vector<Prefix> blocks_of(const PoolConfig& pool) {
  std::vector<IpAddress> addresses;
  for (const engine::Backend& server : pool.servers) addresses.push_back(server.address.address);
  return asrp::blocks_of(std::move(addresses));
}

class Builder {
 public:
  Builder(const NodeConfig& config, Family family) : config_(config), family_(family), queues_(config.queue) {}

  Result<RuleTexts, io::IoError> build() {
    texts_ = first_rules(config_, family_, "DNAT");
    for (const Protocol protocol : {Protocol::tcp, Protocol::udp}) {
      auto matches = message_matches(config_, family_, protocol);
      if (!matches) return Failure{matches.error()};
      carries_message_[protocol == Protocol::tcp ? 0 : 1] = std::move(*matches);
    }
    add_express();
    // Strays of all services stand before the rules for known sessions: a stray that carries a message is a stray.
    for (const ServiceConfig& service : config_.services)
      if (belongs(service.settings)) add_strays(service);
    for (const ServiceConfig& service : config_.services)
      if (belongs(service.settings)) add_known(service);
    if (auto done = add_icmp_errors(); !done) return Failure{done.error()};
    add_guards();
    return std::move(texts_);
  }

 private:
  [[nodiscard]] bool belongs(const Service& service) const { return service.address.address.family() == family_; }

  void once(std::vector<std::string>& chain, std::string rule) {
    if (there_[&chain].insert(rule).second) chain.push_back(std::move(rule));
  }

  /// What almost all packets are leaves first, however many rules follow: at the raw tap segments that begin no session, behind
  /// conntrack those of known sessions without a message.
  void add_express() {
    const bool any_tcp = std::any_of(config_.services.begin(), config_.services.end(), [&](const ServiceConfig& s) {
      return belongs(s.settings) && s.settings.protocol == Protocol::tcp;
    });
    if (!any_tcp) return;
    texts_.raw_prerouting.push_back("-p tcp --tcp-flags SYN NONE -j RETURN");
    texts_.prerouting.push_back("-p tcp ! --tcp-option " + std::to_string(config_.option.tcp_kind) +
                                " -m conntrack --ctstate DNAT -m connmark --mark 0x0/" + bit(config_.marks.waiting) +
                                " -j RETURN");
  }

  void add_strays(const ServiceConfig& service) {
    const Service& s = service.settings;
    if (s.protocol == Protocol::tcp) {
      once(texts_.raw_prerouting, to_endpoint(s.protocol, s.address) + "--syn " + queues_.first);
      // A PS in a SYN/ACK makes the session as a SYN does.
      for_each_backend(service, [&](const std::string& match) {
        once(texts_.raw_prerouting, match + "--tcp-flags FIN,SYN,RST,ACK SYN,ACK --tcp-option " +
                                        std::to_string(config_.option.tcp_kind) + " " + queues_.first);
      });
    }
    // Not only NEW and INVALID: an entry without translation, made while our rules were away, must not leak either.
    once(texts_.prerouting, to_endpoint(s.protocol, s.address) + "-m conntrack ! --ctstate DNAT " + queues_.stray);
    for_each_backend(service, [&](const std::string& match) {
      once(texts_.prerouting, match + "-m conntrack --ctstate NEW,INVALID " + queues_.stray);
    });
  }

  void add_known(const ServiceConfig& service) {
    const Service& s = service.settings;
    const std::string client = to_endpoint(s.protocol, s.address);
    for (const std::string& carries : carries_message_[s.protocol == Protocol::tcp ? 0 : 1]) {
      once(texts_.prerouting, client + carries + queues_.known);
      for_each_backend(service, [&](const std::string& match) { once(texts_.prerouting, match + carries + queues_.known); });
    }
    const std::string waiting = bit(config_.marks.waiting);
    once(texts_.prerouting, client + "-m connmark --mark " + waiting + "/" + waiting + " " + queues_.known);
  }

  /// Matches of what comes from the service's servers (decision 2b).
  template <typename Each>
  void for_each_backend(const ServiceConfig& service, Each each) const {
    const Service& s = service.settings;
    const PoolConfig* pool = config_.pool(service.pool);
    if (pool == nullptr) return;
    std::map<std::uint16_t, std::vector<IpAddress>> by_port;
    for (const engine::Backend& server : pool->servers) by_port[server.address.port].push_back(server.address.address);
    for (auto& [port, addresses] : by_port) {
      for (const Prefix& block : asrp::blocks_of(std::move(addresses))) {
        const std::string from =
            "-p " + to_string(s.protocol) + " -s " + text_of(block) + " --sport " + std::to_string(port) + " ";
        if (s.forward == ForwardMode::nat) {
          each(from);
          continue;
        }
        for (const IpAddress& address : s.full_nat.addresses)
          each(from + "-d " + address.to_string() + " --dport " + std::to_string(s.full_nat.first_port) + ":" +
               std::to_string(s.full_nat.last_port) + " ");
      }
    }
  }

  /// Errors about packets that a service or a server sent or got, where the kernel knows no session (kernel-notes 11).
  Result<Done, io::IoError> add_icmp_errors() {
    std::set<std::pair<bool, Prefix>> there;  // compiling takes a while
    const auto add = [&](bool source, const Prefix& network) -> Result<Done, io::IoError> {
      if (!there.emplace(source, network).second) return Done{};
      const auto match = icmp_error_match(network, source);
      if (!match) return Failure{match.error()};
      texts_.prerouting.push_back(*match + queues_.stray);
      return Done{};
    };
    for (const ServiceConfig& service : config_.services) {
      if (!belongs(service.settings)) continue;
      // About what went to a client, and about what went to a server.
      if (auto done = add(true, Prefix::of(service.settings.address.address)); !done) return done;
      const PoolConfig* const pool = config_.pool(service.pool);
      if (pool == nullptr) continue;
      for (const Prefix& block : blocks_of(*pool))
        if (auto done = add(false, block); !done) return done;
    }
    return Done{};
  }

  void add_guards() {
    const std::string flow = flow_packets(config_.marks);
    for (const ServiceConfig& service : config_.services) {
      const Service& s = service.settings;
      if (!belongs(s)) continue;
      once(texts_.postrouting, to_endpoint(s.protocol, s.address) + flow + "-j DROP");
      // Nobody reaches a holder through the node (decision 9).
      if (const PoolConfig* pool = config_.pool(service.pool))
        for (const Prefix& block : blocks_of(*pool))
          once(texts_.forward, "-p udp -d " + text_of(block) + " --dport " + std::to_string(config_.port) + " -j DROP");
    }
  }

  const NodeConfig& config_;
  Family family_;
  QueueTargets queues_;
  std::vector<std::string> carries_message_[2];  // TCP, UDP
  RuleTexts texts_;
  std::map<const void*, std::unordered_set<std::string>> there_;  // the rules of each chain
};

}  // namespace

std::string state_dir_in_comment(const std::string& state_dir) {
  static constexpr char kHex[] = "0123456789abcdef";
  static constexpr std::string_view kPlain = "/._-";
  std::string out(kStateDirMark);
  for (const char c : state_dir) {
    const auto octet = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += {'%', kHex[octet >> 4], kHex[octet & 15]};
    }
  }
  return out;
}

Result<std::optional<std::string>, io::IoError> state_dir_in_rules(Family family) {
  const auto rules = io::chain_rules(family, node_chains(family).chains.back());
  if (!rules) return Failure{rules.error()};
  for (const std::string& rule : *rules) {
    const std::size_t begin = rule.find(kStateDirMark);
    if (begin == std::string::npos) continue;
    std::string out;
    for (std::size_t i = begin + kStateDirMark.size(); i < rule.size() && rule[i] != '"' && rule[i] != ' '; ++i) {
      Buffer octet;
      if (rule[i] == '%' && from_hex(rule.substr(i + 1, 2), octet) && octet.size() == 1) {
        out += static_cast<char>(octet[0]);
        i += 2;
      } else {
        out += rule[i];
      }
    }
    return std::optional<std::string>(std::move(out));
  }
  return std::optional<std::string>();
}

io::RuleSet node_chains(Family family) {
  return {family,
          {{"raw", "PREROUTING", "ASRP-NODE-PRE", {}},
           {"raw", "OUTPUT", "ASRP-NODE-OUT", {}},
           {"mangle", "PREROUTING", "ASRP-NODE-PRE", {}},
           {"mangle", "FORWARD", "ASRP-NODE-FWD", {}},
           {"mangle", "OUTPUT", "ASRP-NODE-OUT", {}},
           {"mangle", "POSTROUTING", "ASRP-NODE-POST", {}},
           // Its base chain alone switches the translations on that the daemon's entries have (kernel-notes 1). Its one rule
           // does nothing: it tells --remove-rules where the saved sysctls are.
           {"nat", "POSTROUTING", "ASRP-NODE-NAT", {}}}};
}

Result<io::RuleSet, io::IoError> node_rules(const NodeConfig& config, Family family) {
  io::RuleSet rules = node_chains(family);
  if (!config.has_family(family)) return io::RuleSet{family, {}};
  auto texts = config.nat ? nat_rules(config, family) : Builder(config, family).build();
  if (!texts) return Failure{texts.error()};
  std::vector<std::string>* const sources[] = {&texts->raw_prerouting, &texts->raw_output, &texts->prerouting,
                                               &texts->forward,        &texts->output,     &texts->postrouting};
  for (std::size_t i = 0; i < std::size(sources); ++i) rules.chains[i].rules = std::move(*sources[i]);
  rules.chains.back().rules = {"-m comment --comment \"" + state_dir_in_comment(config.state_dir) + "\""};
  return rules;
}

}  // namespace asrp::node
