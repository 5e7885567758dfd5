// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-node/rules.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "asrpd-holder/rules.hpp"
#include "config/filters.hpp"
#include "driver/node_texts.hpp"

using namespace asrp;
using namespace asrp::test;

namespace {

constexpr const char* kNode = R"(
[node]
local_ips = ["10.0.1.1", "2001:db8:1::1"]
[keys]
placement_key = "000102030405060708090a0b0c0d0e0f"
cookie_keys = [{ key = "101112131415161718191a1b1c1d1e1f", use = "sign" }]
[queue]
base = 7
[[pools]]
name = "web"
servers = [{ id = "s1", address = "10.0.2.1:8080" }, { id = "s2", address = "10.0.2.2:8080" }]
[[pools]]
name = "dns"
servers = [{ id = "d1", address = "[2001:db8:2::1]:53" }]
[[services]]
name = "web"
address = "192.0.2.1:80"
protocol = "tcp"
pool = "web"
[[services]]
name = "full"
address = "192.0.2.2:80"
protocol = "tcp"
forward = "full-nat"
full_nat = { addresses = ["10.0.3.1"], ports = "2000-2999" }
pool = "web"
[[services]]
name = "dns"
address = "[2001:db8::53]:53"
protocol = "udp"
pool = "dns"
)";

io::RuleSet node_rules(Family family) {
  auto rules = node::node_rules(config_of(kNode), family);
  REQUIRE(rules);
  return *rules;
}

}  // namespace

TEST_CASE("node: SYN of TCP services, and SYN/ACK of their servers with a message, are taken at the raw tap, nothing else") {
  const auto set = node_rules(Family::v4);
  const auto& raw = rules_of(set, "raw", "PREROUTING");
  CHECK(raw[0] == "-m mark ! --mark 0x0/0xc0000000 -j RETURN");
  CHECK(raw[1] == "-p udp -d 10.0.1.1 --dport 51200 -j CT --notrack");
  CHECK(raw[2] == "-p tcp --tcp-flags SYN NONE -j RETURN");
  const std::string with_message = "--tcp-flags FIN,SYN,RST,ACK SYN,ACK --tcp-option 253 -j NFQUEUE --queue-num 7";
  CHECK(raw[3] == "-p tcp -d 192.0.2.1 --dport 80 --syn -j NFQUEUE --queue-num 7");
  CHECK(raw[4] == "-p tcp -s 10.0.2.1 --sport 8080 " + with_message);
  CHECK(raw[5] == "-p tcp -s 10.0.2.2 --sport 8080 " + with_message);
  CHECK(raw[6] == "-p tcp -d 192.0.2.2 --dport 80 --syn -j NFQUEUE --queue-num 7");
  CHECK(raw[7] == "-p tcp -s 10.0.2.1 --sport 8080 -d 10.0.3.1 --dport 2000:2999 " + with_message);
  CHECK(raw[8] == "-p tcp -s 10.0.2.2 --sport 8080 -d 10.0.3.1 --dport 2000:2999 " + with_message);
  CHECK(raw.size() == 9);
  CHECK(!has(rules_of(node_rules(Family::v6), "raw", "PREROUTING"), "NFQUEUE"));
}

TEST_CASE("node: a known session's segments without a message leave behind conntrack before all other rules") {
  const auto set = node_rules(Family::v4);
  const auto& net = rules_of(set, "mangle", "PREROUTING");
  REQUIRE(net.size() > 3);
  CHECK(net[2] == "-p tcp ! --tcp-option 253 -m conntrack --ctstate DNAT -m connmark --mark 0x0/0x10000000 -j RETURN");
  CHECK(!has(rules_of(node_rules(Family::v6), "mangle", "PREROUTING"), "--tcp-option"));  // a UDP service only
}

TEST_CASE("node: strays stand before known packets, in both directions, and no queue bypasses") {
  const auto set = node_rules(Family::v4);
  const auto& net = rules_of(set, "mangle", "PREROUTING");
  const auto client = position(net, "-p tcp -d 192.0.2.1 --dport 80 -m conntrack ! --ctstate DNAT -j NFQUEUE --queue-num 8");
  const auto server =
      position(net, "-p tcp -s 10.0.2.1 --sport 8080 -m conntrack --ctstate NEW,INVALID -j NFQUEUE --queue-num 8");
  position(net,
           "-p tcp -s 10.0.2.2 --sport 8080 -d 10.0.3.1 --dport 2000:2999 -m conntrack --ctstate NEW,INVALID -j NFQUEUE "
           "--queue-num 8");
  const auto option = position(net, "-p tcp -d 192.0.2.1 --dport 80 --tcp-option 253 -j NFQUEUE --queue-num 9");
  const auto push = position(net, "-p tcp -s 10.0.2.1 --sport 8080 --tcp-option 253 -j NFQUEUE --queue-num 9");
  position(net, "-p tcp -d 192.0.2.1 --dport 80 -m connmark --mark 0x10000000/0x10000000 -j NFQUEUE --queue-num 9");
  CHECK(client < option);
  CHECK(server < push);
  for (const io::Chain& chain : set.chains) CHECK(!has(chain.rules, "bypass"));
}

TEST_CASE("node: each rule once, though two services share their servers") {
  for (const Family family : {Family::v4, Family::v6}) {
    for (const io::Chain& chain : node_rules(family).chains) {
      auto rules = chain.rules;
      std::sort(rules.begin(), rules.end());
      CHECK(std::adjacent_find(rules.begin(), rules.end()) == rules.end());
    }
  }
}

TEST_CASE("node: UDP options are found by length, IPv6 with one extension header too") {
  const auto set = node_rules(Family::v6);
  const auto& net = rules_of(set, "mangle", "PREROUTING");
  const auto filters = config::udp_surplus_filters(Family::v6);
  REQUIRE(filters);
  REQUIRE(filters->size() == 2);
  for (const std::string& bytecode : *filters) {
    position(net, "-p udp -d 2001:db8::53 --dport 53 -m bpf --bytecode \"" + bytecode + "\" -j NFQUEUE --queue-num 9");
    position(net, "-p udp -s 2001:db8:2::1 --sport 53 -m bpf --bytecode \"" + bytecode + "\" -j NFQUEUE --queue-num 9");
  }
}

TEST_CASE("node: guards of injected packets, of the servers' ASRP-PORT, and the NAT hook") {
  const auto set = node_rules(Family::v4);
  const auto& out = rules_of(set, "mangle", "OUTPUT");
  position(out, "-m mark --mark 0x40000000/0x40000000 -m conntrack --ctstate INVALID -j DROP");
  position(out, "-m mark --mark 0x40000000/0x40000000 -m conntrack ! --ctstatus CONFIRMED -j DROP");
  position(rules_of(set, "mangle", "POSTROUTING"),
           "-p tcp -d 192.0.2.1 --dport 80 -m mark --mark 0x40000000/0x40000000 -j DROP");
  position(rules_of(set, "mangle", "FORWARD"), "-p udp -d 10.0.2.1 --dport 51200 -j DROP");
  position(rules_of(set, "raw", "OUTPUT"), "-m mark --mark 0x80000000/0x80000000 -j CT --notrack");
  // A rule that does nothing but tell where the saved sysctls are, whatever the name holds.
  CHECK(rules_of(set, "nat", "POSTROUTING") == std::vector<std::string>{"-m comment --comment \"state_dir=/var/lib/asrp\""});
  CHECK(node::state_dir_in_comment("/a b\"%\xc3\xa4") == "state_dir=/a%20b%22%25%c3%a4");
}

TEST_CASE("node: ten thousand servers need few rules, for they are matched in blocks, by port") {
  std::string text = kNode;
  const std::string web = "servers = [";
  std::string many;
  for (int i = 0; i < 10'000; ++i) {
    many += (i == 0 ? "" : ", ") + std::string("{ id = \"m") + std::to_string(i) + "\", address = \"10.9." +
            std::to_string(i / 250) + "." + std::to_string(i % 250) + (i == 7 ? ":81" : ":80") + "\" }";
  }
  text.insert(text.find(web) + web.size(), many + ", ");
  const auto rules = node::node_rules(config_of(text), Family::v4);
  REQUIRE(rules);
  std::size_t count = 0;
  for (const io::Chain& chain : rules->chains) count += chain.rules.size();
  CHECK(count < 3000);
  const auto& strays = rules_of(*rules, "mangle", "PREROUTING");
  CHECK(has(strays, "-p tcp -s 10.9.1.0/25 --sport 80 -m conntrack"));
  CHECK(has(strays, "-p tcp -s 10.9.0.7 --sport 81 -m conntrack"));
  CHECK_FALSE(has(strays, "-p tcp -s 10.9.0.0/29 --sport 80 "));
  CHECK(has(strays, "-p tcp -s 10.9.0.6 --sport 80 -m conntrack"));
}

TEST_CASE("node: a family without services has no rules") {
  config::Problems problems;
  std::string text = kNode;
  text = text.substr(0, text.rfind("[[services]]"));
  const auto config = node::parse_config(text, "n", problems);
  REQUIRE(config);
  const auto v6 = node::node_rules(*config, Family::v6);
  REQUIRE(v6);
  CHECK(v6->chains.empty());
}

TEST_CASE("ICMP errors are matched by the address of the packet that they quote") {
  CHECK(config::icmp_error_filter(*Prefix::parse("10.0.2.1"), false) ==
        "icmp and (icmp[0]==3 or icmp[0]==11 or icmp[0]==12) and icmp[24:4]==0x0a000201");
  CHECK(config::icmp_error_filter(*Prefix::parse("2001:db8::1"), true) ==
        "ip6 and ip6[6]==58 and ip6[40]<128 and ip6[56:4]==0x20010db8 and ip6[60:4]==0x00000000 and ip6[64:4]==0x00000000 and "
        "ip6[68:4]==0x00000001");
  CHECK(has(rules_of(node_rules(Family::v4), "mangle", "PREROUTING"), "-p icmp -m conntrack --ctstate INVALID -m bpf"));
  CHECK(has(rules_of(node_rules(Family::v6), "mangle", "PREROUTING"), "-p ipv6-icmp -m conntrack --ctstate INVALID -m bpf"));
}

namespace {

io::RuleSet holder_rules(bool syn_data, const std::string& extra = "") {
  config::Problems problems;
  const auto config = holder::parse_config("[holder]\nnodes = [\"10.0.1.0/24\"]\n" + extra +
                                               "\n[[services]]\nprotocol = \"tcp\"\nport = 80\n[[services]]\nprotocol = "
                                               "\"udp\"\nport = 53\n[[services]]\nprotocol = "
                                               "\"tcp\"\nport = 22\npush = \"never\"\n",
                                           "h", problems);
  for (const auto& problem : problems.list) FAIL(problem.to_string());
  REQUIRE(config);
  auto rules = holder::holder_rules(*config, Family::v4, syn_data);
  REQUIRE(rules);
  return *rules;
}

}  // namespace

TEST_CASE("holder: all queue rules bypass, lo and the daemon's own packets are left alone") {
  const auto set = holder_rules(false);
  for (const io::Chain& chain : set.chains)
    for (const std::string& rule : chain.rules)
      if (rule.find("NFQUEUE") != std::string::npos) CHECK(rule.find("--queue-bypass") != std::string::npos);
  const auto& raw = rules_of(set, "raw", "PREROUTING");
  CHECK(raw[0] == "-i lo -j RETURN");
  CHECK(raw[1] == "-m mark --mark 0x80000000/0x80000000 -j RETURN");
  position(raw, "-p udp --dport 51200 -m addrtype --dst-type LOCAL -j CT --notrack");
  position(raw, "-p tcp --tcp-option 253 -m addrtype --dst-type LOCAL -j NFQUEUE --queue-num 51210 --queue-bypass");
  CHECK(rules_of(set, "mangle", "OUTPUT")[0] == "-o lo -j RETURN");
  CHECK(!has(rules_of(holder_rules(false, "loopback = true"), "raw", "PREROUTING"), "-i lo"));
}

TEST_CASE("holder: with the daemon gone, segments whose data are a message are dropped in another table (decision 17)") {
  const std::string tail = "--tcp-option 253 -m addrtype --dst-type LOCAL -m mark ! --mark 0x80000000/0x80000000 -j DROP";
  position(rules_of(holder_rules(false), "mangle", "PREROUTING"), "-p tcp ! --syn " + tail);
  position(rules_of(holder_rules(true), "mangle", "PREROUTING"), "-p tcp " + tail);
  CHECK(!holder::delivers_syn_data(0x001));
  CHECK(!holder::delivers_syn_data(0x003));
  CHECK(!holder::delivers_syn_data(0x200));
  CHECK(holder::delivers_syn_data(0x202));
  CHECK(holder::delivers_syn_data(0x602));
}

TEST_CASE("holder: outbound, SYN/ACK of configured ports and UDP until its mark says done; nothing of push = never") {
  const auto set = holder_rules(false);
  const auto& out = rules_of(set, "mangle", "OUTPUT");
  position(out, "-p tcp --sport 80 --tcp-flags FIN,SYN,RST,ACK SYN,ACK -j NFQUEUE --queue-num 51211 --queue-bypass");
  position(out, "-p udp --sport 53 -m connmark ! --mark 0x4000000/0x4000000 -j NFQUEUE --queue-num 51211 --queue-bypass");
  CHECK(!has(out, "--sport 22"));
  const auto& post = rules_of(set, "mangle", "POSTROUTING");
  position(
      post,
      "-p udp --sport 53 -m mark --mark 0x4000000/0x4000000 -j CONNMARK --save-mark --nfmask 0x4000000 --ctmask 0x4000000");
}

TEST_CASE("holder, ACT: sessions that this host begins, by destination, until their mark says done; a SYN in any case") {
  const auto set = holder_rules(false,
                                "[act]\nenabled = true\ngateways = [\"10.0.8.0/24\"]\n"
                                "destinations = [\"192.0.2.0/24\", \"2001:db8::/32\"]\nskip = [\"tcp/22\"]\n");
  const auto& out = rules_of(set, "mangle", "OUTPUT");
  const std::string to = " -d 192.0.2.0/24 -m addrtype --dst-type UNICAST ";
  const std::string undone = "-m conntrack --ctdir ORIGINAL -m connmark ! --mark 0x4000000/0x4000000 ";
  const std::string queue = "-j NFQUEUE --queue-num 51211 --queue-bypass";
  const auto own = position(out, "-m mark --mark 0x80000000/0x80000000 -j RETURN");
  const auto service = position(out, "-p udp --sport 53 -m connmark ! --mark 0x4000000/0x4000000 " + queue);
  const auto syn = position(out, "-p tcp" + to + "--syn " + queue);
  CHECK(own < service);
  CHECK(service < position(out, "-p tcp --dport 22 -j RETURN"));
  CHECK(position(out, "-p tcp --dport 22 -j RETURN") < syn);
  CHECK(position(out, "-p udp --dport 51200 -j RETURN") < syn);
  position(out, "-p tcp" + to + undone + queue);
  position(out, "-p udp" + to + undone + queue);
  CHECK(!has(out, "2001:db8"));
  CHECK(!has(out, "--dport 53 "));  // another list than the default
  const auto& post = rules_of(set, "mangle", "POSTROUTING");
  const auto save =
      position(post, "-m mark --mark 0x4000000/0x4000000 -j CONNMARK --save-mark --nfmask 0x4000000 --ctmask 0x4000000");
  CHECK(save < position(post, "-m mark --mark 0x4000000/0x4000000 -j MARK --set-xmark 0x0/0x4000000"));
  position(rules_of(set, "raw", "OUTPUT"), "-m mark --mark 0x80000000/0x80000000 -j CT --notrack");

  const auto all = holder_rules(false, "[act]\nenabled = true\ngateways = [\"10.0.8.0/24\"]\n");
  position(rules_of(all, "mangle", "OUTPUT"), "-p tcp -m addrtype --dst-type UNICAST --syn " + queue);
  position(rules_of(all, "mangle", "OUTPUT"), "-p udp --dport 53 -j RETURN");
  CHECK(!has(rules_of(holder_rules(false), "mangle", "OUTPUT"), "--syn"));
  CHECK(rules_of(holder_rules(false), "raw", "OUTPUT").size() == 1);
}
