// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>

#include "io/child.hpp"
#include "io/unique_fd.hpp"

namespace asrp::io {

namespace {

constexpr std::array kDirectories = {"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/", "/usr/local/sbin/"};

std::string find_program(const std::string& name) {
  for (const char* directory : kDirectories) {
    const std::string path = directory + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

// Memory files instead of pipes: a child that dies early raises no SIGPIPE here, and no order of reads can block both.
UniqueFd memory_file(const std::string& content) {
  UniqueFd file(::memfd_create("asrp-io", MFD_CLOEXEC));
  std::size_t done = 0;
  while (file && done < content.size()) {
    const ssize_t written = ::write(file.get(), content.data() + done, content.size() - done);
    if (written <= 0) return {};
    done += static_cast<std::size_t>(written);
  }
  if (file) ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string content_of(int file) {
  std::string text;
  std::array<char, 16384> piece{};
  off_t at = 0;
  for (ssize_t got = 0; (got = ::pread(file, piece.data(), piece.size(), at)) > 0; at += got)
    text.append(piece.data(), static_cast<std::size_t>(got));
  return text;
}

// False if the time ran out. Without pidfd (kernels before 5.3) it simply waits.
bool wait_until(pid_t child, std::chrono::milliseconds limit) {
  const UniqueFd handle(open_pidfd(child));
  if (!handle) return true;
  pollfd waiting{handle.get(), POLLIN, 0};
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;
  }
}

}  // namespace

Result<ProcessOutcome, IoError> run_process(const std::vector<std::string>& arguments, const std::string& input,
                                            std::chrono::milliseconds limit) {
  const std::string what = "run " + arguments.front();
  const std::string path = find_program(arguments.front());
  if (path.empty()) return Failure{IoError{what, ENOENT, "install the package that has " + arguments.front()}};

  const UniqueFd in = memory_file(input);
  const UniqueFd out = memory_file({});
  const UniqueFd err = memory_file({});
  if (!in || !out || !err) return Failure{IoError{what, errno, "the system is short of memory or descriptors"}};

  pid_t child = 0;
  // Messages are parsed: no translations.
  const std::vector<std::string> environment = {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  const int failure = spawn_child({path, arguments, environment, in.get(), out.get(), err.get(), false, true}, child);
  if (failure != 0) return Failure{IoError{what, failure, "check that this process may start " + path}};

  const bool in_time = wait_until(child, limit);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    // ECHILD: the process has told the kernel to reap its children by itself; the outcome is then unknown.
    if (errno != EINTR) return Failure{IoError{what, errno, "SIGCHLD must not be ignored"}};
  }
  if (!in_time) return Failure{IoError{what, ETIMEDOUT, "it did not end in time and was stopped"}};
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ProcessOutcome{code, content_of(out.get()), content_of(err.get())};
}

}  // namespace asrp::io
