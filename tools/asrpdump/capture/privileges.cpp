// SPDX-License-Identifier: BSD-3-Clause
#include "capture/privileges.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace asrp::dump {

std::string become_user(const std::string& user) {
  errno = 0;
  const passwd* const entry = getpwnam(user.c_str());
  if (entry == nullptr) return "-Z " + user + ": " + (errno == 0 ? "no such user" : std::strerror(errno));
  // The group first: afterwards there is no right left to change it.
  const bool is_done =
      initgroups(entry->pw_name, entry->pw_gid) == 0 && setgid(entry->pw_gid) == 0 && setuid(entry->pw_uid) == 0;
  return is_done ? std::string() : "-Z " + user + ": " + std::strerror(errno);
}

}  // namespace asrp::dump
