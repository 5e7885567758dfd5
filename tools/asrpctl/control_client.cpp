// SPDX-License-Identifier: BSD-3-Clause
#include "control_client.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

namespace asrp::ctl {

ControlClient::~ControlClient() {
  if (fd_ >= 0) close(fd_);
}

std::string ControlClient::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return "\"" + path + "\" is no name for a socket";
  std::memcpy(address.sun_path, path.data(), path.size());
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ >= 0 && ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return "";
  const int error = errno;
  const char* advice = error == ENOENT         ? "; is the daemon running, and is this its control_socket?"
                       : error == ECONNREFUSED ? "; the daemon is not running"
                       : error == EACCES       ? "; you may not talk to it: become root, or of its group"
                                               : "";
  return path + ": " + std::strerror(error) + advice;
}

Answer ControlClient::ask(const std::string& command) {
  const std::string request = nlohmann::json({{"command", command}}).dump() + "\n";
  if (send(fd_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    return {false, "", std::string("cannot ask: ") + std::strerror(errno)};
  Answer answer;
  if (!next_line(answer.line)) return {false, "", "the daemon closed the connection without an answer"};
  const auto parsed = nlohmann::json::parse(answer.line, nullptr, false);
  if (!parsed.is_object()) return {false, answer.line, "the answer is no JSON object"};
  answer.ok = parsed.value("ok", false);
  answer.error = parsed.value("error", std::string("the daemon refused"));
  return answer;
}

bool ControlClient::next_line(std::string& line) {
  for (;;) {
    if (const std::size_t end = input_.find('\n'); end != std::string::npos) {
      line = input_.substr(0, end);
      input_.erase(0, end + 1);
      return true;
    }
    char chunk[65536];
    const ssize_t size = read(fd_, chunk, sizeof chunk);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    input_.append(chunk, static_cast<std::size_t>(size));
  }
}

void ControlClient::wait_a_second() const { std::this_thread::sleep_for(std::chrono::seconds(1)); }

}  // namespace asrp::ctl
