// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/rule_text.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

namespace asrp::io {

namespace {

std::string_view family_name(std::string_view chain) { return chain.substr(0, chain.find('-')); }

// The chain that a rule without conditions jumps to; empty for any other rule.
std::string_view plain_jump(std::string_view rule) {
  constexpr std::string_view kJump = "-j ";
  if (!rule.starts_with(kJump)) return {};
  const std::string_view target = rule.substr(kJump.size());
  return target.find(' ') == std::string_view::npos ? target : std::string_view{};
}

// Whether a rule, with conditions or without, jumps or goes to `chain`.
bool leads_to(std::string_view rule, const std::string& chain) {
  return rule.ends_with("-j " + chain) || rule.ends_with("-g " + chain);
}

std::vector<std::string> hooks_of(const std::vector<Chain>& chains) {
  std::vector<std::string> hooks;
  for (const Chain& c : chains)
    if (std::find(hooks.begin(), hooks.end(), c.hook) == hooks.end()) hooks.push_back(c.hook);
  return hooks;
}

std::vector<std::string> names_at(const std::vector<Chain>& chains, const std::string& hook) {
  std::vector<std::string> names;
  for (const Chain& c : chains)
    if (c.hook == hook) names.push_back(c.name);
  return names;
}

bool hook_in_place(const std::vector<std::string>& rules, const std::vector<std::string>& names) {
  std::size_t next = 0;
  bool at_head = true;
  for (const std::string& rule : rules) {
    const std::string_view target = plain_jump(rule);
    const bool ours = std::find(names.begin(), names.end(), target) != names.end();
    if (ours) {
      if (!at_head || next == names.size() || names[next] != target) return false;
      ++next;
    } else if (target.empty() || family_name(target) != family_name(names.front())) {
      at_head = false;
    }
  }
  return next == names.size();
}

const std::vector<std::string>& rules_of(const SavedTable& table, const std::string& chain) {
  static const std::vector<std::string> kNone;
  const auto found = table.chains.find(chain);
  return found == table.chains.end() ? kNone : found->second;
}

std::string line_of(const std::string& text, int number) {
  std::istringstream lines(text);
  std::string line;
  for (int i = 0; i < number; ++i)
    if (!std::getline(lines, line)) return {};
  return line;
}

int number_after(const std::string& text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return 0;
  int number = 0;
  for (std::size_t i = at + word.size();
       i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) && number < 100000; ++i)
    number = number * 10 + (text[i] - '0');
  return number;
}

// "matches tcp, conntrack and target NFQUEUE" of a rule.
std::string parts_of(const std::string& rule) {
  std::istringstream words(rule);
  std::string word;
  std::string parts;
  while (words >> word) {
    const bool match = word == "-m";
    if (!match && word != "-j") continue;
    if (!(words >> word)) break;
    if (!parts.empty()) parts += ", ";
    parts += (match ? "match " : "target ") + word;
  }
  return parts;
}

std::string first_line(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::string found;
  while (std::getline(lines, line)) {
    // "iptables-restore v1.8.9 (nf_tables): " is on every line; the message may be on the next one.
    if (const std::size_t end = line.find("): ");
        line.find("tables-restore v") != std::string::npos && end != std::string::npos)
      line.erase(0, end + 3);
    if (line.find_first_not_of(" \t") != std::string::npos) {
      found = line;
      break;
    }
  }
  return found;
}

}  // namespace

SavedTable parse_saved(std::string_view text) {
  SavedTable table;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (line.starts_with(':')) {
      table.chains[std::string(line.substr(1, line.find(' ') - 1))];
    } else if (line.starts_with("-A ")) {
      const std::size_t space = line.find(' ', 3);
      const std::string chain(line.substr(3, space == std::string_view::npos ? space : space - 3));
      table.chains[chain].emplace_back(space == std::string_view::npos ? std::string_view{} : line.substr(space + 1));
    }
  }
  return table;
}

bool jumps_in_place(const SavedTable& table, const std::vector<Chain>& chains) {
  for (const std::string& hook : hooks_of(chains))
    if (!hook_in_place(rules_of(table, hook), names_at(chains, hook))) return false;
  return true;
}

std::string replace_text(const SavedTable& now, const std::vector<Chain>& chains) {
  std::string text = "*" + chains.front().table + "\n";
  // Declaring a chain makes it, or empties it within the same transaction: no packet ever sees it empty.
  for (const Chain& c : chains) text += ":" + c.name + " - [0:0]\n";
  for (const Chain& c : chains)
    for (const std::string& rule : c.rules) text += "-A " + c.name + " " + rule + "\n";
  for (const std::string& hook : hooks_of(chains)) {
    std::vector<std::string> names = names_at(chains, hook);
    if (hook_in_place(rules_of(now, hook), names)) continue;
    for (const std::string& rule : rules_of(now, hook)) {
      const std::string_view target = plain_jump(rule);
      if (std::find(names.begin(), names.end(), target) != names.end())
        text += "-D " + hook + " -j " + std::string(target) + "\n";
    }
    std::reverse(names.begin(), names.end());  // each goes in front of the one before
    for (const std::string& name : names) text += "-I " + hook + " 1 -j " + name + "\n";
  }
  return text + "COMMIT\n";
}

std::string remove_text(const SavedTable& now, const std::string& table, const std::vector<Chain>& chains) {
  std::set<std::string> present;
  for (const Chain& c : chains)
    if (now.chains.contains(c.name)) present.insert(c.name);
  if (present.empty()) return {};
  std::string text = "*" + table + "\n";
  for (const auto& [chain, rules] : now.chains) {
    if (present.contains(chain)) continue;
    for (const std::string& rule : rules)
      for (const std::string& name : present)
        if (leads_to(rule, name)) text += "-D " + chain + " " + rule + "\n";
  }
  for (const std::string& name : present) text += "-F " + name + "\n";
  for (const std::string& name : present) text += "-X " + name + "\n";
  return text + "COMMIT\n";
}

IoError explain_failure(const std::string& program, const std::string& input, const std::string& errors) {
  IoError error{"install rules (" + program + "): " + first_line(errors), 0, {}};
  // A rule that user space refused ("occurred at line: 3"), or the kernel ("line 3: RULE_APPEND failed").
  const bool by_kernel = errors.find("RULE_") != std::string::npos;
  const int number = by_kernel ? number_after(errors, "line ") : number_after(errors, "at line: ");
  const std::string rule = line_of(input, number);
  const bool is_rule = rule.starts_with("-");
  if (is_rule) error.what += " [" + rule + "]";
  if (errors.find("ermission denied") != std::string::npos || errors.find("not permitted") != std::string::npos) {
    error.advice = "CAP_NET_ADMIN is needed in this network namespace";
  } else if (by_kernel && is_rule) {
    error.advice = "this kernel lacks one of: " + parts_of(rule) + ", or refuses it in this table";
  } else {
    error.advice = "check that this iptables has the match or target that is named";
  }
  return error;
}

}  // namespace asrp::io
