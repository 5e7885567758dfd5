// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include "io/rule_text.hpp"

using namespace asrp::io;

namespace {

const Chain kOne{"raw", "PREROUTING", "ASRP-NODE", {"-p tcp -j NFQUEUE --queue-num 3", "-j RETURN"}};
const Chain kTwo{"raw", "PREROUTING", "ASRP-NODE-B", {}};

SavedTable saved(const char* hook_rules) { return parse_saved(std::string(":PREROUTING ACCEPT [0:0]\n") + hook_rules); }

}  // namespace

TEST_CASE("iptables-save text becomes chains and rules") {
  const SavedTable table =
      parse_saved("# remark\n*raw\n:PREROUTING ACCEPT [1:2]\n:X - [0:0]\n-A X -p tcp -j RETURN\n-A X -j Y\nCOMMIT\n");
  REQUIRE(table.chains.size() == 2);
  CHECK(table.chains.at("PREROUTING").empty());
  CHECK(table.chains.at("X") == std::vector<std::string>{"-p tcp -j RETURN", "-j Y"});
}

TEST_CASE("jumps must lead the hook, in order, once") {
  const std::vector<Chain> both = {kOne, kTwo};
  CHECK(jumps_in_place(saved("-A PREROUTING -j ASRP-NODE\n-A PREROUTING -j ASRP-NODE-B\n-A PREROUTING -j OTHER\n"), both));
  CHECK_FALSE(jumps_in_place(saved("-A PREROUTING -j ASRP-NODE-B\n-A PREROUTING -j ASRP-NODE\n"), both));
  CHECK_FALSE(jumps_in_place(saved("-A PREROUTING -j ASRP-NODE\n"), both));
  CHECK_FALSE(jumps_in_place(saved("-A PREROUTING -j OTHER\n-A PREROUTING -j ASRP-NODE\n"), {kOne}));
  CHECK_FALSE(jumps_in_place(saved("-A PREROUTING -j ASRP-NODE\n-A PREROUTING -j ASRP-NODE\n"), {kOne}));
  CHECK_FALSE(jumps_in_place(saved("-A PREROUTING -i eth0 -j ASRP-NODE\n"), {kOne}));
  CHECK_FALSE(jumps_in_place(SavedTable{}, {kOne}));
}

TEST_CASE("a sibling program's jump in front is no reason to fight") {
  CHECK(jumps_in_place(saved("-A PREROUTING -j ASRP-HOLDER\n-A PREROUTING -j ASRP-NODE\n-A PREROUTING -j OTHER\n"), {kOne}));
}

TEST_CASE("replacement declares, fills and hooks, and leaves right jumps alone") {
  CHECK(replace_text(SavedTable{}, {kOne}) ==
        "*raw\n:ASRP-NODE - [0:0]\n-A ASRP-NODE -p tcp -j NFQUEUE --queue-num 3\n-A ASRP-NODE -j RETURN\n"
        "-I PREROUTING 1 -j ASRP-NODE\nCOMMIT\n");
  CHECK(replace_text(saved("-A PREROUTING -j ASRP-NODE\n"), {kOne}).find("PREROUTING") == std::string::npos);
  const std::string moved = replace_text(saved("-A PREROUTING -j OTHER\n-A PREROUTING -j ASRP-NODE\n"), {kOne});
  CHECK(moved.find("-D PREROUTING -j ASRP-NODE\n-I PREROUTING 1 -j ASRP-NODE\n") != std::string::npos);
  CHECK(moved.find("OTHER") == std::string::npos);
  CHECK(replace_text(SavedTable{}, {kOne, kTwo}).find("-I PREROUTING 1 -j ASRP-NODE-B\n-I PREROUTING 1 -j ASRP-NODE\n") !=
        std::string::npos);
}

TEST_CASE("removal takes our chains and every jump to them, nothing else") {
  const SavedTable now = parse_saved(
      ":PREROUTING ACCEPT [0:0]\n:ASRP-NODE - [0:0]\n:MINE - [0:0]\n-A PREROUTING -j ASRP-NODE\n-A PREROUTING -j MINE\n"
      "-A MINE -i eth0 -j ASRP-NODE\n-A MINE -j ASRP-NODE-B2\n-A ASRP-NODE -j RETURN\n");
  CHECK(remove_text(now, "raw", {kOne, kTwo}) ==
        "*raw\n-D MINE -i eth0 -j ASRP-NODE\n-D PREROUTING -j ASRP-NODE\n-F ASRP-NODE\n-X ASRP-NODE\nCOMMIT\n");
  CHECK(remove_text(parse_saved(":PREROUTING ACCEPT [0:0]\n"), "raw", {kOne}).empty());
}

TEST_CASE("a failure names the rule and what the kernel may lack") {
  const std::string input = "*raw\n:X - [0:0]\n-A X -p tcp -m bpf --bytecode 1 -j NFQUEUE\nCOMMIT\n";
  const IoError kernel = explain_failure(
      "iptables-restore", input,
      "iptables-restore v1.8.9 (nf_tables): \nline 3: RULE_APPEND failed (No such file or directory): rule in chain X\n");
  CHECK(kernel.to_string().find("-A X -p tcp -m bpf") != std::string::npos);
  CHECK(kernel.advice.find("match bpf, target NFQUEUE") != std::string::npos);
  const IoError user = explain_failure("iptables-restore", input,
                                       "iptables-restore v1.8.9 (nf_tables): Couldn't load match `bpf':No such file or "
                                       "directory\n\nError occurred at line: 3\n");
  CHECK(user.to_string().find("Couldn't load match `bpf'") != std::string::npos);
  CHECK(user.to_string().find("[-A X -p tcp -m bpf") != std::string::npos);
}

TEST_CASE("filters become bytecode text, and too long ones are refused with the number") {
  auto text = compile_bytecode("ip and udp and ip[2:2] - ((ip[0]&0xf)<<2) > udp[4:2]");
  REQUIRE(text.has_value());
  CHECK(text->starts_with("23,"));
  CHECK_FALSE(compile_bytecode("ip and (").has_value());
  std::string longer = "ip and (port 1";
  for (int i = 2; i < 40; ++i) longer += " or port " + std::to_string(i);
  auto refused = compile_bytecode(longer + ")");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().advice.find("64 instructions") != std::string::npos);
}
