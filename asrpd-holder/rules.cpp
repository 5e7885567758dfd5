// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-holder/rules.hpp"

#include "config/filters.hpp"

namespace asrp::holder {
namespace {

using config::bit;
using engine::LocalService;
using engine::Push;

struct Texts {
  std::vector<std::string> raw_prerouting, raw_output, prerouting, output, postrouting;
};

/// Only this host's own sessions (decision 21); packets on their way to elsewhere pass untouched.
constexpr const char* kLocal = "-m addrtype --dst-type LOCAL ";

class Builder {
 public:
  Builder(const HolderConfig& config, Family family, bool syn_data_delivered)
      : config_(config), family_(family), syn_data_delivered_(syn_data_delivered) {
    own_ = bit(config.marks.own) + "/" + bit(config.marks.own);
    done_ = bit(config.marks.done) + "/" + bit(config.marks.done);
    option_ = "--tcp-option " + std::to_string(config.options.marker.tcp_kind) + " ";
  }

  Result<Texts, io::IoError> build() {
    const auto surplus = config::udp_surplus_filters(family_);
    if (!surplus) return Failure{surplus.error()};
    const auto separate = config::udp_separate_filters(family_);
    if (!separate) return Failure{separate.error()};
    add_inbound(*surplus);
    add_net(*separate);
    add_outbound();
    return std::move(texts_);
  }

 private:
  [[nodiscard]] std::string queue(unsigned n) const {
    return "-j NFQUEUE --queue-num " + std::to_string(config_.queue.base + n) + " --queue-bypass";
  }

  void add_inbound(const std::vector<std::string>& surplus) {
    std::vector<std::string>& raw = texts_.raw_prerouting;
    if (!config_.loopback) raw.push_back("-i lo -j RETURN");
    raw.push_back("-m mark --mark " + own_ + " -j RETURN");
    raw.push_back("-p udp --dport " + std::to_string(config_.options.port) + " " + kLocal + "-j CT --notrack");
    raw.push_back("-p tcp " + option_ + kLocal + queue(0));
    for (const std::string& bytecode : surplus)
      raw.push_back("-p udp " + std::string(kLocal) + "-m bpf --bytecode \"" + bytecode + "\" " + queue(0));
    texts_.raw_output.push_back("-p udp --dport " + std::to_string(config_.options.port) + " -m mark --mark " + own_ +
                                " -j CT --notrack");
  }

  /// What was bypassed, because the daemon is gone, and would hurt (decision 17): segments whose data are a message, and
  /// datagrams that are nothing but one. In another table than the queue rules: a bypass skips the rest of its own. What the
  /// daemon let through carries its mark, which ends here.
  void add_net(const std::vector<std::string>& separate) {
    std::vector<std::string>& net = texts_.prerouting;
    if (!config_.loopback) net.push_back("-i lo -j RETURN");
    const std::string unseen = "-m mark ! --mark " + own_ + " ";
    net.push_back("-p tcp " + std::string(syn_data_delivered_ ? "" : "! --syn ") + option_ + kLocal + unseen + "-j DROP");
    for (const std::string& bytecode : separate)
      net.push_back("-p udp " + std::string(kLocal) + unseen + "-m bpf --bytecode \"" + bytecode + "\" -j DROP");
    net.push_back("-m mark --mark " + own_ + " -j MARK --set-xmark 0x0/" + bit(config_.marks.own));
    // Conntrack follows UDP only where some rule uses it (kernel-notes 1).
    if (config_.follows_udp()) net.push_back("-m conntrack --ctstate INVALID -j RETURN");
  }

  void add_outbound() {
    std::vector<std::string> queued;
    for (const LocalService& service : config_.options.services) {
      if (service.push == Push::never) continue;
      const std::string port = "-p " + to_string(service.protocol) + " --sport " + std::to_string(service.port) + " ";
      if (service.protocol == Protocol::tcp) {
        queued.push_back(port + "--tcp-flags FIN,SYN,RST,ACK SYN,ACK " + queue(1));
      } else {
        queued.push_back(port + "-m connmark ! --mark " + done_ + " " + queue(1));
        texts_.postrouting.push_back(port + "-m mark --mark " + done_ + " -j CONNMARK --save-mark --nfmask " +
                                     bit(config_.marks.done) + " --ctmask " + bit(config_.marks.done));
        texts_.postrouting.push_back(port + "-m mark --mark " + done_ + " -j MARK --set-xmark 0x0/" + bit(config_.marks.done));
      }
    }
    if (config_.options.act.enabled) add_act(queued);
    if (queued.empty()) return;
    if (!config_.loopback) texts_.output.push_back("-o lo -j RETURN");
    texts_.output.push_back("-m mark --mark " + own_ + " -j RETURN");
    texts_.output.insert(texts_.output.end(), queued.begin(), queued.end());
  }

  /// Sessions that this host begins, until they have a backup or are not to have one. A SYN comes in any case: a repeated one
  /// is an occasion to ask again. Behind the lines of services, whose ports may be those that are skipped here.
  void add_act(std::vector<std::string>& queued) {
    const engine::ActOptions& act = config_.options.act;
    std::vector<engine::GreetingSkip> skip = act.skip;
    skip.push_back({Protocol::udp, config_.options.port});
    for (const engine::GreetingSkip& each : skip)
      for (const char* end : {"--dport ", "--sport "})
        queued.push_back("-p " + to_string(each.protocol) + " " + end + std::to_string(each.port) + " -j RETURN");
    std::vector<std::string> to;
    for (const Prefix& prefix : act.destinations)
      if (prefix.address.family() == family_) to.push_back("-d " + prefix.to_string() + " ");
    if (act.destinations.empty()) to.emplace_back();
    const std::string unicast = "-m addrtype --dst-type UNICAST ";
    const std::string undone = "-m conntrack --ctdir ORIGINAL -m connmark ! --mark " + done_ + " ";
    for (const std::string& destination : to) {
      queued.push_back("-p tcp " + destination + unicast + "--syn " + queue(1));
      queued.push_back("-p tcp " + destination + unicast + undone + queue(1));
      queued.push_back("-p udp " + destination + unicast + undone + queue(1));
    }
    const std::string is_done = "-m mark --mark " + done_ + " ";
    const std::string done_bit = bit(config_.marks.done);
    texts_.postrouting.push_back(is_done + "-j CONNMARK --save-mark --nfmask " + done_bit + " --ctmask " + done_bit);
    texts_.postrouting.push_back(is_done + "-j MARK --set-xmark 0x0/" + done_bit);
    // A NAT of this host's own would give a copy that overtakes its packet another port.
    texts_.raw_output.push_back("-m mark --mark " + own_ + " -j CT --notrack");
  }

  const HolderConfig& config_;
  Family family_;
  bool syn_data_delivered_;
  std::string own_, done_, option_;
  Texts texts_;
};

}  // namespace

io::RuleSet holder_chains(Family family) {
  return {family,
          {{"raw", "PREROUTING", "ASRP-HOLDER-PRE", {}},
           {"raw", "OUTPUT", "ASRP-HOLDER-OUT", {}},
           {"mangle", "PREROUTING", "ASRP-HOLDER-PRE", {}},
           {"mangle", "OUTPUT", "ASRP-HOLDER-OUT", {}},
           {"mangle", "POSTROUTING", "ASRP-HOLDER-POST", {}}}};
}

Result<io::RuleSet, io::IoError> holder_rules(const HolderConfig& config, Family family, bool syn_data_delivered) {
  io::RuleSet rules = holder_chains(family);
  auto texts = Builder(config, family, syn_data_delivered).build();
  if (!texts) return Failure{texts.error()};
  std::vector<std::string>* const sources[] = {&texts->raw_prerouting, &texts->raw_output, &texts->prerouting, &texts->output,
                                               &texts->postrouting};
  for (std::size_t i = 0; i < std::size(sources); ++i) rules.chains[i].rules = std::move(*sources[i]);
  return rules;
}

bool delivers_syn_data(std::int64_t tcp_fastopen) {
  constexpr std::int64_t kServer = 0x2;
  constexpr std::int64_t kNoCookie = 0x200;
  return (tcp_fastopen & kServer) != 0 && (tcp_fastopen & kNoCookie) != 0;
}

}  // namespace asrp::holder
