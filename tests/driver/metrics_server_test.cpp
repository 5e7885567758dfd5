// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/metrics_server.hpp"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "io/socket_address.hpp"
#include "io/unique_fd.hpp"
#include "runtime/clock.hpp"
#include "support/builders.hpp"

using namespace asrp;
using runtime::EventLoop;
using runtime::MetricsServer;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// A port that was free a moment ago.
Endpoint free_endpoint() {
  const io::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  io::SocketAddress any(test::endpoint("127.0.0.1:0"));
  REQUIRE(bind(fd.get(), any.get(), any.size()) == 0);
  socklen_t size = io::SocketAddress::capacity();
  REQUIRE(getsockname(fd.get(), any.get(), &size) == 0);
  return any.endpoint();
}

/// A server with a page of its own, and clients in the same thread: the loop runs while they wait.
struct Bench {
  Bench() {
    auto opened = MetricsServer::open(loop, at, [this] {
      ++asked;
      return page;
    });
    REQUIRE(opened.has_value());
    server = std::move(*opened);
    loop.every(milliseconds(5), [this] {
      if (done && done()) return loop.stop();
      if (runtime::monotonic_now() > give_up) loop.stop();
    });
  }

  io::UniqueFd connect() const {
    io::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const io::SocketAddress address(at);
    REQUIRE(::connect(fd.get(), address.get(), address.size()) == 0);
    return fd;
  }
  static void say(const io::UniqueFd& fd, std::string_view text) {
    REQUIRE(send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  }
  /// Runs the loop until the server has closed these; what each got.
  std::vector<std::string> answers(const std::vector<const io::UniqueFd*>& fds) {
    std::vector<std::string> got(fds.size());
    std::vector<bool> closed(fds.size());
    done = [&] {
      bool all = true;
      for (std::size_t i = 0; i < fds.size(); ++i) {
        char chunk[65536];
        ssize_t size = 0;
        while (!closed[i] && (size = recv(fds[i]->get(), chunk, sizeof chunk, MSG_DONTWAIT)) > 0)
          got[i].append(chunk, static_cast<std::size_t>(size));
        if (!closed[i] && (size == 0 || (errno != EAGAIN && errno != EINTR))) closed[i] = true;
        all = all && closed[i];
      }
      return all;
    };
    loop.run();
    for (std::size_t i = 0; i < fds.size(); ++i) CHECK_MESSAGE(closed[i], "left open: ", i);
    return got;
  }
  std::string answer(std::string_view request) {
    const io::UniqueFd fd = connect();
    say(fd, request);
    return answers({&fd}).front();
  }

  EventLoop loop;
  Endpoint at = free_endpoint();
  std::string page = "asrp_x_total 1\n";
  int asked = 0;
  std::function<bool()> done;
  TimePoint give_up = runtime::monotonic_now() + seconds(60);
  std::unique_ptr<MetricsServer> server;
};

std::string body_of(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

}  // namespace

TEST_CASE("GET gives the page as it is now, whole also where it is large") {
  Bench b;
  for (int i = 0; i < 100000; ++i) b.page += "asrp_line_total{number=\"" + std::to_string(i) + "\"} 1\n";
  const std::string got = b.answer("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(got.rfind("HTTP/1.1 200 OK\r\n", 0) == 0);
  CHECK(got.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n") != std::string::npos);
  CHECK(body_of(got) == b.page);
  CHECK(b.asked == 1);
}

TEST_CASE("HEAD, other paths, other methods, and what is no HTTP") {
  SUBCASE("HEAD has the page's length and nothing of it") {
    Bench b;
    const std::string got = b.answer("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(got.find("Content-Length: 15\r\n") != std::string::npos);
    CHECK(body_of(got).empty());
  }
  SUBCASE("query strings are left aside") {
    Bench b;
    CHECK(body_of(b.answer("GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n")) == b.page);
  }
  for (const char* path : {"/", "/metrics/", "/Metrics", "//metrics", "/%6detrics/..", "/../metrics"}) {
    SUBCASE(path) {
      Bench b;
      const std::string got = b.answer("GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n\r\n");
      CHECK(got.rfind("HTTP/1.1 404 ", 0) == 0);
      CHECK(b.asked == 0);
    }
  }
  SUBCASE("POST is refused before its body has come") {
    Bench b;
    const std::string got = b.answer("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n");
    CHECK(got.rfind("HTTP/1.1 405 ", 0) == 0);
    CHECK(got.find("Allow: GET, HEAD\r\n") != std::string::npos);
    CHECK(b.asked == 0);
  }
  SUBCASE("headers that do not end") {
    Bench b;
    std::string request = "GET /metrics HTTP/1.1\r\nHost: x\r\n";
    while (request.size() < 2 * MetricsServer::kConnectionMemory)
      request += "X-Header: 0123456789012345678901234567890123456789\r\n";
    const std::string got = b.answer(request);
    CHECK(got.find("200 OK") == std::string::npos);
    CHECK(b.asked == 0);
  }
  SUBCASE("no HTTP") {
    Bench b;
    const std::string got = b.answer("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n");
    CHECK(got.find("200 OK") == std::string::npos);
    CHECK(b.asked == 0);
  }
}

TEST_CASE("those that say nothing, or a little at a time, are cut off, and whoever waits behind them is answered") {
  Bench b;
  std::vector<io::UniqueFd> slow;
  for (unsigned i = 0; i < MetricsServer::kMaxConnections; ++i) {
    slow.push_back(b.connect());
    if (i % 2 == 0) Bench::say(slow.back(), "GET /metrics HT");
  }
  b.loop.every(milliseconds(200), [&] {  // never idle for long
    for (std::size_t i = 0; i < slow.size(); i += 2) (void)send(slow[i].get(), "x", 1, MSG_NOSIGNAL);
  });
  const io::UniqueFd patient = b.connect();
  Bench::say(patient, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  std::vector<const io::UniqueFd*> all = {&patient};
  for (const io::UniqueFd& fd : slow) all.push_back(&fd);
  const auto got = b.answers(all);
  CHECK(body_of(got[0]) == b.page);
  for (std::size_t i = 1; i < got.size(); ++i) CHECK(got[i].find("200 OK") == std::string::npos);
  CHECK(b.asked == 1);
}

TEST_CASE("a second server at the same address is an error that names it; one at an address of nobody yet is not") {
  Bench b;
  const auto second = MetricsServer::open(b.loop, b.at, [] { return std::string(); });
  REQUIRE(!second.has_value());
  CHECK(second.error().to_string().find(b.at.to_string()) != std::string::npos);
  CHECK(second.error().error_number == EADDRINUSE);
  CHECK(MetricsServer::open(b.loop, {test::address("192.0.2.77"), b.at.port}, [] { return std::string(); }).has_value());
}
