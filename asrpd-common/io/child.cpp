// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/child.hpp"

#include <linux/capability.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace asrp::io {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

/// This thread has no ambient capability meanwhile: what it executes gets none, unless it runs as root.
class WithoutAmbient {
 public:
  explicit WithoutAmbient(bool wanted) {
    if (!wanted) return;
    for (unsigned long capability = 0; capability <= CAP_LAST_CAP; ++capability) {
      if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) == 1) taken_ |= std::uint64_t{1} << capability;
    }
    if (taken_ != 0) ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  }
  ~WithoutAmbient() {
    for (unsigned long capability = 0; capability <= CAP_LAST_CAP; ++capability) {
      if ((taken_ >> capability & 1) != 0) ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
    }
  }
  WithoutAmbient(const WithoutAmbient&) = delete;
  WithoutAmbient& operator=(const WithoutAmbient&) = delete;

 private:
  std::uint64_t taken_ = 0;
};

}  // namespace

// The daemon blocks signals and ignores SIGPIPE; its children start with a clean slate.
int spawn_child(const ChildSettings& settings, pid_t& child) {
  const std::vector<char*> arguments = pointers(settings.arguments);
  const std::vector<char*> environment = pointers(settings.environment);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, settings.in, 0);
  posix_spawn_file_actions_adddup2(&files, settings.out, 1);
  posix_spawn_file_actions_adddup2(&files, settings.err, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (settings.own_group) flags |= POSIX_SPAWN_SETPGROUP;
  posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
  const WithoutAmbient without(!settings.capable);
  const int failure = posix_spawn(&child, settings.path.c_str(), &files, &attributes, arguments.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return failure;
}

int open_pidfd(pid_t child) { return static_cast<int>(::syscall(SYS_pidfd_open, child, 0)); }

}  // namespace asrp::io
