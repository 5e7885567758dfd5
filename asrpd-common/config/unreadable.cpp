// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/unreadable.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace asrp::config {

std::string why_unreadable(int error_number) {
  std::string why = std::strerror(error_number);
  if (error_number != EACCES) return why;
  const passwd* const user = getpwuid(geteuid());
  return why + "; user " + (user != nullptr ? user->pw_name : std::to_string(geteuid())) +
         " may not: become root or, if it is the daemon that reads it, chown it to that user";
}

}  // namespace asrp::config
