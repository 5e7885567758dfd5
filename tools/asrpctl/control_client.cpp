// SPDX-License-Identifier: BSD-3-Clause
#include "control_client.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace asrp::ctl {

std::string Answer::kind() const {
  if (!body.is_object() || !body.contains("kind") || !body["kind"].is_string()) return {};
  return body["kind"].get<std::string>();
}

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
                       : error == EACCES       ? "; you may not talk to it: become root, or of its control_group"
                                               : "";
  return path + ": " + std::strerror(error) + advice;
}

Answer ControlClient::ask(const nlohmann::json& request) {
  const std::string line = request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t size = send(fd_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    // A daemon that turns a client away says why before it closes.
    if (size <= 0) break;
    sent += static_cast<std::size_t>(size);
  }
  Answer answer;
  std::string text;
  if (!next_line(text)) return {false, "the daemon closed the connection without an answer", {}};
  answer.body = nlohmann::json::parse(text, nullptr, false);
  if (!answer.body.is_object()) return {false, "the answer is no JSON object", {}};
  const auto text_of = [&answer](const char* name, const std::string& otherwise) {
    return answer.body.contains(name) && answer.body[name].is_string() ? answer.body[name].get<std::string>() : otherwise;
  };
  answer.ok = answer.body.contains("ok") && answer.body["ok"] == true;
  if (!answer.ok) answer.error = text_of("error", "the daemon refused");
  return answer;
}

bool ControlClient::next_line(std::string& line) {
  std::size_t searched = taken_;
  for (;;) {
    if (const std::size_t end = input_.find('\n', searched); end != std::string::npos) {
      line.assign(input_, taken_, end - taken_);
      taken_ = end + 1;
      return true;
    }
    input_.erase(0, std::exchange(taken_, 0));
    searched = input_.size();
    char chunk[65536];
    const ssize_t size = read(fd_, chunk, sizeof chunk);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    input_.append(chunk, static_cast<std::size_t>(size));
  }
}

}  // namespace asrp::ctl
