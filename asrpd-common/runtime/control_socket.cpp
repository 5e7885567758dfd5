// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/control_socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/log.hpp"

namespace asrp::runtime {
namespace {

using io::IoError;

bool fill_address(const std::string& path, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  return true;
}

/// Names for sockaddr what the sockets interface calls by its base type.
const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

struct Client {
  std::string input;
  std::string output;
  bool wants_events = false;
  bool writing = false;  // a callback for writability is due
  std::uint64_t lost = 0;
};

class Socket final : public ControlSocket {
 public:
  Socket(EventLoop& loop, int fd, std::string path, Handler handler)
      : loop_(loop), fd_(fd), path_(std::move(path)), handler_(std::move(handler)) {
    loop_.watch(fd_, [this] { accept_clients(); });
  }
  ~Socket() override {
    for (const auto& [fd, client] : clients_) {
      loop_.unwatch(fd);
      close(fd);
    }
    loop_.unwatch(fd_);
    close(fd_);
    unlink(path_.c_str());
  }
  void on_subscription(std::function<void(bool)> changed) override { subscription_changed_ = std::move(changed); }
  void publish(const std::string& line) override;

 private:
  void accept_clients();
  void read_from(int fd);
  void answer(Client& client, const std::string& line);
  void write_to(int fd);
  void remove(int fd);
  void report_subscription();

  EventLoop& loop_;
  int fd_;
  std::string path_;
  Handler handler_;
  std::map<int, Client> clients_;
  std::function<void(bool)> subscription_changed_;
  bool subscribed_ = false;
};

void Socket::accept_clients() {
  for (;;) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    if (clients_.size() >= kMaxClients) {
      close(fd);
      log_warning("control", "a client was turned away: " + std::to_string(kMaxClients) + " are connected already");
      continue;
    }
    clients_.emplace(fd, Client{});
    loop_.watch(fd, [this, fd] { read_from(fd); });
  }
}

void Socket::read_from(int fd) {
  Client& client = clients_.at(fd);
  char chunk[4096];
  const ssize_t size = read(fd, chunk, sizeof chunk);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return remove(fd);
  client.input.append(chunk, static_cast<std::size_t>(size));
  for (std::size_t end; (end = client.input.find('\n')) != std::string::npos;) {
    const std::string line = client.input.substr(0, end);
    client.input.erase(0, end + 1);
    answer(client, line);
  }
  if (client.input.size() > kMaxRequest || client.output.size() > kMaxQueued) return remove(fd);
  write_to(fd);
}

void Socket::answer(Client& client, const std::string& line) {
  const auto request = nlohmann::json::parse(line, nullptr, false);
  if (!request.is_object() || !request.contains("command") || !request["command"].is_string()) {
    client.output += "{\"ok\":false,\"error\":\"a request is one line with a JSON object that has a command\"}\n";
    return;
  }
  const std::string command = request["command"];
  if (command == "events") {
    client.wants_events = true;
    client.output += "{\"ok\":true}\n";
    report_subscription();
    return;
  }
  std::string members;
  if (handler_(command, members)) {
    client.output += "{\"ok\":true" + (members.empty() ? "" : "," + members) + "}\n";
  } else {
    client.output += "{\"ok\":false,\"error\":" + json_quoted("no command \"" + command + "\" here") + "}\n";
  }
}

void Socket::write_to(int fd) {
  Client& client = clients_.at(fd);
  while (!client.output.empty()) {
    const ssize_t size = send(fd, client.output.data(), client.output.size(), MSG_NOSIGNAL);
    if (size > 0) {
      client.output.erase(0, static_cast<std::size_t>(size));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return remove(fd);
    if (!client.writing) {
      client.writing = true;
      loop_.once_writable(fd, [this, fd] {
        if (const auto found = clients_.find(fd); found != clients_.end()) {
          found->second.writing = false;
          write_to(fd);
        }
      });
    }
    return;
  }
}

void Socket::publish(const std::string& line) {
  for (auto& [fd, client] : clients_) {
    if (!client.wants_events) continue;
    if (client.output.size() + line.size() > kMaxQueued) {
      ++client.lost;
      continue;
    }
    if (client.lost > 0) client.output += "{\"lost\":" + std::to_string(std::exchange(client.lost, 0)) + "}\n";
    client.output += line;
    client.output += '\n';
    // Written when the loop comes round: events are published in the middle of a burst, and a burst goes out in one write.
    if (!client.writing) {
      client.writing = true;
      loop_.once_writable(fd, [this, fd = fd] {
        if (const auto found = clients_.find(fd); found != clients_.end()) {
          found->second.writing = false;
          write_to(fd);
        }
      });
    }
  }
}

void Socket::remove(int fd) {
  loop_.unwatch(fd);
  close(fd);
  clients_.erase(fd);
  report_subscription();
}

void Socket::report_subscription() {
  bool wanted = false;
  for (const auto& [fd, client] : clients_) wanted = wanted || client.wants_events;
  if (wanted == subscribed_) return;
  subscribed_ = wanted;
  if (subscription_changed_) subscription_changed_(wanted);
}

}  // namespace

bool is_answered(const std::string& path) {
  sockaddr_un address;
  if (!fill_address(path, address)) return false;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool answered = connect(fd, generic(address), sizeof address) == 0;
  close(fd);
  return answered;
}

std::string counters_members(const std::vector<CounterLine>& lines) {
  std::string values;
  std::string help;
  for (const CounterLine& line : lines) {
    const std::string separator = values.empty() ? "" : ",";
    values += separator + json_quoted(line.name) + ":" + std::to_string(line.value);
    help += separator + json_quoted(line.name) + ":" + json_quoted(line.help);
  }
  return "\"counters\":{" + values + "},\"help\":{" + help + "}";
}

Result<std::unique_ptr<ControlSocket>, IoError> ControlSocket::open(EventLoop& loop, const std::string& path, Handler handler) {
  sockaddr_un address;
  if (!fill_address(path, address))
    return Failure{IoError{"open control socket \"" + path + "\"", ENAMETOOLONG, "give control_socket 1 to 107 characters"}};
  if (is_answered(path))
    return Failure{IoError{"open control socket " + path, EADDRINUSE, "another instance is running and answers there"}};
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0 && !S_ISSOCK(there.st_mode))
    return Failure{IoError{"open control socket " + path, EEXIST, "something else than a socket is there; give another path"}};
  unlink(path.c_str());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Failure{IoError{"open control socket " + path, errno, ""}};
  const mode_t old_mask = umask(0117);  // 0660 from the first instant
  const bool bound = bind(fd, generic(address), sizeof address) == 0 && listen(fd, 16) == 0;
  const int error = errno;
  umask(old_mask);
  if (!bound) {
    close(fd);
    return Failure{IoError{"open control socket " + path, error, std::string(io::kPlaceAdvice)}};
  }
  return std::unique_ptr<ControlSocket>(std::make_unique<Socket>(loop, fd, path, std::move(handler)));
}

}  // namespace asrp::runtime
