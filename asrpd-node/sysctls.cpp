// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/sysctls.hpp"

#include <cerrno>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "asrpd-node/mappings.hpp"
#include "runtime/files.hpp"
#include "runtime/log.hpp"
#include "runtime/sysctl.hpp"

namespace asrp::node {
namespace {

using io::IoError;
using nlohmann::json;

constexpr const char* kPrefix = "net.netfilter.nf_conntrack_";

std::string file_in(const std::string& directory) { return directory + "/sysctls.json"; }

std::int64_t in_seconds(Duration duration) { return std::chrono::duration_cast<std::chrono::seconds>(duration).count(); }

/// One sysctl as it was found, and as this program left it.
struct Changed {
  std::int64_t was = 0;
  std::int64_t set = 0;
};

/// What the values belong to: they are a network namespace's, and start anew with the machine.
std::string this_place() {
  const auto boot = runtime::read_file("/proc/sys/kernel/random/boot_id");
  std::string place = boot && boot->has_value() ? boot->value() : "";
  while (!place.empty() && place.back() == '\n') place.pop_back();
  std::error_code ignored;
  return place + " " + std::filesystem::read_symlink("/proc/thread-self/ns/net", ignored).string();
}

using Saved = std::map<std::string, Changed>;

/// What an earlier start has saved here; values of another place are none.
Result<Saved, IoError> read_saved(const std::string& file) {
  const auto text = runtime::read_file(file);
  if (!text) return Failure{text.error()};
  Saved saved;
  if (!text->has_value()) return saved;
  try {
    const json root = json::parse(**text);
    if (root.at("place") != this_place()) return saved;
    for (const auto& [name, value] : root.at("values").items())
      if (name.rfind(kPrefix, 0) == 0) saved[name] = {value.at("was").get<std::int64_t>(), value.at("set").get<std::int64_t>()};
  } catch (const std::exception&) {  // nlohmann throws on whatever is not as expected
    return Failure{IoError{"read " + file, 0, "it is damaged; remove it: the values before the first start are lost"}};
  }
  return saved;
}

Result<Done, IoError> write_saved(const std::string& file, const Saved& saved) {
  json values = json::object();
  for (const auto& [name, changed] : saved) values[name] = {{"was", changed.was}, {"set", changed.set}};
  return runtime::write_file(file, json({{"place", this_place()}, {"values", values}}).dump(1) + "\n");
}

Result<Done, IoError> set(const Sysctl& sysctl, std::int64_t before) {
  if (const auto error = runtime::write_sysctl(sysctl.name, sysctl.value))
    return Failure{
        IoError{"set " + sysctl.name + " (" + *error + ")", 0, "/proc/sys must be writable (ProtectKernelTunables=no)"}};
  runtime::log_info("sysctl", "set " + sysctl.name + " = " + std::to_string(sysctl.value) + ", was " + std::to_string(before));
  return Done{};
}

/// Whether some interface besides the loopback has IPv6 switched on.
bool any_interface_has_ipv6() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/sys/net/ipv6/conf", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name == "all" || name == "default" || name == "lo") continue;
    const auto value = runtime::read_file(entry.path().string() + "/disable_ipv6");  // a name may have a dot
    if (value && value->has_value() && value->value().rfind('0', 0) == 0) return true;
  }
  return false;
}

}  // namespace

std::vector<Sysctl> wanted_sysctls(const NodeConfig& config) {
  const std::string prefix(kPrefix);
  // An entry is created liberal in both directions, but a plain SYN and its SYN/ACK through the same node make the kernel begin
  // anew with its own view of the windows, no longer liberal. Once the session's other direction takes another way, each
  // acknowledgment would be INVALID.
  std::vector<Sysctl> out = {{prefix + "tcp_be_liberal", 1},
                             {prefix + "tcp_timeout_established", in_seconds(config.tcp_established())},
                             {prefix + "udp_timeout", in_seconds(config.timeouts.udp)},
                             {prefix + "udp_timeout_stream", in_seconds(config.timeouts.udp_stream)}};
  if (!config.nat) return out;
  for (const char* const state : {"syn_recv", "fin_wait", "close_wait", "last_ack", "time_wait"})
    out.push_back({prefix + "tcp_timeout_" + state, in_seconds(kNatTransitory)});
  // All entries tell of their end, also those that were made while nobody listened.
  const engine::NatOptions& nat = config.nat->settings;
  if (wants_mappings(nat, Protocol::udp) || wants_mappings(nat, Protocol::tcp)) out.push_back({prefix + "events", 1});
  for (const char* const protocol : {"icmp", "icmpv6"})
    out.push_back({prefix + protocol + "_timeout", in_seconds(config.timeouts.icmp)});
  return out;
}

Result<Done, IoError> apply_sysctls(const NodeConfig& config) {
  const std::string file = file_in(config.state_dir);
  auto saved = read_saved(file);
  if (!saved) return Failure{saved.error()};
  std::vector<std::pair<Sysctl, std::int64_t>> changes;  // and what each is now
  for (const Sysctl& sysctl : wanted_sysctls(config)) {
    const auto now = runtime::read_sysctl(sysctl.name);
    if (!now) return Failure{IoError{"read " + sysctl.name, ENOENT, "conntrack is not active in this network namespace"}};
    if (*now == sysctl.value) continue;
    changes.emplace_back(sysctl, *now);
    const auto known = saved->find(sysctl.name);
    // A value that is not the one we had set is somebody's choice, and the one to go back to.
    const bool ours = known != saved->end() && known->second.set == *now;
    (*saved)[sysctl.name] = {ours ? known->second.was : *now, sysctl.value};
  }
  if (changes.empty()) return Done{};
  if (auto done = write_saved(file, *saved); !done) return done;
  for (const auto& [sysctl, now] : changes)
    if (auto done = set(sysctl, now); !done) return done;
  return Done{};
}

Result<Done, IoError> restore_sysctls(const std::string& directory) {
  const std::string file = file_in(directory);
  const auto saved = read_saved(file);
  if (!saved) return Failure{saved.error()};
  if (saved->empty()) return Done{};
  for (const auto& [name, changed] : *saved) {
    if (runtime::read_sysctl(name) != changed.set) continue;  // somebody has changed it since: it is theirs
    if (const auto error = runtime::write_sysctl(name, changed.was))
      return Failure{IoError{"put back " + name + " (" + *error + ")", 0, ""}};
  }
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  return Done{};
}

std::optional<IoError> ipv6_trouble() {
  const std::string what = "serve IPv6 addresses";
  if (!std::filesystem::exists("/proc/sys/net/ipv6"))
    return IoError{what, 0, "this kernel runs without IPv6; remove the IPv6 services, or start it with IPv6"};
  const std::string name = "net.ipv6.conf.all.disable_ipv6";
  if (runtime::read_sysctl(name).value_or(0) == 0 || any_interface_has_ipv6()) return std::nullopt;
  return IoError{what, 0, name + " is 1 and no interface has IPv6; remove the IPv6 services, or run sysctl -w " + name + "=0"};
}

std::vector<std::string> forwarding_problems(const NodeConfig& config) {
  std::vector<std::string> out;
  const auto check = [&](Family family, const char* name) {
    if (config.has_family(family) && runtime::read_sysctl(name).value_or(0) == 0)
      out.push_back(std::string(name) + " is 0: this node forwards nothing; run sysctl -w " + name + "=1");
  };
  check(Family::v4, "net.ipv4.ip_forward");
  check(Family::v6, "net.ipv6.conf.all.forwarding");
  return out;
}

}  // namespace asrp::node
