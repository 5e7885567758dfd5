// SPDX-License-Identifier: BSD-3-Clause
// A folder for a socket, and the client's end of one.
#pragma once

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace asrp::test {

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "asrp-ctl-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

/// -1 and errno if it cannot.
inline int try_connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

inline int connect_to(const std::string& path) {
  const int fd = try_connect(path);
  REQUIRE(fd >= 0);
  return fd;
}

inline void say(int fd, const std::string& text) {
  REQUIRE(send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
}

/// Everything up to the end of the connection.
inline std::string read_all(int fd) {
  std::string out;
  char chunk[65536];
  for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) > 0;) out.append(chunk, static_cast<std::size_t>(n));
  return out;
}

/// This many octets; fewer at the end of the connection.
inline std::string read_octets(int fd, std::size_t count) {
  std::string out(count, '\0');
  std::size_t have = 0;
  for (ssize_t n; have < count && (n = read(fd, out.data() + have, count - have)) > 0;) have += static_cast<std::size_t>(n);
  out.resize(have);
  return out;
}

/// Up to the end of a line, and not beyond it; empty at the end of the connection.
inline std::string read_line(int fd) {
  std::string out;
  for (char c; read(fd, &c, 1) == 1;) {
    out += c;
    if (c == '\n') break;
  }
  return out;
}

}  // namespace asrp::test
