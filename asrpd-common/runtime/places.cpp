// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/places.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/privileges.hpp"

namespace asrp::runtime {
namespace {

namespace fs = std::filesystem;

PlaceTrouble trouble(const fs::path& at, const std::string& what, int number) {
  return {at.string(), what + ": " + std::strerror(number)};
}

/// Whether the daemon may, by what is left of its rights when it runs: root without CAP_DAC_OVERRIDE is a user like others.
std::optional<PlaceTrouble> why_no_access(const std::string& path, int mode) {
  if (missing_capabilities("")) return std::nullopt;
  const WithoutOverride lowered;
  if (faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0) return std::nullopt;
  return trouble(path, "cannot be written to", errno);
}

}  // namespace

std::string directory_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

std::optional<PlaceTrouble> why_no_files_in(const std::string& directory) {
  // As far as the path is there; the rest can be made where the last part allows it.
  for (fs::path at = directory.empty() ? "." : directory;; at = directory_of(at.string())) {
    struct stat status {};
    if (stat(at.c_str(), &status) == 0) {
      if (!S_ISDIR(status.st_mode)) return PlaceTrouble{at.string(), "is not a directory"};
      return why_no_access(at.string(), W_OK | X_OK);
    }
    // ENOTDIR: a part before it is a file, which is found on the way up.
    if (errno != ENOENT && errno != ENOTDIR) return trouble(at, "cannot be reached", errno);
    if (at == "." || at == "/") return trouble(at, "cannot be reached", ENOENT);
  }
}

std::optional<PlaceTrouble> why_no_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENAMETOOLONG) return trouble(path, "cannot be made", errno);
    return why_no_files_in(directory_of(path));
  }
  if (S_ISDIR(status.st_mode)) return PlaceTrouble{path, "is a directory"};
  return why_no_access(path, W_OK);
}

}  // namespace asrp::runtime
