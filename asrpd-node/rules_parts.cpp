// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/rules_parts.hpp"

#include "config/filters.hpp"
#include "io/rule_set.hpp"

namespace asrp::node {

using config::bit;

QueueTargets::QueueTargets(const config::QueueConfig& queue) {
  // The kernel spreads over a range by the two addresses, the same in either direction: each worker has one queue of each
  // tap, and a session's packets of one side stay with one worker.
  const auto target = [&](unsigned tap) {
    const unsigned begin = queue.base + tap * queue.workers;
    if (queue.workers == 1) return "-j NFQUEUE --queue-num " + std::to_string(begin);
    return "-j NFQUEUE --queue-balance " + std::to_string(begin) + ":" + std::to_string(begin + queue.workers - 1);
  };
  first = target(0);
  stray = target(1);
  known = target(2);
}

std::string flow_packets(const MarksConfig& marks) { return "-m mark --mark " + bit(marks.flow) + "/" + bit(marks.flow) + " "; }

RuleTexts first_rules(const NodeConfig& config, Family family, const std::string& translated) {
  RuleTexts out;
  const MarksConfig& marks = config.marks;
  const std::string injected = "-m mark ! --mark 0x0/" + bit(marks.flow | marks.own) + " -j RETURN";
  out.raw_prerouting.push_back(injected);
  out.prerouting.push_back(injected);
  for (const IpAddress& own : config.local_ips) {
    if (own.family() != family) continue;
    out.raw_prerouting.push_back("-p udp -d " + own.to_string() + " --dport " + std::to_string(config.port) +
                                 " -j CT --notrack");
  }
  // The daemon's own packets carry the tuples of sessions and must not be taken for new ones: the kernel would give them
  // another source port (kernel-notes 12).
  out.raw_output.push_back("-m mark --mark " + bit(marks.own) + "/" + bit(marks.own) + " -j CT --notrack");
  // What the raw tap has decided is not asked about again, provided that the entry is there.
  out.prerouting.push_back("-m mark --mark " + bit(marks.admitted) + "/" + bit(marks.admitted) + " -m conntrack --ctstate " +
                           translated + " -j RETURN");
  out.output.push_back(flow_packets(marks) + "-m conntrack --ctstate INVALID -j DROP");
  out.output.push_back(flow_packets(marks) + "-m conntrack ! --ctstatus CONFIRMED -j DROP");
  return out;
}

Result<std::vector<std::string>, io::IoError> message_matches(const NodeConfig& config, Family family, Protocol protocol) {
  if (protocol == Protocol::tcp)
    return std::vector<std::string>{"--tcp-option " + std::to_string(config.option.tcp_kind) + " "};
  auto filters = config::udp_surplus_filters(family);
  if (!filters) return Failure{filters.error()};
  std::vector<std::string> matches;
  for (const std::string& bytecode : *filters) matches.push_back("-m bpf --bytecode \"" + bytecode + "\" ");
  return matches;
}

Result<std::string, io::IoError> icmp_error_match(const Prefix& network, bool source) {
  const auto bytecode = io::compile_bytecode(config::icmp_error_filter(network, source));
  if (!bytecode) return Failure{bytecode.error()};
  const std::string protocol = network.family() == Family::v4 ? "icmp" : "ipv6-icmp";
  return "-p " + protocol + " -m conntrack --ctstate INVALID -m bpf --bytecode \"" + *bytecode + "\" ";
}

}  // namespace asrp::node
