// SPDX-License-Identifier: BSD-3-Clause
// Rules and sysctls of the daemons in a real kernel, each case in a network namespace of its own.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "asrpd-holder/rules.hpp"
#include "asrpd-node/rules.hpp"
#include "asrpd-node/sysctls.hpp"
#include "io/lab.hpp"
#include "runtime/clock.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/rule_keeper.hpp"

using namespace asrp;
using namespace asrp::runtime;
using asrp::test::Namespace;
using asrp::test::run;
using std::chrono::seconds;

namespace {

io::RuleSet sample(const std::string& port) {
  return {Family::v4, {{"raw", "PREROUTING", "ASRP-T", {"-p tcp --dport " + port + " -j NFQUEUE --queue-num 7"}}}};
}
io::RuleSet refused() { return {Family::v6, {{"raw", "PREROUTING", "ASRP-T", {"-p tcp --no-such-match -j DROP"}}}}; }

std::string saved() { return run("iptables-save -t raw"); }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::unique_ptr<RuleKeeper> keeper(EventLoop& loop, std::function<void()> on_repair = {}) {
  auto opened = RuleKeeper::open(loop, std::move(on_repair));
  REQUIRE(opened);
  return std::move(*opened);
}

/// Ends a loop that nothing ended, so that a case fails instead of hanging.
void limit(EventLoop& loop) {
  loop.set_timer(monotonic_now() + seconds(10), [&loop] { loop.stop(); });
}

}  // namespace

TEST_CASE("a first replacement that fails leaves nothing behind") {
  const Namespace ns;
  EventLoop loop;
  const auto rules = keeper(loop);
  CHECK(!rules->replace({sample("80"), refused()}));
  CHECK(!has(saved(), "ASRP-T"));
}

TEST_CASE("a start that fails later takes back what it made, but not what an earlier run had left") {
  const Namespace ns;
  EventLoop loop;
  {
    const auto rules = keeper(loop);
    REQUIRE(rules->replace({sample("80")}));
    rules->undo_first();
    CHECK(!has(saved(), "ASRP-T"));
    REQUIRE(rules->replace({sample("80")}));
  }
  CHECK(has(saved(), "--dport 80"));  // they outlive the keeper
  const auto next = keeper(loop);
  REQUIRE(next->replace({sample("81")}));
  next->undo_first();
  CHECK(has(saved(), "ASRP-T"));
}

TEST_CASE("a later replacement that fails puts the former rules back") {
  const Namespace ns;
  EventLoop loop;
  const auto rules = keeper(loop);
  REQUIRE(rules->replace({sample("80")}));
  CHECK(!rules->replace({sample("81"), refused()}));
  CHECK(has(saved(), "--dport 80"));
  CHECK(!has(saved(), "--dport 81"));

  bool told = false;
  rules->replace_later({sample("82")}, [&](const Result<Done, io::IoError>& done) {
    told = done.has_value();
    loop.stop();
  });
  limit(loop);
  loop.run();
  CHECK(told);
  CHECK(has(saved(), "--dport 82"));
  rules->remove();
  CHECK(!has(saved(), "ASRP-T"));
}

TEST_CASE("what another program flushes is put back, and the daemon is told") {
  const Namespace ns;
  EventLoop loop;
  int repairs = 0;
  const auto rules = keeper(loop, [&] {
    ++repairs;
    loop.stop();
  });
  REQUIRE(rules->replace({sample("80")}));
  SUBCASE("all rules") { run("nft flush ruleset"); }
  SUBCASE("one table") { run("iptables -t raw -F"); }
  SUBCASE("another program in front of ours") { run("iptables -t raw -I PREROUTING 1 -p udp -j ACCEPT"); }
  limit(loop);
  loop.run();
  CHECK(repairs == 1);
  CHECK(rules->repairs() == 1);
  CHECK(has(saved(), "--dport 80"));
}

TEST_CASE("the kernel takes all rules of the full configurations") {
  const Namespace ns;
  config::Problems problems;
  const std::string fixtures = ASRP_SOURCE_DIR "/tests/config/";
  const auto node_config = node::load_config(fixtures + "good.node-full.toml", problems);
  const auto holder_config = holder::load_config(fixtures + "good.holder-full.toml", problems);
  REQUIRE(node_config);
  REQUIRE(holder_config);
  for (const Family family : {Family::v4, Family::v6}) {
    for (const auto& rules : {node::node_rules(*node_config, family), holder::holder_rules(*holder_config, family, true)}) {
      REQUIRE(rules);
      const auto done = io::install_rules(*rules);
      CHECK_MESSAGE(done.has_value(), (done ? "" : done.error().to_string()));
      const auto intact = io::rules_intact(*rules);
      CHECK((intact && *intact));
    }
    REQUIRE(io::remove_rules(node::node_chains(family)));
    REQUIRE(io::remove_rules(holder::holder_chains(family)));
  }
  CHECK(!has(run("iptables-save"), "ASRP"));
  CHECK(!has(run("ip6tables-save"), "ASRP"));
}

TEST_CASE("timeouts are set, the values from before are kept over several starts, and put back (decision 4)") {
  const Namespace ns;
  run("iptables -A INPUT -m conntrack --ctstate INVALID -j DROP");  // conntrack's sysctls are there from now on
  std::string folder = (std::filesystem::temp_directory_path() / "asrp-sysctl-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const auto established = [] {
    return std::stol(test::read_file("/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established"));
  };
  const long before = established();
  config::Problems problems;
  auto config = node::load_config(ASRP_SOURCE_DIR "/tests/config/good.node-small.toml", problems);
  REQUIRE(config);
  config->state_dir = folder;
  REQUIRE(node::apply_sysctls(*config));
  CHECK(established() == 600);
  config->timeouts.tcp_established = seconds(77);
  REQUIRE(node::apply_sysctls(*config));
  CHECK(established() == 77);
  REQUIRE(node::restore_sysctls(folder));
  CHECK(established() == before);
  REQUIRE(node::restore_sysctls(folder));  // nothing is saved any more
  std::filesystem::remove_all(folder);
}
