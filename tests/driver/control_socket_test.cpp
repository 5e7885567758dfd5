// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/control_socket.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "driver/control_folder.hpp"

using namespace asrp;
using namespace asrp::runtime;
using namespace asrp::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Lines of 1000 octets without end; counts those alive and the octets that they were asked for.
struct Endless final : LineSource {
  Endless(int& alive_count, std::size_t& made_octets, int lines_a_piece)
      : alive(alive_count), made(made_octets), lines(lines_a_piece) {
    ++alive;
  }
  ~Endless() override { --alive; }
  More append(std::string& out) override {
    for (int i = 0; i < lines; ++i) out += std::string(999, 'x') + "\n";
    made += 1000 * static_cast<std::size_t>(lines);
    return More::yes;
  }
  int& alive;
  std::size_t& made;
  int lines;
};

/// A loop with a socket and some commands, and a client in a thread of its own.
struct Daemon {
  Folder folder;
  std::string path = folder.path + "/made/x.sock";
  EventLoop loop;
  CommandTable commands;
  std::unique_ptr<ControlSocket> control;
  std::vector<ControlAnswer> kept;
  int sources = 0;
  std::size_t made = 0;
  int lines_a_piece = 50;

  explicit Daemon(Duration stall = ControlSocket::kStall) {
    commands.add({"hello", {}, [](const ControlRequest&, const ControlAnswer& answer) { answer.give("\"world\":1"); }});
    commands.add({"events", {}, [](const ControlRequest&, const ControlAnswer& answer) { answer.subscribe(); }});
    commands.add({"keep", {}, [this](const ControlRequest&, const ControlAnswer& answer) { kept.push_back(answer); }});
    commands.add({"endless", {}, [this](const ControlRequest&, const ControlAnswer& answer) {
                    answer.stream("", std::make_unique<Endless>(sources, made, lines_a_piece));
                  }});
    commands.add({"large", {}, [](const ControlRequest&, const ControlAnswer& answer) {
                    answer.give("\"x\":\"" + std::string(300000, 'x') + "\"");
                  }});
    auto opened = ControlSocket::open(loop, {.path = path}, commands, stall);
    REQUIRE(opened);
    control = std::move(*opened);
  }
  /// Runs the loop until `client` is done.
  void run(const std::function<void()>& client) {
    std::thread thread([&] {
      client();
      loop.post([this] { loop.stop(); });
    });
    loop.run();
    thread.join();
  }
  /// In the loop's thread, from the client's.
  void in_loop(const std::function<void()>& task) {
    std::atomic<bool> done = false;
    loop.post([&] {
      task();
      done = true;
    });
    while (!done) std::this_thread::yield();
  }
  void wait_until(const std::function<bool()>& condition) {
    for (bool good = false; !good;) in_loop([&] { good = condition(); });
  }
};

constexpr const char* kHello = "{\"command\":\"hello\"}\n";
constexpr const char* kWorld = "{\"ok\":true,\"world\":1}\n";

}  // namespace

TEST_CASE("control socket: a file that is no socket is left alone") {
  EventLoop loop;
  const CommandTable commands;
  char name[] = "asrp-control-XXXXXX";
  const int file = mkstemp(name);
  REQUIRE(file >= 0);
  close(file);
  const auto opened = ControlSocket::open(loop, {.path = name}, commands);
  CHECK(!opened.has_value());
  CHECK(access(name, F_OK) == 0);
  unlink(name);
}

TEST_CASE("control socket: answers, refuses, survives garbage; mode 0660; a second instance is turned away") {
  Daemon daemon;
  struct stat status {};
  REQUIRE(stat(daemon.path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0660);
  const auto second = ControlSocket::open(daemon.loop, {.path = daemon.path}, daemon.commands);
  CHECK(!second);
  CHECK(second.error().to_string().find("another instance is running") != std::string::npos);
  const int fd = connect_to(daemon.path);
  say(fd, "{\"command\":\"hello\"}\n{\"command\":\"bye\"}\nnonsense\n[]\n{\"command\":7}\n{\"comm");
  say(fd, "and\":\"hello\"}\n");
  shutdown(fd, SHUT_WR);
  daemon.run([&] {
    const std::string refused =
        "{\"ok\":false,\"error\":\"a request is one line with a JSON object that has a command\",\"kind\":\"request\"}\n";
    CHECK(read_all(fd) == std::string(kWorld) +
                              "{\"ok\":false,\"error\":\"no command \\\"bye\\\" here\",\"kind\":\"command\"}\n" + refused +
                              refused + refused + kWorld);
  });
  close(fd);
}

TEST_CASE("control socket: a line without end is refused and its client closed; a line of the greatest length is not") {
  Daemon daemon;
  daemon.run([&] {
    const int flood = connect_to(daemon.path);
    say(flood, std::string(20000, 'x'));
    CHECK(read_all(flood) == "{\"ok\":false,\"error\":\"a request has at most 4096 octets\",\"kind\":\"request\"}\n");
    close(flood);
    const int fd = connect_to(daemon.path);
    const std::string hello = "{\"command\":\"hello\"}";
    say(fd, hello + std::string(ControlSocket::kMaxRequest - hello.size(), ' ') + "\n");
    CHECK(read_line(fd) == kWorld);
    say(fd, hello + std::string(ControlSocket::kMaxRequest + 1 - hello.size(), ' ') + "\n");
    CHECK(read_line(fd).find("at most 4096") != std::string::npos);
    CHECK(read_line(fd).empty());
    close(fd);
  });
}

TEST_CASE("control socket: mode and group are as configured; a group that is not there is an error") {
  Folder folder;
  EventLoop loop;
  const CommandTable commands;
  const std::string path = folder.path + "/x.sock";
  const mode_t mask = umask(0077);
  {
    const auto opened = ControlSocket::open(loop, {path, 0606, std::to_string(getegid())}, commands);
    REQUIRE(opened);
    struct stat status {};
    REQUIRE(stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0606);
    CHECK(status.st_gid == getegid());
  }
  umask(mask);
  CHECK(access(path.c_str(), F_OK) != 0);
  const auto none = ControlSocket::open(loop, {path, 0660, "no-such-group"}, commands);
  REQUIRE(!none);
  CHECK(none.error().to_string().find("no group \"no-such-group\"") != std::string::npos);
  CHECK(access(path.c_str(), F_OK) != 0);
}

TEST_CASE("control socket: a slow reader of events loses lines and is told how many") {
  Daemon daemon;
  std::uint64_t published = 0;
  bool wanted = false;
  daemon.control->on_subscription([&](bool now) {
    wanted = now;
    if (!now) return daemon.loop.stop();
    // Far more than a client may have waiting, in one burst: nothing is written before the loop comes round.
    const std::string line(1000, 'e');
    for (int i = 0; i < 10000; ++i, ++published) daemon.control->publish(line);
    daemon.loop.every(milliseconds(1), [&, line] {
      daemon.control->publish(line);
      ++published;
    });
  });
  const int fd = connect_to(daemon.path);
  say(fd, "{\"command\":\"events\"}\n");
  std::uint64_t lines = 0;
  std::uint64_t lost = 0;
  std::thread client([&] {
    while (lost == 0) {
      const std::string line = read_line(fd);
      if (line[0] == 'e') ++lines;
      if (line.rfind("{\"lost\":", 0) == 0) lost = std::stoull(line.substr(8));
    }
    close(fd);
  });
  daemon.loop.run();
  client.join();
  CHECK(!wanted);
  CHECK(lost > 0);
  CHECK(lines > 0);
  CHECK(lines + lost <= published);
}

TEST_CASE("control socket: an answer that comes later; the next request waits for it") {
  Daemon daemon;
  daemon.run([&] {
    const int fd = connect_to(daemon.path);
    say(fd, std::string("{\"command\":\"keep\"}\n") + kHello);
    daemon.wait_until([&] { return daemon.kept.size() == 1; });
    char c = 0;
    CHECK(recv(fd, &c, 1, MSG_DONTWAIT) < 0);
    daemon.in_loop([&] { daemon.kept[0].give("\"late\":1"); });
    CHECK(read_line(fd) == "{\"ok\":true,\"late\":1}\n");
    CHECK(read_line(fd) == kWorld);
    close(fd);
  });
}

TEST_CASE("control socket: a client that hangs up before its answer costs nothing, not even turns of the loop") {
  Daemon daemon;
  daemon.run([&] {
    const int fd = connect_to(daemon.path);
    say(fd, "{\"command\":\"keep\"}\n");
    daemon.wait_until([&] { return daemon.kept.size() == 1; });
    CHECK(daemon.kept[0].is_wanted());
    close(fd);
    daemon.wait_until([&] { return !daemon.kept[0].is_wanted(); });
    const int other = connect_to(daemon.path);
    say(other, kHello);
    CHECK(read_line(other) == kWorld);
    close(other);
  });
}

TEST_CASE("control socket: a client that has said all still gets its answers, large ones too") {
  Daemon daemon;
  daemon.run([&] {
    const int fd = connect_to(daemon.path);
    say(fd, std::string("{\"command\":\"large\"}\n") + kHello);
    shutdown(fd, SHUT_WR);
    const std::string all = read_all(fd);
    CHECK(all.size() > 300000);
    CHECK(all.ends_with(std::string("\"}\n") + kWorld));
    close(fd);
  });
}

TEST_CASE("control socket: a reader that stalls holds up its own stream only, in bounded memory, and is given up in the end") {
  Daemon daemon(milliseconds(200));
  daemon.run([&] {
    const int stalled = connect_to(daemon.path);
    say(stalled, "{\"command\":\"endless\"}\n");
    const int reader = connect_to(daemon.path);
    say(reader, "{\"command\":\"endless\"}\n");
    CHECK(read_line(reader) == "{\"ok\":true,\"stream\":true}\n");
    CHECK(read_octets(reader, 5000 * 1000).size() == 5000 * 1000);
    const int other = connect_to(daemon.path);
    say(other, kHello);
    CHECK(read_line(other) == kWorld);
    daemon.wait_until([&] { return daemon.sources <= 1; });  // the stalled one has gone; the reader's is behind at most, too
    close(reader);
    daemon.wait_until([&] { return daemon.sources == 0; });
    const std::string rest = read_all(stalled);  // what its socket held, and the end
    CHECK(rest.size() < 2u << 20);
    // Nothing was made for it beyond what its socket and one piece hold.
    CHECK(daemon.made < 5000u * 1000 + 2 * (2u << 20));
    close(stalled);
    close(other);
  });
}

TEST_CASE("control socket: a reader that is slower than its source has one piece waiting, however large those are") {
  Daemon daemon;
  daemon.lines_a_piece = 1000;  // more than a socket takes at once
  daemon.run([&] {
    const int fd = connect_to(daemon.path);
    say(fd, "{\"command\":\"endless\"}\n");
    for (std::size_t read = 0; read < 100; ++read) {
      CHECK(read_octets(fd, 100000).size() == 100000);
      std::size_t made = 0;
      daemon.in_loop([&] { made = daemon.made; });
      CHECK(made < (read + 1) * 100000 + 2000000);
    }
    close(fd);
    daemon.wait_until([&] { return daemon.sources == 0; });
  });
}

TEST_CASE("control socket: who only sits there gives way to new clients; who waits for something does not") {
  Daemon daemon;
  daemon.run([&] {
    const int waiting = connect_to(daemon.path);
    say(waiting, "{\"command\":\"keep\"}\n");
    daemon.wait_until([&] { return daemon.kept.size() == 1; });
    std::vector<int> idle;
    for (std::size_t i = 0; i < 3 * ControlSocket::kMaxClients; ++i) {
      idle.push_back(connect_to(daemon.path));
      if (i % 8 == 0) {  // what waits to be accepted is bounded too
        say(idle.back(), kHello);
        REQUIRE(read_line(idle.back()) == kWorld);
      }
    }
    CHECK(read_line(idle.front()).empty());  // closed
    daemon.in_loop([&] { daemon.kept[0].give(); });
    CHECK(read_line(waiting) == "{\"ok\":true}\n");
    for (const int fd : idle) close(fd);
    close(waiting);
  });
}

TEST_CASE("control socket: who asks much and reads nothing is answered no further than there is room, with events too") {
  for (const bool with_events : {false, true}) {
    Daemon daemon;
    int asked = 0;
    daemon.commands.add({"much", {}, [&](const ControlRequest&, const ControlAnswer& answer) {
                           ++asked;
                           answer.give("\"x\":\"" + std::string(300000, 'x') + "\"");
                         }});
    daemon.run([&] {
      const int fd = connect_to(daemon.path);
      std::string requests = with_events ? "{\"command\":\"events\"}\n" : "";
      for (int i = 0; i < 100; ++i) requests += "{\"command\":\"much\"}\n";
      say(fd, requests);
      const int other = connect_to(daemon.path);
      for (int i = 0; i < 20; ++i) {  // the loop has had its turns
        say(other, kHello);
        CHECK(read_line(other) == kWorld);
      }
      int before = 0;
      daemon.in_loop([&] { before = asked; });
      CHECK(before <= (with_events ? 6 : 2));
      shutdown(fd, SHUT_WR);
      std::size_t octets = 0;
      if (with_events) {
        octets = read_octets(fd, 12 + 100 * (300000 + 18)).size();
      } else {
        octets = read_all(fd).size();
      }
      CHECK(octets >= 100 * 300000);
      close(fd);
      close(other);
    });
    CHECK(asked == 100);
  }
}

TEST_CASE("control socket: when all clients wait for something the next one is told so") {
  Daemon daemon;
  daemon.run([&] {
    std::vector<int> waiting;
    for (std::size_t i = 0; i < ControlSocket::kMaxClients; ++i) {
      waiting.push_back(connect_to(daemon.path));
      say(waiting.back(), "{\"command\":\"keep\"}\n");
      daemon.wait_until([&] { return daemon.kept.size() == i + 1; });
    }
    const int late = connect_to(daemon.path);
    CHECK(read_all(late).find("\"kind\":\"busy\"") != std::string::npos);
    close(late);
    for (const int fd : waiting) close(fd);
  });
}

TEST_CASE("control socket: commands of the permitted only: no mode, no connection") {
  if (geteuid() != 0) return;  // root passes over modes, so root lowers itself; others cannot become two users
  Folder folder;
  REQUIRE(chmod(folder.path.c_str(), 0755) == 0);
  EventLoop loop;
  const CommandTable commands;
  const std::string path = folder.path + "/x.sock";
  constexpr gid_t kGroup = 54321;
  const auto opened = ControlSocket::open(loop, {path, 0660, std::to_string(kGroup)}, commands);
  REQUIRE(opened);
  const auto as = [&path](gid_t group) {
    int result = 0;
    std::thread([&] {
      // Of this thread alone: the raw calls, not those that the C library carries out in all threads.
      const gid_t groups[] = {group};
      REQUIRE(syscall(SYS_setgroups, 1, groups) == 0);
      REQUIRE(syscall(SYS_setresgid, 65534, 65534, 65534) == 0);
      REQUIRE(syscall(SYS_setresuid, 65534, 65534, 65534) == 0);
      const int fd = try_connect(path);
      result = fd < 0 ? errno : 0;
      if (fd >= 0) close(fd);
    }).join();
    return result;
  };
  CHECK(as(65534) == EACCES);
  CHECK(as(kGroup) == 0);
}
