// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "runtime/clock.hpp"
#include "runtime/event_log.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/log.hpp"
#include "runtime/privileges.hpp"
#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::runtime;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("log: each kind has its own limit, and what was left out is told") {
  LogLimiter limiter;
  TimePoint now{seconds(5)};
  for (unsigned i = 0; i < LogLimiter::kBurst; ++i) CHECK(limiter.ask("a", now).pass);
  for (int i = 0; i < 7; ++i) CHECK(!limiter.ask("a", now).pass);
  CHECK(limiter.ask("b", now).pass);
  now += LogLimiter::kInterval;
  const auto decision = limiter.ask("a", now);
  CHECK(decision.pass);
  CHECK(decision.left_out == 7);
  CHECK(limiter.ask("a", now).left_out == 0);
}

TEST_CASE("log: what became of a reload is never left out") {
  char name[] = "asrp-log-XXXXXX";
  const int file = mkstemp(name);
  REQUIRE(file >= 0);
  LogOptions options;
  options.file = name;
  REQUIRE(!configure_log(options));
  for (unsigned i = 0; i < 3 * LogLimiter::kBurst; ++i) {
    log_info("reload", "in force");
    log_info("chatter", "again");
  }
  REQUIRE(!configure_log(LogOptions{}));
  std::string text(65536, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(read(file, text.data(), text.size()), 0)));
  close(file);
  unlink(name);
  const auto count = [&text](std::string_view what) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  CHECK(count("reload: in force") == 3 * LogLimiter::kBurst);
  CHECK(count("chatter: again") <= 2 * LogLimiter::kBurst);  // an interval may end in between
}

TEST_CASE("log: JSON text cannot be broken out of") {
  std::string every;
  for (int c = 1; c < 256; ++c) every += static_cast<char>(c);
  const auto parsed = nlohmann::json::parse(json_quoted(every), nullptr, false);
  REQUIRE(parsed.is_string());
  CHECK(parsed.get<std::string>().substr(0, 127) == every.substr(0, 127));
}

TEST_CASE("events: text and JSON tell what there is, and nothing else") {
  const TuplePair session{test::tcp_tuple("203.0.113.5:4000", "198.51.100.1:80"),
                          test::tcp_tuple("203.0.113.5:4000", "10.0.0.1:80")};
  const engine::Event restored{.at = TimePoint{},
                               .kind = engine::EventKind::session_restored,
                               .flow = session.client_side,
                               .session = session,
                               .peer = test::address("10.0.0.1"),
                               .latency = std::chrono::microseconds(1200),
                               .detail = "RS"};
  CHECK(event_text(restored) ==
        "tcp 203.0.113.5:4000>198.51.100.1:80 as tcp 203.0.113.5:4000>10.0.0.1:80 peer 10.0.0.1 (RS) after 1.200 ms");
  const auto json = nlohmann::json::parse(event_json(restored, 12.5));
  CHECK(json["time"] == 12.5);
  CHECK(json["kind"] == "session_restored");
  CHECK(json["session"]["server_side"] == "tcp 203.0.113.5:4000>10.0.0.1:80");
  CHECK(json["latency_ms"] == 1.2);
  CHECK(json["detail"] == "RS");

  const engine::Event gone{.at = TimePoint{}, .kind = engine::EventKind::holder_gone, .peer = test::address("2001:db8::1")};
  CHECK(event_text(gone).find("peer 2001:db8::1 does not answer: is asrpd-holder running there, ") == 0);
  const auto short_json = nlohmann::json::parse(event_json(gone, 1));
  CHECK(short_json.size() == 3);
  CHECK(event_level(gone) == LogLevel::warning);
}

TEST_CASE("privileges: one message names what is missing and what to do") {
  CHECK(capability_advice("asrpd-node", true, true).find("CAP_NET_ADMIN and CAP_NET_RAW: ") != std::string::npos);
  CHECK(capability_advice("asrpd-node", false, true).find("lacks CAP_NET_RAW: ") != std::string::npos);
}

TEST_CASE("random: numbers differ, whatever the sizes asked for") {
  SystemRandom random;
  Buffer a(16), b(16), large(4000);
  random.fill(a);
  random.fill(b);
  CHECK(a != b);
  random.fill(large);
  CHECK(large != Buffer(4000));
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.u32());
  CHECK(seen.size() > 990);
}

TEST_CASE("log: the text of a line that is left out is never made") {
  configure_log({LogLevel::warning, LogFormat::text, "/dev/null"});
  unsigned made = 0;
  const auto text = [&made] {
    ++made;
    return std::string("text");
  };
  for (unsigned i = 0; i < 3 * LogLimiter::kBurst; ++i) log_lazily(LogLevel::warning, "lazy", text);
  CHECK(made == LogLimiter::kBurst);
  log_lazily(LogLevel::info, "lazy at another level", text);
  CHECK(made == LogLimiter::kBurst);
  log_lazily(LogLevel::error, "lazy", text);
  CHECK(made == LogLimiter::kBurst + 1);
  configure_log({});
}

namespace {

struct Pipe {
  Pipe() { REQUIRE(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0); }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void put(std::string_view text) const { REQUIRE(write(ends[1], text.data(), text.size()) == ssize_t(text.size())); }
  bool take() const {
    char c;
    return read(ends[0], &c, 1) == 1;
  }
  int ends[2];
};

}  // namespace

TEST_CASE("loop: a watch with a pause gathers what comes meanwhile, and loses nothing") {
  EventLoop loop;
  const Pipe pipe;
  constexpr auto kPause = milliseconds(20);
  std::vector<TimePoint> calls;
  std::size_t taken = 0;
  loop.watch(
      pipe.ends[0],
      [&] {
        calls.push_back(monotonic_now());
        while (pipe.take()) ++taken;
        if (calls.size() < 3) pipe.put("x");  // readable again at once
        if (calls.size() == 3) loop.stop();
      },
      kPause);
  pipe.put("abc");
  loop.run();
  CHECK(taken == 5);
  REQUIRE(calls.size() == 3);
  CHECK(calls[1] - calls[0] >= kPause);
  CHECK(calls[2] - calls[1] >= kPause);
}

TEST_CASE("loop: who was unwatched in the same turn is not called, nor the descriptor's next owner for it") {
  EventLoop loop;
  const Pipe one, other;
  int calls = 0;
  int new_calls = 0;
  const auto end_all = [&] {  // both are readable: the first to be called ends the other
    ++calls;
    for (const Pipe* each : {&one, &other}) {
      while (each->take()) continue;
      loop.unwatch(each->ends[0]);
      loop.watch(each->ends[0], [&] { ++new_calls; });
    }
    loop.set_timer(monotonic_now() + milliseconds(1), [&] { loop.stop(); });
  };
  loop.watch(one.ends[0], end_all);
  loop.watch(other.ends[0], end_all);
  one.put("x");
  other.put("x");
  loop.run();
  CHECK(calls == 1);
  CHECK(new_calls == 0);
}

TEST_CASE("loop: once_writable calls once, and reading goes on") {
  EventLoop loop;
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  int writable = 0;
  int readable = 0;
  loop.watch(ends[0], [&] {
    char c;
    if (read(ends[0], &c, 1) == 1) ++readable;
    loop.stop();
  });
  loop.once_writable(ends[0], [&] {
    ++writable;
    loop.set_timer(monotonic_now() + milliseconds(2), [&] { REQUIRE(write(ends[1], "x", 1) == 1); });
  });
  loop.run();
  CHECK(writable == 1);
  CHECK(readable == 1);
  loop.unwatch(ends[0]);
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("loop: promised calls come once, in the order of their times, and can be taken back, also by each other") {
  EventLoop loop;
  std::string calls;
  const TimePoint now = monotonic_now();
  const EventLoop::TimerId never = loop.call_at(now + milliseconds(1), [&] { calls += 'x'; });
  EventLoop::TimerId other = 0;
  loop.call_at(now + milliseconds(3), [&] {
    calls += 'b';
    loop.cancel(other);
    loop.call_at(now, [&] {  // due already: still after the descriptors have had their turn
      calls += 'd';
      loop.call_at(monotonic_now() + milliseconds(1), [&] { loop.stop(); });
    });
  });
  other = loop.call_at(now + milliseconds(3), [&] { calls += 'y'; });
  loop.call_at(now + milliseconds(3), [&] { calls += 'c'; });
  const EventLoop::TimerId first = loop.call_at(now + milliseconds(2), [&] { calls += 'a'; });
  loop.cancel(never);
  loop.cancel(never);
  loop.cancel(0);
  loop.run();
  CHECK(calls == "abcd");
  CHECK(first != other);
  loop.cancel(first);  // called long since
}

TEST_CASE("loop: signals come as calls, periods repeat, and the thread does not interrupt others") {
  int policy = -1;
  std::vector<int> signals;
  std::thread([&] {  // a thread of its own: the loop changes its signal mask and its policy
    EventLoop loop;
    int periods = 0;
    loop.on_signals({SIGUSR1, SIGUSR2}, [&](int number) {
      signals.push_back(number);
      if (signals.size() == 2) loop.stop();
    });
    loop.every(milliseconds(1), [&] {
      ++periods;
      if (periods == 2) pthread_kill(pthread_self(), SIGUSR1);
      if (periods == 3) pthread_kill(pthread_self(), SIGUSR2);
    });
    loop.run();
    policy = sched_getscheduler(0);
  })
      .join();
  CHECK(signals == std::vector<int>{SIGUSR1, SIGUSR2});
  CHECK(policy == SCHED_BATCH);
}

TEST_CASE("loop: readable descriptors, timers, posts from other threads") {
  EventLoop loop;
  int ends[2];
  REQUIRE(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
  int reads = 0;
  bool timed = false;
  bool posted = false;
  loop.watch(ends[0], [&] {  // reads one octet at a time: what is left must call again
    char c;
    if (read(ends[0], &c, 1) == 1) ++reads;
    if (reads == 3)
      loop.set_timer(monotonic_now() + milliseconds(1), [&] {
        timed = true;
        std::thread([&] {
          loop.post([&] {
            posted = true;
            loop.stop();
          });
        }).join();
      });
  });
  REQUIRE(write(ends[1], "abc", 3) == 3);
  loop.run();
  CHECK(reads == 3);
  CHECK(timed);
  CHECK(posted);
  loop.unwatch(ends[0]);
  close(ends[0]);
  close(ends[1]);
}
