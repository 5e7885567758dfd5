// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/privileges.hpp"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace asrp::runtime {
namespace {

constexpr std::uint32_t kNetAdmin = 1u << CAP_NET_ADMIN;
constexpr std::uint32_t kNetRaw = 1u << CAP_NET_RAW;

struct Sets {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
};

}  // namespace

std::string capability_advice(const std::string& program, bool lacks_net_admin, bool lacks_net_raw) {
  std::string names = lacks_net_admin ? "CAP_NET_ADMIN" : "";
  if (lacks_net_raw) names += names.empty() ? "CAP_NET_RAW" : " and CAP_NET_RAW";
  return program + " lacks " + names +
         ": start it as root, by its systemd unit, or with `capsh --caps=cap_net_admin,cap_net_raw+eip`";
}

std::optional<std::string> missing_capabilities(const std::string& program) {
  Sets sets;
  if (syscall(SYS_capget, &sets.header, sets.data) != 0)
    return program + " cannot read its capabilities: " + std::strerror(errno) + "; a system call filter may forbid capget";
  const bool admin = (sets.data[0].effective & kNetAdmin) != 0;
  const bool raw = (sets.data[0].effective & kNetRaw) != 0;
  if (admin && raw) return std::nullopt;
  return capability_advice(program, !admin, !raw);
}

void join_group(gid_t group) {
  const int count = getgroups(0, nullptr);
  if (count < 0) return;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  if (getgroups(count, groups.data()) != count) return;
  if (std::find(groups.begin(), groups.end(), group) != groups.end()) return;
  groups.push_back(group);
  static_cast<void>(setgroups(groups.size(), groups.data()));
}

WithoutOverride::WithoutOverride() {
  constexpr std::uint32_t kOverride = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_FOWNER;
  Sets sets;
  if (syscall(SYS_capget, &sets.header, sets.data) != 0) return;
  effective_ = sets.data[0].effective;
  sets.data[0].effective &= ~kOverride;
  static_cast<void>(syscall(SYS_capset, &sets.header, sets.data));
}

WithoutOverride::~WithoutOverride() {
  Sets sets;
  if (effective_ == 0 || syscall(SYS_capget, &sets.header, sets.data) != 0) return;
  sets.data[0].effective = effective_;
  static_cast<void>(syscall(SYS_capset, &sets.header, sets.data));
}

std::optional<std::string> drop_other_capabilities() {
  // The bounding set first, for it takes CAP_SETPCAP, which goes with the rest. Without CAP_SETPCAP the set was made by
  // somebody else (a systemd unit, a container) and is left as it is.
  for (int capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    if (capability == CAP_NET_ADMIN || capability == CAP_NET_RAW) continue;
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM && errno != EINVAL)
      return std::string("drop from the capability bounding set: ") + std::strerror(errno);
  }
  Sets sets;
  sets.data[0].effective = sets.data[0].permitted = sets.data[0].inheritable = kNetAdmin | kNetRaw;
  if (syscall(SYS_capset, &sets.header, sets.data) != 0) return std::string("capset: ") + std::strerror(errno);
  // Ambient, so that iptables-restore has them when the daemon is not root. Kernels and filters without it matter only then.
  for (const unsigned long capability : {std::uint32_t{CAP_NET_ADMIN}, std::uint32_t{CAP_NET_RAW}})
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) != 0 && geteuid() != 0)
      return std::string("raise ambient capability: ") + std::strerror(errno);
  return std::nullopt;
}

}  // namespace asrp::runtime
