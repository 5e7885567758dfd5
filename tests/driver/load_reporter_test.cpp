// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-holder/load_reporter.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "asrp/policy/load_report.hpp"
#include "io/socket_address.hpp"
#include "io/unique_fd.hpp"
#include "runtime/clock.hpp"
#include "support/builders.hpp"

using namespace asrp;
using asrp::test::address;
using asrp::test::endpoint;
using std::chrono::milliseconds;

namespace {

struct Bench {
  Bench() {
    fd = io::UniqueFd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    io::SocketAddress any(endpoint("127.0.0.1:0"));
    REQUIRE(bind(fd.get(), any.get(), any.size()) == 0);
    socklen_t size = io::SocketAddress::capacity();
    REQUIRE(getsockname(fd.get(), any.get(), &size) == 0);
    config.enabled = true;
    config.nodes = {address("127.0.0.1")};
    config.port = any.endpoint().port;
    config.key.value.fill(9);
    config.source = holder::LoadKind::connections;
    config.maximum = 100;
    config.interval = milliseconds(20);
  }
  /// The next report that the node gets.
  policy::LoadReport next(std::string_view sender) {
    pollfd wait{fd.get(), POLLIN, 0};
    REQUIRE(poll(&wait, 1, 60'000) == 1);
    std::uint8_t octets[64];
    io::SocketAddress from(endpoint("127.0.0.1:0"));
    socklen_t size = io::SocketAddress::capacity();
    const ssize_t got = recvfrom(fd.get(), octets, sizeof octets, 0, from.get(), &size);
    REQUIRE(got >= 0);
    CHECK(from.endpoint().address == address(sender));
    const HashKey keys[] = {config.key.value};
    const auto report = policy::decode_load_report(Octets(octets, static_cast<std::size_t>(got)), keys, address(sender));
    REQUIRE(report.has_value());
    return *report;
  }

  io::UniqueFd fd;
  holder::LoadConfig config;
  std::atomic<std::uint64_t> sessions = 50;
  holder::LoadReporter::Counts counts;
};

}  // namespace

TEST_CASE("reports follow the load, rise, and are of now") {
  Bench b;
  const holder::LoadReporter reporter(b.config, {}, b.sessions, b.counts);
  const auto first = b.next("127.0.0.1");
  CHECK(first.load == policy::scaled_load(0.5));
  CHECK(std::abs(static_cast<double>(first.time_ms) / 1000 - runtime::wall_clock_seconds()) < 60);
  const auto second = b.next("127.0.0.1");
  CHECK(second.counter > first.counter);
  CHECK(second.time_ms >= first.time_ms);
  b.sessions = 25;
  while (b.next("127.0.0.1").load != policy::scaled_load(0.25)) continue;
  CHECK(b.counts.now().sent >= 3);
  CHECK(b.counts.now().unsent == 0);
}

TEST_CASE("the MAC is of the address that they leave from, which may be given") {
  Bench b;
  const holder::LoadReporter reporter(b.config, {address("2001:db8::1"), address("127.0.0.7")}, b.sessions, b.counts);
  CHECK(b.next("127.0.0.7").load == policy::scaled_load(0.5));
}

TEST_CASE("where the load cannot be measured nothing is sent, and it is counted") {
  Bench b;
  b.config.source = holder::LoadKind::file;
  b.config.file = "/no/such/file";
  const holder::LoadReporter reporter(b.config, {}, b.sessions, b.counts);
  while (b.counts.now().unmeasured < 2) usleep(1000);
  CHECK(b.counts.now().sent == 0);
}

TEST_CASE("what cannot be sent is counted, and the others get theirs") {
  Bench b;
  b.config.nodes = {address("127.0.0.1"), address("::ffff:0:0"), address("127.0.0.1")};
  const holder::LoadReporter reporter(b.config, {address("127.0.0.1"), address("2001:db8::77")}, b.sessions, b.counts);
  while (b.counts.now().unsent < 1 || b.counts.now().sent < 2) usleep(1000);
  CHECK(b.next("127.0.0.1").load == policy::scaled_load(0.5));
}

TEST_CASE("a reporter whose command hangs is told to end without waiting for it") {
  Bench b;
  b.config.source = holder::LoadKind::command;
  b.config.command = {"/bin/sleep", "1000"};
  holder::LoadReporter reporter(b.config, {}, b.sessions, b.counts);
  reporter.stop();
  while (!reporter.is_finished()) usleep(1000);
  CHECK(b.counts.now().sent == 0);
}
