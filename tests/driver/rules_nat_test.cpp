// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: the rules, sysctls and digests that follow from a configuration with networks.
#include <doctest/doctest.h>

#include "asrpd-node/flow_rules.hpp"
#include "asrpd-node/nat_status.hpp"
#include "asrpd-node/rules.hpp"
#include "asrpd-node/status.hpp"
#include "asrpd-node/sysctls.hpp"
#include "config/filters.hpp"
#include "driver/node_texts.hpp"
#include "support/builders.hpp"

using namespace asrp;
using test::config_of;
using test::has;
using test::position;

namespace {

const std::string kNat = R"(
[node]
local_ips = ["198.51.100.1", "2001:db8:9::1"]
slice = 3
[keys]
placement_key = "000102030405060708090a0b0c0d0e0f"
cookie_keys = [{ key = "101112131415161718191a1b1c1d1e1f", use = "sign" }]
[queue]
base = 7
[nat]
untranslated = ["172.16.0.0/12"]
interfaces = ["eth1"]
[[networks]]
name = "office"
clients = ["10.1.0.0/24"]
outside = ["192.0.2.0/29"]
ports = "2048-65535"
[[networks]]
name = "six"
clients = ["fd00:1::/64"]
outside = ["2001:db8:ff::/64"]
mapping = "prefix"
[[overrides]]
client = "10.1.0.9"
outside = "192.0.2.9"
ports = "1024-9999"
)";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kNat;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::vector<std::string> rules_of(Family family, const std::string& table, const std::string& hook) {
  const auto set = node::node_rules(config_of(kNat), family);
  REQUIRE(set);
  return test::rules_of(*set, table, hook);
}

}  // namespace

TEST_CASE("ACT rules: the raw tap takes clients' SYN alone, those to outside addresses in front of what is for this host") {
  const auto raw = rules_of(Family::v4, "raw", "PREROUTING");
  CHECK(raw == std::vector<std::string>{
                   "-m mark ! --mark 0x0/0xc0000000 -j RETURN",
                   "-p udp -d 198.51.100.1 --dport 51200 -j CT --notrack",
                   "-p tcp --tcp-flags SYN NONE -j RETURN",
                   "-p tcp -s 10.1.0.0/24 -d 192.0.2.0/29 --syn -j NFQUEUE --queue-num 7",
                   "-p tcp -s 10.1.0.0/24 -d 192.0.2.9/32 --syn -j NFQUEUE --queue-num 7",
                   "-m addrtype --dst-type LOCAL -j RETURN",
                   "-m addrtype --dst-type MULTICAST -j RETURN",
                   "-m addrtype --dst-type BROADCAST -j RETURN",
                   "-d 172.16.0.0/12 -j RETURN",
                   "-p tcp -s 10.1.0.0/24 --syn -j NFQUEUE --queue-num 7",
                   "-i eth1 -p tcp --syn -j NFQUEUE --queue-num 7",
               });
}

TEST_CASE("ACT rules: known sessions leave first; strays of both sides; from outside no SYN comes to a queue") {
  const auto net = rules_of(Family::v4, "mangle", "PREROUTING");
  REQUIRE(net.size() > 3);
  CHECK(net[1] == "-m mark --mark 0x8000000/0x8000000 -m conntrack --ctstate SNAT -j RETURN");
  CHECK(net[2] == "-p tcp ! --tcp-option 253 -m conntrack --ctstate SNAT -j RETURN");
  const std::string unknown = "-m conntrack ! --ctstate SNAT ";
  const auto syn = position(net, "-p tcp -d 192.0.2.0/29 --dport 2048:65535 --syn " + unknown + "-j DROP");
  const auto outside = position(net, "-p tcp -d 192.0.2.0/29 --dport 2048:65535 " + unknown + "-j NFQUEUE --queue-num 8");
  position(net, "-p udp -d 192.0.2.9/32 --dport 1024:9999 " + unknown + "-j NFQUEUE --queue-num 8");
  const auto known = position(net, "-p tcp -d 192.0.2.0/29 --dport 2048:65535 --tcp-option 253 -j NFQUEUE --queue-num 9");
  const auto local = position(net, "-m addrtype --dst-type LOCAL -j RETURN");
  const auto untranslated = position(net, "-d 172.16.0.0/12 -j RETURN");
  const auto client = position(net, "-p udp -s 10.1.0.0/24 " + unknown + "-j NFQUEUE --queue-num 8");
  const auto hello = position(net, "-p tcp -s 10.1.0.0/24 --tcp-option 253 -j NFQUEUE --queue-num 9");
  CHECK(syn < outside);
  CHECK(outside < known);
  CHECK(known < local);
  CHECK(local < client);
  CHECK(untranslated < client);
  CHECK(client < position(net, "-i eth1 -p udp " + unknown + "-j NFQUEUE --queue-num 8"));
  CHECK(client < hello);
  CHECK(local < position(net, "-p icmp -m icmp --icmp-type 8 -s 10.1.0.0/24 " + unknown + "-j NFQUEUE --queue-num 8"));
  position(net, "-i eth1 -p icmp -m icmp --icmp-type 8 " + unknown + "-j NFQUEUE --queue-num 8");
  for (const std::string& rule : net) CHECK(rule.find("bypass") == std::string::npos);
}

TEST_CASE("ACT rules: whatever the daemon does, nothing leaves untranslated, and nothing for an outside address goes round") {
  const auto forward = rules_of(Family::v4, "mangle", "FORWARD");
  CHECK(forward == std::vector<std::string>{
                       "-p udp -d 10.1.0.0/24 --dport 51200 -j DROP",
                       "-d 172.16.0.0/12 -j RETURN",
                       "-s 10.1.0.0/24 -m conntrack ! --ctstate SNAT -j DROP",
                       "-i eth1 -m conntrack ! --ctstate SNAT -j DROP",
                       "-d 192.0.2.0/29 -j DROP",
                       "-d 192.0.2.9/32 -j DROP",
                   });
  const auto post = rules_of(Family::v4, "mangle", "POSTROUTING");
  position(post, "-s 10.1.0.0/24 -m mark --mark 0x40000000/0x40000000 -m conntrack ! --ctstate SNAT -j DROP");
  position(post, "-d 192.0.2.0/29 -m mark --mark 0x40000000/0x40000000 -j DROP");
  const auto out = rules_of(Family::v4, "mangle", "OUTPUT");
  position(out, "-m mark --mark 0x40000000/0x40000000 -m conntrack ! --ctstatus CONFIRMED -j DROP");
}

TEST_CASE("ACT rules: with mapping prefix all ports are the clients'; IPv6 has no broadcast; each family has its own") {
  const auto net = rules_of(Family::v6, "mangle", "PREROUTING");
  position(net, "-p tcp -d 2001:db8:ff::/64 -m conntrack ! --ctstate SNAT -j NFQUEUE --queue-num 8");
  position(net, "-m addrtype --dst-type LOCAL -j RETURN");
  position(net, "-m addrtype --dst-type MULTICAST -j RETURN");
  CHECK(!has(net, "BROADCAST"));
  position(net,
           "-p ipv6-icmp -m icmp6 --icmpv6-type 128 -s fd00:1::/64 -m conntrack ! --ctstate SNAT -j NFQUEUE --queue-num 8");
  CHECK(!has(net, "10.1.0.0"));
  CHECK(!has(net, "--dport 2048"));
}

TEST_CASE("ACT rules: a SYN from outside is asked about only where a filter may let it in") {
  const std::string drop = "-p tcp -d 192.0.2.0/29 --dport 2048:65535 --syn -m conntrack ! --ctstate SNAT -j DROP";
  const std::string ask = "-p tcp -d 192.0.2.0/29 --dport 2048:65535 -m conntrack ! --ctstate SNAT -j NFQUEUE --queue-num 8";
  const auto net_with = [](const std::string& keys) {
    const auto set = node::node_rules(config_of(changed("[nat]\n", "[nat]\n" + keys)), Family::v4);
    REQUIRE(set);
    return test::rules_of(*set, "mangle", "PREROUTING");
  };
  for (const char* const strict : {"", "filtering = \"endpoint\"\n", "endpoint_independent = [\"tcp\"]\n"}) {
    const auto net = net_with(strict);
    CHECK(position(net, drop) < position(net, ask));
  }
  for (const char* const filtering : {"address", "endpoint"}) {
    const auto net = net_with("endpoint_independent = [\"tcp\"]\nfiltering = \"" + std::string(filtering) + "\"\n");
    CHECK(!has(net, drop));
    position(net, ask);
  }
}

TEST_CASE("ACT rules: of former ranges both sides are asked about, and nothing of them leaves or goes round") {
  node::NodeConfig config = config_of(kNat);
  policy::PortRangeConfig former = config.nat->settings.ranges;
  former.networks[0].clients.push_back(*Prefix::parse("10.7.0.0/24"));
  former.networks[0].outside.push_back(*Prefix::parse("192.0.2.64/29"));
  former.networks[0].outside.push_back(*Prefix::parse("198.51.100.0/29"));  // local_ips are in it now
  former.networks[0].outside.push_back(*Prefix::parse("172.16.1.0/24"));    // untranslated now
  config.nat->settings.past_ranges = {former};
  const auto set = node::node_rules(config, Family::v4);
  REQUIRE(set);
  const auto raw = test::rules_of(*set, "raw", "PREROUTING");
  CHECK(raw == rules_of(Family::v4, "raw", "PREROUTING"));  // they begin nothing
  const auto net = test::rules_of(*set, "mangle", "PREROUTING");
  const std::string unknown = "-m conntrack ! --ctstate SNAT ";
  position(net, "-p tcp -d 192.0.2.64/29 --dport 2048:65535 " + unknown + "-j NFQUEUE --queue-num 8");
  position(net, "-p udp -d 192.0.2.64/29 --dport 2048:65535 " + unknown + "-j NFQUEUE --queue-num 8");
  position(net, "-p tcp -s 10.7.0.0/24 ! --syn -m conntrack --ctstate NEW,INVALID -j NFQUEUE --queue-num 8");
  position(net, "-p tcp -s 10.7.0.0/24 --tcp-option 253 -m conntrack --ctstate SNAT -j NFQUEUE --queue-num 9");
  CHECK(!has(net, "-p udp -s 10.7.0.0/24"));
  for (const char* const taken : {"198.51.100.0/29", "172.16.1.0/24"}) CHECK(!has(net, taken));
  const auto forward = test::rules_of(*set, "mangle", "FORWARD");
  position(forward, "-d 192.0.2.64/29 -j DROP");
  CHECK(!has(forward, "10.7.0.0/24"));
  const auto post = test::rules_of(*set, "mangle", "POSTROUTING");
  position(post, "-s 10.7.0.0/24 -m mark --mark 0x40000000/0x40000000 " + unknown + "-j DROP");
  position(post, "-d 192.0.2.64/29 -m mark --mark 0x40000000/0x40000000 -j DROP");
}

TEST_CASE("ICMP errors about packets of a network are found by the quoted address's leading bits") {
  CHECK(config::icmp_error_filter(*Prefix::parse("10.1.0.0/20"), true) ==
        "icmp and (icmp[0]==3 or icmp[0]==11 or icmp[0]==12) and icmp[20:4]&0xfffff000==0x0a010000");
  CHECK(config::icmp_error_filter(*Prefix::parse("2001:db8::/48"), false) ==
        "ip6 and ip6[6]==58 and ip6[40]<128 and ip6[72:4]==0x20010db8 and ip6[76:4]&0xffff0000==0x00000000");
  CHECK(config::icmp_error_filter(*Prefix::parse("::/0"), true) == "ip6 and ip6[6]==58 and ip6[40]<128");
  const auto net = rules_of(Family::v4, "mangle", "PREROUTING");
  for (const bool source : {true, false}) {
    const auto bytecode =
        io::compile_bytecode(config::icmp_error_filter(*Prefix::parse(source ? "192.0.2.0/29" : "10.1.0.0/24"), source));
    REQUIRE(bytecode);
    position(net, "-p icmp -m conntrack --ctstate INVALID -m bpf --bytecode \"" + *bytecode + "\" -j NFQUEUE --queue-num 8");
  }
}

TEST_CASE("ACT sysctls: RFC 4787 REQ-5 and RFC 5382 REQ-5 by default") {
  const std::string prefix = "net.netfilter.nf_conntrack_";
  CHECK(node::wanted_sysctls(config_of(kNat)) == std::vector<node::Sysctl>{
                                                     {prefix + "tcp_be_liberal", 1},
                                                     {prefix + "tcp_timeout_established", 7440},
                                                     {prefix + "udp_timeout", 300},
                                                     {prefix + "udp_timeout_stream", 300},
                                                     {prefix + "tcp_timeout_syn_recv", 240},
                                                     {prefix + "tcp_timeout_fin_wait", 240},
                                                     {prefix + "tcp_timeout_close_wait", 240},
                                                     {prefix + "tcp_timeout_last_ack", 240},
                                                     {prefix + "tcp_timeout_time_wait", 240},
                                                     {prefix + "events", 1},
                                                     {prefix + "icmp_timeout", 60},
                                                     {prefix + "icmpv6_timeout", 60},
                                                 });
  // Nobody asks for ends where no port is one endpoint's.
  for (const node::Sysctl& each : node::wanted_sysctls(config_of(changed("[nat]\n", "[nat]\nendpoint_independent = []\n"))))
    CHECK(each.name != prefix + "events");
}

TEST_CASE("gateways that map alike show one digest, whatever their slice; every difference of the networks shows") {
  const auto digest = [](const std::string& text) { return node::placement_digest(node::to_options(config_of(text), {})); };
  const std::string base = digest(kNat);
  CHECK(digest(changed("slice = 3", "slice = 4")) == base);
  // Which former ranges a gateway still needs is its own affair.
  auto options = node::to_options(config_of(kNat), {});
  options.nat->past_ranges = {options.nat->ranges};
  CHECK(node::placement_digest(options) == base);
  CHECK(digest(changed("ports = \"2048-65535\"", "ports = \"3072-65535\"")) != base);
  CHECK(digest(changed("192.0.2.9", "192.0.2.10")) != base);
  CHECK(digest(changed("[nat]\n", "[nat]\nslices = 8\n")) != base);
  CHECK(digest(changed("[nat]\n", "[nat]\nport_parity = true\n")) != base);
  CHECK(digest(changed("[nat]\n", "[nat]\nendpoint_independent = [\"udp\", \"tcp\"]\n")) != base);
  CHECK(digest(changed("[nat]\n", "[nat]\nendpoint_independent = []\n")) != base);
  CHECK(digest(changed("[nat]\n", "[nat]\nfiltering = \"endpoint\"\nhairpin = false\n")) == base);  // a gateway's own
  CHECK(digest(changed("172.16.0.0/12", "172.16.0.0/13")) != base);
  CHECK(digest(changed("placement_key = \"00", "placement_key = \"01")) != base);
}

TEST_CASE("status says the mode, this gateway's slice, and the networks") {
  CHECK(node::mode_members(config_of(kNat)) ==
        "\"mode\":\"ACT\",\"slice\":3,\"slices\":16,\"overrides\":1,\"former_ranges\":0,\"networks\":["
        "{\"name\":\"office\",\"clients\":[\"10.1.0.0/24\"],\"outside\":[\"192.0.2.0/29\"],\"mapping\":\"ports\"},"
        "{\"name\":\"six\",\"clients\":[\"fd00:1::/64\"],\"outside\":[\"2001:db8:ff::/64\"],\"mapping\":\"prefix\"}],");
}

TEST_CASE("a client's entry that translates nothing is in the way, except towards this host and untranslated networks") {
  const auto options = node::to_options(config_of(kNat), {});
  const auto wants = [&](const char* source, const char* destination) {
    return node::wants_translation(options, {{test::address(source), 1000}, {test::address(destination), 80}, Protocol::udp});
  };
  CHECK(wants("10.1.0.7", "203.0.113.1"));
  CHECK(wants("fd00:1::7", "2001:db8:1::1"));
  CHECK(!wants("10.2.0.7", "203.0.113.1"));
  CHECK(!wants("10.1.0.7", "172.16.9.9"));
  CHECK(!wants("10.1.0.7", "198.51.100.1"));
}
