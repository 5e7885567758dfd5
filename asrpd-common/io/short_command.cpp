// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/short_command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "io/child.hpp"
#include "io/unique_fd.hpp"
#include "runtime/clock.hpp"

namespace asrp::io {
namespace {

/// Reads until the end of the output, which comes when nobody of the group has it any more. 0, or why it ends earlier.
int read_output(int pipe, TimePoint end, std::string& output) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - runtime::monotonic_now()).count();
    if (left <= 0) return ETIMEDOUT;
    pollfd wait{pipe, POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(left)) <= 0) continue;  // the time is looked at again
    std::array<char, 1024> piece{};
    const ssize_t got = ::read(pipe, piece.data(), piece.size());
    if (got == 0) return 0;
    if (got < 0 && errno != EINTR) return errno;
    if (got > 0) output.append(piece.data(), static_cast<std::size_t>(got));
    if (output.size() > kMostCommandOutput) return EMSGSIZE;
  }
}

/// Its end may come after that of its output. 0 and the status, or ETIMEDOUT.
int wait_for(pid_t child, TimePoint end, int& status) {
  const UniqueFd handle(open_pidfd(child));
  while (handle) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - runtime::monotonic_now()).count();
    if (left <= 0) return ETIMEDOUT;
    pollfd wait{handle.get(), POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(left)) > 0) break;
  }
  return handle && ::waitpid(child, &status, WNOHANG) == child ? 0 : ETIMEDOUT;
}

}  // namespace

Result<CommandOutcome, IoError> run_short_command(const std::vector<std::string>& command, Duration limit) {
  const std::string what = "run " + command.front();
  const TimePoint end = runtime::monotonic_now() + limit;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Failure{IoError{what, errno, ""}};
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing) return Failure{IoError{what, errno, ""}};
  pid_t child = 0;
  const std::vector<std::string> environment = {"LC_ALL=C",
                                                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  const int failure =
      spawn_child({command.front(), command, environment, nothing.get(), writing.get(), nothing.get(), true}, child);
  if (failure != 0) return Failure{IoError{what, failure, "check that the daemon's user may run it"}};
  writing = UniqueFd();
  CommandOutcome outcome;
  int status = 0;
  int trouble = read_output(reading.get(), end, outcome.output);
  if (trouble == 0) trouble = wait_for(child, end, status);
  ::kill(-child, SIGKILL);  // whoever is left of the group
  if (trouble != 0) {
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return Failure{IoError{what, trouble, "it was killed"}};
  }
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace asrp::io
