// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include "io/lab.hpp"
#include "io/rule_set.hpp"

using namespace asrp;
using namespace asrp::io;
using asrp::test::Namespace;
using asrp::test::run;

namespace {

RuleSet sample(Family family, const std::string& port) {
  const std::string address = family == Family::v4 ? "10.9.0.1" : "fd09::1";
  return {
      family,
      {{"raw", "PREROUTING", "ASRP-T", {"-p tcp -d " + address + " --dport " + port + " --syn -j NFQUEUE --queue-num 7"}},
       {"mangle", "PREROUTING", "ASRP-T", {"-m conntrack --ctstate NEW,INVALID -d " + address + " -j NFQUEUE --queue-num 8"}},
       {"nat", "POSTROUTING", "ASRP-T", {}}}};
}

void require_intact(const RuleSet& rules, bool expected) {
  auto intact = rules_intact(rules);
  REQUIRE(intact.has_value());
  CHECK(*intact == expected);
}

void check_install(const RuleSet& rules) {
  auto done = install_rules(rules);
  REQUIRE_MESSAGE(done.has_value(), (done ? "" : done.error().to_string()));
}

void damage_and_repair(Family family) {
  const Namespace ns;
  const std::string iptables = family == Family::v4 ? "iptables" : "ip6tables";
  run(iptables + " -t raw -A PREROUTING -p icmp -j ACCEPT");
  const std::string foreign = run(iptables + " -t raw -S PREROUTING");
  const RuleSet rules = sample(family, "80");
  require_intact(rules, false);
  check_install(rules);
  require_intact(rules, true);
  CHECK(run(iptables + " -t raw -S PREROUTING").find("-A PREROUTING -j ASRP-T\n-A PREROUTING -p") != std::string::npos);

  SUBCASE("installing again and replacing keep one jump") {
    check_install(rules);
    check_install(sample(family, "81"));
    require_intact(rules, false);
    require_intact(sample(family, "81"), true);
    const std::string text = run(iptables + "-save -t raw");
    CHECK(text.find("--dport 81") != std::string::npos);
    CHECK(text.find("--dport 80") == std::string::npos);
    check_install(rules);
  }
  SUBCASE("chain flushed") { run(iptables + " -t mangle -F ASRP-T"); }
  SUBCASE("all of a table flushed") { run(iptables + " -t raw -F"); }
  SUBCASE("all rules of all programs flushed") { run("nft flush ruleset"); }
  SUBCASE("one rule changed") { run(iptables + " -t mangle -R ASRP-T 1 -j ACCEPT"); }
  SUBCASE("somebody in front of us") { run(iptables + " -t raw -I PREROUTING 1 -p tcp -j ACCEPT"); }
  SUBCASE("jump removed, chain deleted") {
    run(iptables + " -t nat -D POSTROUTING -j ASRP-T");
    run(iptables + " -t nat -X ASRP-T");
  }
  check_install(rules);
  require_intact(rules, true);
  REQUIRE(remove_rules(rules).has_value());
  REQUIRE(remove_rules(rules).has_value());
  require_intact(rules, false);
  CHECK(run(iptables + "-save").find("ASRP") == std::string::npos);
}

}  // namespace

TEST_CASE("rules install, replace, are repaired after every kind of damage, and go away without a trace (IPv4)") {
  damage_and_repair(Family::v4);
}
TEST_CASE("rules install, replace, are repaired after every kind of damage, and go away without a trace (IPv6)") {
  damage_and_repair(Family::v6);
}

TEST_CASE("a foreign rule survives install and removal") {
  const Namespace ns;
  run("iptables -t raw -A PREROUTING -p icmp -j ACCEPT");
  const RuleSet rules = sample(Family::v4, "80");
  check_install(rules);
  REQUIRE(remove_rules(rules).has_value());
  CHECK(run("iptables -t raw -S PREROUTING") == "-P PREROUTING ACCEPT\n-A PREROUTING -p icmp -j ACCEPT\n");
}

TEST_CASE("a bad rule leaves the table as it was and is named") {
  const Namespace ns;
  const RuleSet good = sample(Family::v4, "80");
  check_install(good);
  RuleSet bad = good;
  bad.chains[0].rules.push_back("-j SNAT --to-source 10.0.0.1");  // the kernel refuses it in raw
  auto refused = install_rules({Family::v4, {bad.chains[0]}});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().to_string().find("SNAT") != std::string::npos);
  require_intact(good, true);
  bad.chains[0].rules.back() = "-m nosuchmatch -j DROP";
  refused = install_rules(bad);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().to_string().find("nosuchmatch") != std::string::npos);
  require_intact(good, true);
}

TEST_CASE("the kernel takes compiled filters") {
  const Namespace ns;
  auto v4 = compile_bytecode("ip and udp and ip[2:2] - ((ip[0]&0xf)<<2) > udp[4:2]");
  auto v6 = compile_bytecode(
      "ip6 and (ip6[6]==0 or ip6[6]==43 or ip6[6]==60) and ip6[40]==17 and (ip6[4:2] - ((ip6[41]+1)<<3)) > "
      "ip6[44+((ip6[41]+1)<<3):2]");
  REQUIRE(v4.has_value());
  REQUIRE(v6.has_value());
  check_install({Family::v4, {{"raw", "PREROUTING", "ASRP-T", {"-m bpf --bytecode \"" + *v4 + "\" -j DROP"}}}});
  check_install({Family::v6, {{"raw", "PREROUTING", "ASRP-T", {"-m bpf --bytecode \"" + *v6 + "\" -j DROP"}}}});
}

TEST_CASE("the monitor tells of changes by others") {
  const Namespace ns;
  auto monitor = RuleMonitor::open();
  REQUIRE(monitor.has_value());
  CHECK_FALSE((*monitor)->drain());
  run("iptables -t raw -A PREROUTING -j ACCEPT");
  CHECK(test::wait_readable((*monitor)->descriptor()));
  CHECK((*monitor)->drain());
  CHECK_FALSE((*monitor)->drain());
}
