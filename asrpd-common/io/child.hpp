// SPDX-License-Identifier: GPL-2.0-or-later
// Starts a program without a shell, with a clean slate of signals, a given environment, and only on demand with capabilities.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace asrp::io {

struct ChildSettings {
  std::string path;                      // of the program
  std::vector<std::string> arguments;    // the first is its name
  std::vector<std::string> environment;  // "NAME=value"; nothing else is handed on
  int in = -1;                           // what becomes its descriptors 0, 1 and 2
  int out = -1;
  int err = -1;
  bool own_group = false;  // leads a process group of its own, which can be signalled as a whole
  /// Has the daemon's ambient capabilities. Programs of the system need them (iptables-restore); an operator's command shall
  /// not.
  bool capable = false;
};

/// 0, or errno.
int spawn_child(const ChildSettings& settings, pid_t& child);

/// A descriptor that is readable once the child has ended; -1 and errno on failure (kernels before 5.3).
int open_pidfd(pid_t child);

}  // namespace asrp::io
