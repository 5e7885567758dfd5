// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/control_socket.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>

#include "runtime/control_client.hpp"
#include "runtime/log.hpp"

namespace asrp::runtime {
namespace {

using io::IoError;

// A descriptor that cannot be had (EMFILE) leaves the socket readable: it is tried again, not at once.
constexpr Duration kAcceptPause = std::chrono::milliseconds(5);

bool fill_address(const std::string& path, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  return true;
}

/// Names for sockaddr what the sockets interface calls by its base type.
const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

class Socket final : public ControlSocket {
 public:
  Socket(EventLoop& loop, io::UniqueFd fd, std::string path, const CommandTable& commands, Duration stall)
      : loop_(loop), fd_(std::move(fd)), path_(std::move(path)), commands_(commands), stall_(stall) {
    loop_.watch(
        fd_.get(), [this] { accept_clients(); }, kAcceptPause);
  }
  ~Socket() override {
    clients_.clear();
    loop_.unwatch(fd_.get());
    unlink(path_.c_str());
  }
  void on_subscription(std::function<void(bool)> changed) override { subscription_changed_ = std::move(changed); }
  void publish(const std::string& line) override {
    for (const auto& [number, client] : clients_) client->publish(line);
  }

 private:
  void accept_clients();
  void add(io::UniqueFd fd);
  bool make_room();
  void remove(std::uint64_t number);
  void report_subscription();

  EventLoop& loop_;
  io::UniqueFd fd_;
  std::string path_;
  const CommandTable& commands_;
  Duration stall_;
  std::map<std::uint64_t, std::shared_ptr<ControlClient>> clients_;
  std::uint64_t last_number_ = 0;
  std::function<void(bool)> subscription_changed_;
  bool subscribed_ = false;
};

void Socket::accept_clients() {
  for (;;) {
    io::UniqueFd fd(accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return;
    if (clients_.size() < kMaxClients || make_room()) {
      add(std::move(fd));
      continue;
    }
    static constexpr std::string_view kBusy =
        "{\"ok\":false,\"error\":\"the control socket has all the clients that it takes\",\"kind\":\"busy\"}\n";
    (void)!send(fd.get(), kBusy.data(), kBusy.size(), MSG_NOSIGNAL);
    log_warning("control", "a client was turned away: " + std::to_string(kMaxClients) + " are connected already");
  }
}

void Socket::add(io::UniqueFd fd) {
  const std::uint64_t number = ++last_number_;
  ControlClient::Calls calls;
  calls.on_request = [this](std::string_view line, const ControlAnswer& answer) { commands_.run(line, answer); };
  calls.on_subscribed = [this] { report_subscription(); };
  calls.on_end = [this, number] { remove(number); };
  const auto client = std::make_shared<ControlClient>(loop_, std::move(fd), std::move(calls), stall_);
  clients_.emplace(number, client);
  client->begin();
}

/// Clients that only sit there give way, the longest silent first.
bool Socket::make_room() {
  auto oldest = clients_.end();
  for (auto each = clients_.begin(); each != clients_.end(); ++each)
    if (each->second->is_idle() && (oldest == clients_.end() || each->second->last_active() < oldest->second->last_active()))
      oldest = each;
  if (oldest == clients_.end()) return false;
  clients_.erase(oldest);
  return true;
}

void Socket::remove(std::uint64_t number) {
  clients_.erase(number);
  report_subscription();
}

void Socket::report_subscription() {
  const bool wanted =
      std::any_of(clients_.begin(), clients_.end(), [](const auto& each) { return each.second->wants_events(); });
  if (wanted == subscribed_) return;
  subscribed_ = wanted;
  if (subscription_changed_) subscription_changed_(wanted);
}

/// Nobody can connect before mode and group are as configured: bound without any permission, and listening last.
std::optional<IoError> bind_and_listen(int fd, const sockaddr_un& address, const ControlPlace& place) {
  const std::string operation = "open control socket " + place.path;
  const mode_t old_mask = umask(0777);
  const bool bound = bind(fd, generic(address), sizeof address) == 0;
  const int error = errno;
  umask(old_mask);
  if (!bound) return IoError{operation, error, std::string(io::kPlaceAdvice)};
  if (!place.group.empty()) {
    const auto group = find_group(place.group);
    if (!group) return IoError{operation, 0, "there is no group \"" + place.group + "\""};
    if (lchown(place.path.c_str(), static_cast<uid_t>(-1), *group) != 0)
      return IoError{"give control socket " + place.path + " to group " + place.group, errno,
                     "the daemon must be in that group, or be started as root"};
  }
  if (chmod(place.path.c_str(), place.mode) != 0 || listen(fd, 16) != 0) return IoError{operation, errno, ""};
  return std::nullopt;
}

}  // namespace

bool is_answered(const std::string& path) {
  sockaddr_un address;
  if (!fill_address(path, address)) return false;
  const io::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return fd && connect(fd.get(), generic(address), sizeof address) == 0;
}

std::optional<gid_t> find_group(const std::string& name) {
  gid_t number = 0;
  const char* const end = name.data() + name.size();
  if (const auto [rest, error] = std::from_chars(name.data(), end, number); error == std::errc{} && rest == end) return number;
  const struct group* const found = getgrnam(name.c_str());
  if (found == nullptr) return std::nullopt;
  return found->gr_gid;
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

Result<std::unique_ptr<ControlSocket>, IoError> ControlSocket::open(EventLoop& loop, const ControlPlace& place,
                                                                    const CommandTable& commands, Duration stall) {
  const std::string& path = place.path;
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
  io::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return Failure{IoError{"open control socket " + path, errno, ""}};
  if (auto trouble = bind_and_listen(fd.get(), address, place)) {
    unlink(path.c_str());
    return Failure{std::move(*trouble)};
  }
  return std::unique_ptr<ControlSocket>(std::make_unique<Socket>(loop, std::move(fd), path, commands, stall));
}

}  // namespace asrp::runtime
