// SPDX-License-Identifier: BSD-3-Clause
// Files under state_dir: replaced as a whole or not at all.
#include "runtime/files.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

using namespace asrp;

namespace {

/// Files that this process writes can have so many octets, as on a file system that has no more room.
class Room {
 public:
  explicit Room(rlim_t octets) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{octets, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~Room() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = SIG_DFL;
};

}  // namespace

TEST_CASE("files: one that finds no room leaves the former one, no part of itself, and says why") {
  char name[] = "/tmp/asrp-files-XXXXXX";
  const std::filesystem::path folder = mkdtemp(name);
  const std::string path = (folder / "state.json").string();
  REQUIRE(runtime::write_file(path, "former"));
  std::string said;
  {
    const Room room(100);
    const auto done = runtime::write_file(path, std::string(5000, 'x'));
    if (!done) said = done.error().to_string();
  }
  CHECK(said == "write " + path + ": File too large; make room");
  CHECK(runtime::read_file(path).value() == std::string("former"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  REQUIRE(runtime::write_file(path, std::string(5000, 'x')));
  CHECK(runtime::read_file(path).value() == std::string(5000, 'x'));
  std::filesystem::remove_all(folder);
}
