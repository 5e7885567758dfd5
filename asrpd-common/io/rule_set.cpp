// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/rule_set.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "io/process.hpp"
#include "io/rule_text.hpp"

namespace asrp::io {

namespace {

// iptables-nft needs no lock, iptables-legacy does; both take the option.
constexpr const char* kLockSeconds = "10";
// Between our look and our change somebody else may have changed a jump; then look again.
constexpr int kAttempts = 3;
constexpr std::size_t kLongestName = 28;  // XT_EXTENSION_MAXNAMELEN - 1

std::string program(Family family, const char* suffix) {
  return (family == Family::v4 ? "iptables" : "ip6tables") + std::string(suffix);
}

// The kernel's own words for rules that this process installed, by family, table and chain: iptables-save writes a rule in
// another form than the one that it was given in.
struct Installed {
  std::vector<std::string> given;
  std::vector<std::string> canonical;
};
class Registry {
 public:
  void remember(const std::string& key, Installed installed) {
    const std::lock_guard lock(mutex_);
    chains_[key] = std::move(installed);
  }
  void forget(const std::string& key) {
    const std::lock_guard lock(mutex_);
    chains_.erase(key);
  }
  bool matches(const std::string& key, const Installed& wanted) {
    const std::lock_guard lock(mutex_);
    const auto found = chains_.find(key);
    return found != chains_.end() && found->second.given == wanted.given && found->second.canonical == wanted.canonical;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Installed> chains_;
};
Registry& registry() {
  static Registry the_registry;
  return the_registry;
}

std::string key_of(Family family, const Chain& chain) {
  return std::to_string(static_cast<int>(family)) + " " + chain.table + " " + chain.name;
}

std::map<std::string, std::vector<Chain>> by_table(const RuleSet& rules) {
  std::map<std::string, std::vector<Chain>> tables;
  for (const Chain& c : rules.chains) tables[c.table].push_back(c);
  return tables;
}

Result<std::string, IoError> save(Family family, const std::string& table) {
  const std::string name = program(family, "-save");
  auto outcome = run_process({name, "-t", table}, {});
  if (!outcome) {
    IoError error = outcome.error();
    if (error.error_number == ENOENT) error.advice = "install the package iptables";
    return Failure{error};
  }
  if (outcome->status != 0) {
    IoError error = explain_failure(name, {}, outcome->errors);
    error.what = "read the rules of table " + table + ": " + error.what;
    if (family == Family::v6) error.advice += "; on a host without IPv6, configure no IPv6 addresses";
    return Failure{error};
  }
  return outcome->output;
}

// The text with the lines that change at every call left out.
std::string without_remarks(const std::string& text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (text[at] != '#') kept.append(text, at, end - at);
    at = end;
  }
  return kept;
}

// Makes the change that `plan` derives from the table's present state; an empty plan is success.
template <typename Plan>
Result<Done, IoError> change(Family family, const std::string& table, const Plan& plan) {
  std::string before;
  IoError last;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto saved = save(family, table);
    if (!saved) return Failure{saved.error()};
    std::string state = without_remarks(*saved);
    if (attempt > 0 && state == before) break;  // nothing moved: the same input fails again
    before = std::move(state);
    const std::string input = plan(parse_saved(before));
    if (input.empty()) return Done{};
    const std::string name = program(family, "-restore");
    auto outcome = run_process({name, "--noflush", "-w", kLockSeconds}, input);
    if (!outcome) return Failure{outcome.error()};
    if (outcome->status == 0) return Done{};
    last = explain_failure(name, input, outcome->errors);
  }
  return Failure{last};
}

/// Whether a table has what this process has put there for these very chains.
bool table_intact(const SavedTable& now, Family family, const std::vector<Chain>& chains) {
  for (const Chain& c : chains) {
    const auto found = now.chains.find(c.name);
    if (found == now.chains.end() || !registry().matches(key_of(family, c), {c.rules, found->second})) return false;
  }
  return jumps_in_place(now, chains);
}

Result<Done, IoError> check_names(const RuleSet& rules) {
  for (const Chain& c : rules.chains) {
    if (c.name.empty() || c.name.size() > kLongestName || c.name.find_first_of(" \n") != std::string::npos)
      return Failure{IoError{"install rules: chain name \"" + c.name + "\"", EINVAL, "1 to 28 characters without spaces"}};
    for (const std::string& rule : c.rules)
      if (rule.find('\n') != std::string::npos) return Failure{IoError{"install rules: a rule has a line break", EINVAL, {}}};
  }
  return Done{};
}

}  // namespace

Result<Done, IoError> install_rules(const RuleSet& rules) {
  if (auto names = check_names(rules); !names) return names;
  for (const auto& [table, chains] : by_table(rules)) {
    bool is_there = false;  // it takes seconds to put in what ten thousand servers need
    const auto plan = [&, &wanted = chains](const SavedTable& now) {
      is_there = table_intact(now, rules.family, wanted);
      return is_there ? std::string() : replace_text(now, wanted);
    };
    if (auto done = change(rules.family, table, plan); !done) return done;
    if (is_there) continue;
    auto saved = save(rules.family, table);
    if (!saved) return Failure{saved.error()};
    SavedTable now = parse_saved(*saved);
    for (const Chain& c : chains) {
      if (now.chains[c.name].size() != c.rules.size())
        return Failure{IoError{"install rules: chain " + c.name + " of table " + table + " was changed at once", 0,
                               "another program rewrites the rules; let it leave the chains ASRP-* alone"}};
      registry().remember(key_of(rules.family, c), {c.rules, now.chains[c.name]});
    }
  }
  return Done{};
}

Result<bool, IoError> rules_intact(const RuleSet& rules) {
  for (const auto& [table, chains] : by_table(rules)) {
    auto saved = save(rules.family, table);
    if (!saved) return Failure{saved.error()};
    if (!table_intact(parse_saved(*saved), rules.family, chains)) return false;
  }
  return true;
}

Result<bool, IoError> any_chain_present(const RuleSet& rules) {
  for (const auto& [table, chains] : by_table(rules)) {
    auto saved = save(rules.family, table);
    if (!saved) return Failure{saved.error()};
    const SavedTable now = parse_saved(*saved);
    for (const Chain& c : chains)
      if (now.chains.contains(c.name)) return true;
  }
  return false;
}

Result<std::vector<std::string>, IoError> chain_rules(Family family, const Chain& chain) {
  auto saved = save(family, chain.table);
  if (!saved) return Failure{saved.error()};
  return parse_saved(*saved).chains[chain.name];
}

Result<Done, IoError> remove_rules(const RuleSet& rules) {
  for (const auto& [table, chains] : by_table(rules)) {
    const auto plan = [&name = table, &ours = chains](const SavedTable& now) { return remove_text(now, name, ours); };
    if (auto done = change(rules.family, table, plan); !done) return done;
    for (const Chain& c : chains) registry().forget(key_of(rules.family, c));
  }
  return Done{};
}

}  // namespace asrp::io
