// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>

namespace asrp::runtime {

using io::IoError;

namespace {

/// A file system that gets full takes a part first, and tells why the next time.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = write(fd, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

}  // namespace

Result<std::optional<std::string>, IoError> read_file(const std::string& path) {
  // Not an ifstream: that hides errno, and throws for a folder.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return std::optional<std::string>();
  std::string text;
  char chunk[16384];
  ssize_t size = fd < 0 ? -1 : 0;
  while (fd >= 0 && text.size() <= kMaxFile && (size = read(fd, chunk, sizeof chunk)) > 0)
    text.append(chunk, static_cast<std::size_t>(size));
  const int error = errno;
  if (fd >= 0) close(fd);
  if (text.size() > kMaxFile) return Failure{IoError{"read " + path, EFBIG, "at most 16 MiB are read"}};
  if (size < 0) return Failure{IoError{"read " + path, error, ""}};
  return std::optional<std::string>(std::move(text));
}

Result<Done, IoError> write_file(const std::string& path, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const std::string temporary = path + ".new";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool good = fd >= 0 && write_all(fd, text) && fsync(fd) == 0;
  int error = errno;
  if (fd >= 0) close(fd);
  if (good && std::rename(temporary.c_str(), path.c_str()) != 0) {
    good = false;
    error = errno;
  }
  if (good) return Done{};
  if (fd >= 0) unlink(temporary.c_str());  // half a file helps nobody, and fills what is full already
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return Failure{IoError{"write " + path, error, std::string(is_full ? "make room" : io::kPlaceAdvice)}};
}

}  // namespace asrp::runtime
