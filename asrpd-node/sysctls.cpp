// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/sysctls.hpp"

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

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

Result<json, IoError> read_saved(const std::string& file) {
  const auto text = runtime::read_file(file);
  if (!text) return Failure{text.error()};
  json saved = text->has_value() ? json::parse(**text, nullptr, false) : json::object();
  if (!saved.is_object())
    return Failure{IoError{"read " + file, 0, "it is damaged; remove it: the values before the first start are lost"}};
  return saved;
}

}  // namespace

std::vector<Sysctl> wanted_sysctls(const NodeConfig& config) {
  const std::string prefix(kPrefix);
  // An entry is created liberal in both directions, but a plain SYN and its SYN/ACK through the same node make the kernel begin
  // anew with its own view of the windows, no longer liberal. Once the session's other direction takes another way, each
  // acknowledgment would be INVALID.
  return {{prefix + "tcp_be_liberal", 1},
          {prefix + "tcp_timeout_established", in_seconds(config.tcp_established())},
          {prefix + "udp_timeout", in_seconds(config.timeouts.udp)},
          {prefix + "udp_timeout_stream", in_seconds(config.timeouts.udp_stream)}};
}

Result<Done, IoError> apply_sysctls(const NodeConfig& config) {
  const std::string file = file_in(config.state_dir);
  auto saved = read_saved(file);
  if (!saved) return Failure{saved.error()};
  std::vector<Sysctl> changes;
  bool save = false;
  for (const Sysctl& sysctl : wanted_sysctls(config)) {
    const auto now = runtime::read_sysctl(sysctl.name);
    if (!now) return Failure{IoError{"read " + sysctl.name, ENOENT, "conntrack is not active in this network namespace"}};
    if (*now == sysctl.value) continue;
    changes.push_back(sysctl);
    if (saved->contains(sysctl.name)) continue;
    (*saved)[sysctl.name] = *now;
    save = true;
  }
  if (save)
    if (auto done = runtime::write_file(file, saved->dump(1) + "\n"); !done) return done;
  for (const Sysctl& sysctl : changes) {
    const auto before = runtime::read_sysctl(sysctl.name);
    if (const auto error = runtime::write_sysctl(sysctl.name, sysctl.value))
      return Failure{
          IoError{"set " + sysctl.name + " (" + *error + ")", 0, "/proc/sys must be writable (ProtectKernelTunables=no)"}};
    runtime::log_info(
        "sysctl", "set " + sysctl.name + " = " + std::to_string(sysctl.value) + ", was " + std::to_string(before.value_or(0)));
  }
  return Done{};
}

Result<Done, IoError> restore_sysctls(const std::string& directory) {
  const std::string file = file_in(directory);
  const auto saved = read_saved(file);
  if (!saved) return Failure{saved.error()};
  for (const auto& [name, value] : saved->items()) {
    if (!value.is_number_integer() || name.rfind(kPrefix, 0) != 0) continue;
    if (const auto error = runtime::write_sysctl(name, value.get<std::int64_t>()))
      return Failure{IoError{"put back " + name + " (" + *error + ")", 0, ""}};
  }
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  return Done{};
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
