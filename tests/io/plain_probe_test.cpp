// SPDX-License-Identifier: BSD-3-Clause
// The probers against servers and programs on this host.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "io/probe.hpp"
#include "io/unique_fd.hpp"
#include "runtime/clock.hpp"

using namespace asrp;
using namespace asrp::io;
using runtime::EventLoop;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// A server in the loop, which gives each connection the same answer; none: it accepts and is silent.
class Server {
 public:
  Server(EventLoop& loop, std::string answer, bool listens = true) : loop_(loop), answer_(std::move(answer)) {
    socket_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    if (!listens) return;
    REQUIRE(::listen(socket_.get(), 16) == 0);
    loop_.watch(socket_.get(), [this] { accept_one(); });
  }
  ~Server() {
    loop_.unwatch(socket_.get());
    for (const auto& [descriptor, held] : connections_) loop_.unwatch(descriptor);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] Endpoint address() const { return {*IpAddress::parse("127.0.0.1"), port_}; }
  std::string request;  // all that came

 private:
  void accept_one() {
    UniqueFd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!connection) return;
    const int descriptor = connection.get();
    connections_[descriptor] = std::move(connection);
    loop_.watch(descriptor, [this, descriptor] { on_input(descriptor); });
  }
  void on_input(int descriptor) {
    char piece[4096];
    const ssize_t got = ::read(descriptor, piece, sizeof piece);
    if (got > 0) request.append(piece, static_cast<std::size_t>(got));
    const bool asked = request.find("\r\n\r\n") != std::string::npos;
    if (got > 0 && asked && !answer_.empty())
      static_cast<void>(::send(descriptor, answer_.data(), answer_.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0);
    if (got > 0 && (!asked || answer_.empty())) return;
    loop_.unwatch(descriptor);
    connections_.erase(descriptor);
  }

  EventLoop& loop_;
  std::string answer_;
  UniqueFd socket_;
  std::uint16_t port_ = 0;
  std::map<int, UniqueFd> connections_;
};

/// One look from its beginning to its end.
ProbeResult look(EventLoop& loop, Prober& prober, const ProbeQuestion& question, const Endpoint& server) {
  ProbeResult result{false, "never ended"};
  const auto probe = prober.begin(question, {"pool", "s1", server}, [&](const ProbeResult& r) {
    result = r;
    loop.stop();
  });
  CHECK(result.detail == "never ended");  // not from within begin()
  const auto limit = loop.call_at(runtime::monotonic_now() + seconds(30), [&] { loop.stop(); });
  loop.run();
  loop.cancel(limit);
  return result;
}

ProbeResult look_http(const std::string& answer, ProbeQuestion question = {}, std::string* request = nullptr) {
  EventLoop loop;
  Server server(loop, answer);
  const auto prober = make_http_prober(loop);
  question.timeout = seconds(20);
  const ProbeResult result = look(loop, *prober, question, server.address());
  if (request != nullptr) *request = server.request;
  return result;
}

ProbeResult run(const std::string& script, Duration timeout = seconds(20)) {
  EventLoop loop;
  const auto prober = make_command_prober(loop);
  ProbeQuestion question;
  question.timeout = timeout;
  question.command = {"/bin/sh", "-c", script};
  return look(loop, *prober, question, {*IpAddress::parse("10.0.0.9"), 443});
}

std::string answer_of(int status, const std::string& body = "") {
  return "HTTP/1.1 " + std::to_string(status) + " x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// Processes whose environment or command line has `word`.
std::set<pid_t> processes_with(const std::string& word) {
  std::set<pid_t> found;
  for (const auto& each : std::filesystem::directory_iterator("/proc")) {
    const std::string name = each.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(each.path() / "cmdline");
    const std::string line((std::istreambuf_iterator<char>(file)), {});
    if (line.find(word) != std::string::npos) found.insert(std::stoi(name));
  }
  found.erase(::getpid());
  return found;
}

}  // namespace

TEST_CASE("tcp probe: a listening server is well, a closed port and silence are not") {
  EventLoop loop;
  const auto prober = make_tcp_prober(loop);
  {
    Server server(loop, "");
    const ProbeResult result = look(loop, *prober, {}, server.address());
    CHECK(result.good);
    CHECK(result.detail == "connected");
  }
  EventLoop other;
  const auto second = make_tcp_prober(other);
  Server closed(other, "", false);
  const ProbeResult refused = look(other, *second, {}, closed.address());
  CHECK_FALSE(refused.good);
  CHECK(refused.detail == std::strerror(ECONNREFUSED));
}

TEST_CASE("tcp probe: what can't be tried is told, not thrown") {
  EventLoop loop;
  const auto prober = make_tcp_prober(loop);
  const ProbeResult result = look(loop, *prober, {}, {*IpAddress::parse("255.255.255.255"), 80});
  CHECK_FALSE(result.good);
  CHECK(result.detail != "never ended");
}

TEST_CASE("http probe: the status decides, in the range that is asked for") {
  CHECK(look_http(answer_of(200, "fine")).good);
  CHECK(look_http(answer_of(399)).good);
  const ProbeResult trouble = look_http(answer_of(503));
  CHECK_FALSE(trouble.good);
  CHECK(trouble.detail == "HTTP status 503");
  CHECK_FALSE(look_http(answer_of(400)).good);
  ProbeQuestion teapot;
  teapot.lowest_status = teapot.highest_status = 418;
  CHECK(look_http(answer_of(418), teapot).good);
  CHECK_FALSE(look_http(answer_of(417), teapot).good);
  CHECK_FALSE(look_http(answer_of(419), teapot).good);
  CHECK_FALSE(look_http("SSH-2.0-x\r\n\r\n").good);
  // A redirect is an answer like another: it is not followed.
  CHECK(look_http("HTTP/1.1 302 x\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n").detail == "HTTP status 302");
}

TEST_CASE("http probe: path and Host header are those of the question") {
  ProbeQuestion question;
  question.path = "/health/../x?y=%20";
  question.host = "www.example.net";
  std::string request;
  CHECK(look_http(answer_of(200), question, &request).good);
  CHECK(request.substr(0, request.find("\r\n")) == "GET /health/../x?y=%20 HTTP/1.1");
  CHECK(request.find("\r\nHost: www.example.net\r\n") != std::string::npos);
  CHECK(request.find("127.0.0.1") == std::string::npos);
}

TEST_CASE("http probe: an answer without end is good once there is enough of it; none at all fails at the limit") {
  CHECK(look_http("HTTP/1.1 200 x\r\nContent-Length: 10000000\r\n\r\n" + std::string(200'000, 'x')).good);
  CHECK_FALSE(look_http("HTTP/1.1 500 x\r\nContent-Length: 10000000\r\n\r\n" + std::string(200'000, 'x')).good);
  EventLoop loop;
  Server server(loop, "");
  const auto prober = make_http_prober(loop);
  ProbeQuestion question;
  question.timeout = milliseconds(50);
  const ProbeResult result = look(loop, *prober, question, server.address());
  CHECK_FALSE(result.good);
  CHECK(!server.request.empty());
}

TEST_CASE("http probe: many at once, some of them destroyed on the way, and all in one call") {
  EventLoop loop;
  Server good(loop, answer_of(200));
  Server closed(loop, "", false);
  const auto prober = make_http_prober(loop);
  std::map<int, std::unique_ptr<Probe>> probes;
  std::map<int, bool> results;
  for (int i = 0; i < 20; ++i) {
    const Endpoint address = i % 2 == 0 ? good.address() : closed.address();
    probes[i] = prober->begin({}, {"pool", "s", address}, [&, i](const ProbeResult& r) {
      results[i] = r.good;
      probes.erase(i);
      probes.erase(i + 10);  // of the first ten each ends another one
      if (probes.empty()) loop.stop();
    });
  }
  loop.call_at(runtime::monotonic_now() + seconds(30), [&] { loop.stop(); });
  loop.run();
  CHECK(probes.empty());
  CHECK(results.size() >= 10);
  for (const auto& [number, was_good] : results) CHECK(was_good == (number % 2 == 0));
}

TEST_CASE("command probe: status 0 is well; the first line of what it writes is told, printable") {
  CHECK(run("exit 0").good);
  CHECK(run("exit 0").detail == "status 0");
  const ProbeResult seven = run("echo 'all\tbad'; echo more; exit 7");
  CHECK_FALSE(seven.good);
  CHECK(seven.detail == "status 7: all?bad");
  CHECK(run("echo to stderr >&2; exit 1").detail == "status 1: to stderr");
  const ProbeResult killed = run("kill -TERM $$");
  CHECK_FALSE(killed.good);
  CHECK(killed.detail == "signal 15");
  CHECK(run("cat").good);  // nothing to read, not the daemon's own input
}

TEST_CASE("command probe: it knows whom to look at, and nothing of the daemon's environment") {
  ::setenv("ASRP_TEST_SECRET", "x", 1);
  CHECK(run("test \"$ASRP_POOL $ASRP_SERVER $ASRP_ADDRESS $ASRP_PORT\" = 'pool s1 10.0.0.9 443'").good);
  CHECK(run("test -z \"$ASRP_TEST_SECRET\"").good);
}

TEST_CASE("command probe: a program that can't be started is told") {
  EventLoop loop;
  const auto prober = make_command_prober(loop);
  ProbeQuestion question;
  question.command = {"/no/such/program"};
  const ProbeResult result = look(loop, *prober, question, {});
  CHECK_FALSE(result.good);
  CHECK(result.detail == std::string("not started: ") + std::strerror(ENOENT));
}

TEST_CASE("command probe: one that hangs is killed at its limit with all its children, and nothing is left of them") {
  const std::string mark = "asrp-probe-test-" + std::to_string(::getpid());
  const ProbeResult result = run(
      "sh -c 'sleep 600; : " + mark + "' & sh -c 'trap \"\" TERM INT HUP; sleep 600; : " + mark + "' & sleep 600; : " + mark,
      milliseconds(200));
  CHECK_FALSE(result.good);
  CHECK(result.detail == "not ended in time: killed");
  for (int i = 0; i < 2000 && !processes_with(mark).empty(); ++i) ::usleep(5000);
  CHECK(processes_with(mark).empty());
}

TEST_CASE("command probe: children that a command leaves behind end with it") {
  const std::string mark = "asrp-probe-left-" + std::to_string(::getpid());
  CHECK(run("sh -c 'sleep 600; : " + mark + "' & exit 0").good);
  for (int i = 0; i < 2000 && !processes_with(mark).empty(); ++i) ::usleep(5000);
  CHECK(processes_with(mark).empty());
}

TEST_CASE("command probe: output is bounded") {
  const ProbeResult endless = run("yes");
  CHECK_FALSE(endless.good);
  CHECK(endless.detail == "wrote more than 65536 octets: killed");
  CHECK(run("head -c 65000 /dev/zero | tr '\\0' x").good);
  CHECK(run("head -c 1000 /dev/zero | tr '\\0' x").detail.size() <= 220);
}

TEST_CASE("command probe: destroyed on its way it says nothing, and its command ends") {
  const std::string mark = "asrp-probe-gone-" + std::to_string(::getpid());
  EventLoop loop;
  const auto prober = make_command_prober(loop);
  ProbeQuestion question;
  question.timeout = seconds(20);
  question.command = {"/bin/sh", "-c", "sleep 600; : " + mark};
  bool told = false;
  auto probe = prober->begin(question, {"pool", "s1", {}}, [&](const ProbeResult&) { told = true; });
  CHECK(!processes_with(mark).empty());
  probe.reset();
  loop.call_at(runtime::monotonic_now() + milliseconds(50), [&] { loop.stop(); });
  loop.run();
  CHECK_FALSE(told);
  for (int i = 0; i < 2000 && !processes_with(mark).empty(); ++i) ::usleep(5000);
  CHECK(processes_with(mark).empty());
}
