// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "io/probe.hpp"
#include "io/socket_address.hpp"
#include "io/unique_fd.hpp"
#include "runtime/clock.hpp"

namespace asrp::io {
namespace {

class TcpProbe final : public Probe {
 public:
  TcpProbe(runtime::EventLoop& loop, Duration limit, const Endpoint& server, Prober::Done done)
      : loop_(loop), done_(std::move(done)) {
    if (const int error = start(server); error != 0) {
      timer_ = loop_.call_at(runtime::monotonic_now(), [this, error] { end({false, std::strerror(error)}); });
      return;
    }
    timer_ = loop_.call_at(runtime::monotonic_now() + limit, [this] { end({false, "no connection in time"}); });
    loop_.watch(socket_.get(), [this] { on_event(); });
    loop_.once_writable(socket_.get(), [this] { on_event(); });
  }
  ~TcpProbe() override { stop(); }

 private:
  int start(const Endpoint& server) {
    const SocketAddress to(server);
    UniqueFd socket(::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return errno;
    // Closed with a reset: thousands of probes a minute must not leave as many sockets in TIME-WAIT.
    const linger reset{1, 0};
    if (::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset) != 0) return errno;
    if (::connect(socket.get(), to.get(), to.size()) != 0 && errno != EINPROGRESS) return errno;
    socket_ = std::move(socket);
    return 0;
  }

  void on_event() {
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    end(error == 0 ? ProbeResult{true, "connected"} : ProbeResult{false, std::strerror(error)});
  }

  void end(const ProbeResult& result) {
    stop();
    const Prober::Done done = std::move(done_);
    done(result);  // destroys this object, perhaps
  }

  void stop() {
    loop_.cancel(timer_);
    if (!socket_) return;
    loop_.unwatch(socket_.get());
    const UniqueFd closed = std::move(socket_);
  }

  runtime::EventLoop& loop_;
  Prober::Done done_;
  UniqueFd socket_;
  runtime::EventLoop::TimerId timer_ = 0;
};

class TcpProber final : public Prober {
 public:
  explicit TcpProber(runtime::EventLoop& loop) : loop_(loop) {}
  std::unique_ptr<Probe> begin(const ProbeQuestion& question, const ProbeTarget& target, Done done) override {
    return std::make_unique<TcpProbe>(loop_, question.timeout, target.address, std::move(done));
  }

 private:
  runtime::EventLoop& loop_;
};

}  // namespace

std::unique_ptr<Prober> make_tcp_prober(runtime::EventLoop& loop) { return std::make_unique<TcpProber>(loop); }

}  // namespace asrp::io
