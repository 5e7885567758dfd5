// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/sysctl.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace asrp::runtime {
namespace {

std::string path_of(std::string name) {
  std::replace(name.begin(), name.end(), '.', '/');
  return "/proc/sys/" + name;
}

}  // namespace

std::optional<std::int64_t> read_sysctl(const std::string& name) {
  std::ifstream file(path_of(name));
  std::int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::optional<std::string> write_sysctl(const std::string& name, std::int64_t value) {
  const std::string path = path_of(name);
  // Not an ofstream: that would hide errno, and the kernel wants the number in one write.
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const std::string text = std::to_string(value) + "\n";
  const bool written = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  if (fd >= 0) close(fd);
  if (written) return std::nullopt;
  return path + ": " + std::strerror(error);
}

}  // namespace asrp::runtime
