// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/metrics_server.hpp"

#include <microhttpd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string_view>

#include "io/socket_address.hpp"
#include "io/unique_fd.hpp"
#include "runtime/clock.hpp"

namespace asrp::runtime {
namespace {

using io::IoError;

constexpr Duration kTick = std::chrono::seconds(1);
constexpr unsigned kTurns = 8;  // of the library at once; what is beyond comes after the packets that wait
constexpr int kBacklog = 16;

class Server final : public MetricsServer {
 public:
  Server(EventLoop& loop, std::function<std::string()> page) : loop_(loop), page_(std::move(page)) {}
  ~Server() override {
    if (daemon_ == nullptr) return;
    loop_.unwatch(descriptor_);
    MHD_stop_daemon(daemon_);
  }
  /// Gives the listening socket to the library, which closes it; false if the library refuses.
  bool begin(int listening);

 private:
  void run();
  void end_old_connections();
  MHD_Result answer(MHD_Connection* connection, std::string_view path, std::string_view method, void** request);
  static MHD_Result respond(MHD_Connection* connection, unsigned status, const std::string& text, const char* type);
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* path, const char* method, const char*,
                               const char*, std::size_t*, void** request) {
    return static_cast<Server*>(self)->answer(connection, path, method, request);
  }
  static void on_connection(void* self, MHD_Connection* connection, void**, MHD_ConnectionNotificationCode what);

  EventLoop& loop_;
  std::function<std::string()> page_;
  MHD_Daemon* daemon_ = nullptr;
  int descriptor_ = -1;             // the library's epoll descriptor
  std::map<int, TimePoint> begun_;  // by the connection's descriptor
};

bool Server::begin(int listening) {
  daemon_ = MHD_start_daemon(MHD_USE_EPOLL, 0, nullptr, nullptr, &Server::on_request, this, MHD_OPTION_LISTEN_SOCKET, listening,
                             MHD_OPTION_CONNECTION_LIMIT, kMaxConnections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                             kConnectionMemory, MHD_OPTION_NOTIFY_CONNECTION, &Server::on_connection, this, MHD_OPTION_END);
  if (daemon_ == nullptr) return false;
  const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD);
  if (info == nullptr || info->epoll_fd < 0) {
    MHD_stop_daemon(std::exchange(daemon_, nullptr));
    return false;
  }
  descriptor_ = info->epoll_fd;
  loop_.watch(descriptor_, [this] { run(); });
  loop_.every(kTick, [this] {
    end_old_connections();
    run();
  });
  return true;
}

void Server::run() {
  for (unsigned turn = 0; turn < kTurns; ++turn) {
    MHD_run(daemon_);
    MHD_UNSIGNED_LONG_LONG wait = 0;
    if (MHD_get_timeout(daemon_, &wait) != MHD_YES || wait > 0) return;  // what it waits for wakes the loop
  }
  loop_.post([this] { run(); });
}

void Server::end_old_connections() {
  const TimePoint now = monotonic_now();
  for (const auto& [descriptor, begun] : begun_)
    if (now - begun >= kLife) ::shutdown(descriptor, SHUT_RDWR);  // the library notices, and closes it
}

void Server::on_connection(void* self, MHD_Connection* connection, void**, MHD_ConnectionNotificationCode what) {
  const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (info == nullptr) return;
  auto& begun = static_cast<Server*>(self)->begun_;
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    begun[info->connect_fd] = monotonic_now();
  } else {
    begun.erase(info->connect_fd);
  }
}

MHD_Result Server::answer(MHD_Connection* connection, std::string_view path, std::string_view method, void** request) {
  constexpr const char* kText = "text/plain; charset=utf-8";
  if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD)
    return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are answered here\n", kText);
  if (*request == nullptr) {  // headers only: the library wants to be asked again when the request is complete
    *request = this;
    return MHD_YES;
  }
  if (path != "/metrics") return respond(connection, MHD_HTTP_NOT_FOUND, "the page is at /metrics\n", kText);
  return respond(connection, MHD_HTTP_OK, page_(), "text/plain; version=0.0.4; charset=utf-8");
}

MHD_Result Server::respond(MHD_Connection* connection, unsigned status, const std::string& text, const char* type) {
  MHD_Response* response = MHD_create_response_from_buffer(text.size(), const_cast<char*>(text.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  if (status == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  const MHD_Result done = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return done;
}

Result<io::UniqueFd, IoError> listen_at(const Endpoint& endpoint) {
  const std::string what = "listen for metrics at " + endpoint.to_string();
  const io::SocketAddress address(endpoint);
  io::UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return Failure{IoError{what, errno, ""}};
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(fd.get(), IPPROTO_IP, IP_FREEBIND, &on, sizeof on);  // the daemons start before the network is configured
  if (address.family() == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(fd.get(), address.get(), address.size()) != 0 || ::listen(fd.get(), kBacklog) != 0)
    return Failure{IoError{what, errno, "give another address in [metrics]"}};
  return fd;
}

}  // namespace

Result<std::unique_ptr<MetricsServer>, IoError> MetricsServer::open(EventLoop& loop, const Endpoint& address,
                                                                    std::function<std::string()> page) {
  auto listening = listen_at(address);
  if (!listening) return Failure{listening.error()};
  auto server = std::make_unique<Server>(loop, std::move(page));
  if (!server->begin(listening->release()))
    return Failure{IoError{"serve metrics at " + address.to_string(), 0, "libmicrohttpd refuses"}};
  return std::unique_ptr<MetricsServer>(std::move(server));
}

}  // namespace asrp::runtime
