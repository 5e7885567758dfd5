// SPDX-License-Identifier: BSD-3-Clause
// The frame of both daemons with a daemon that does nothing, in a namespace of its own: what a start, a reload and a stop leave
// behind when something fails.
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "frame/daemon.hpp"
#include "io/lab.hpp"
#include "runtime/clock.hpp"

using namespace asrp;
using asrp::test::Namespace;
using asrp::test::run;
using std::chrono::seconds;

namespace {

bool has(const std::string& part) { return run("iptables-save -t raw").find(part) != std::string::npos; }

/// Its configuration is a port; a file that says 0 is bad, and 13 cannot be brought into force.
class Idle final : public frame::Daemon {
 public:
  Idle(std::string folder, int port) : Daemon({"asrpd-idle", "1", folder + "/file"}), folder_(std::move(folder)), port_(port) {}
  ~Idle() override { unwatch(); }

  bool fails_to_begin = false;
  bool removes = false;
  int next_port = 0;                         // what the file says
  std::vector<std::function<void()>> steps;  // one after each reload, and one at the start
  std::vector<int> adopted;
  [[nodiscard]] int port() const { return port_; }

 protected:
  [[nodiscard]] Settings settings() const override {
    return {{folder_ + "/ctl.sock"}, {}, removes ? config::OnStop::remove : config::OnStop::keep, {}};
  }
  Outcome open_edges() override { return Done{}; }
  RuleSets rules() override { return sets(port_); }
  Outcome begin() override {
    if (fails_to_begin) return Failure{io::IoError{"begin", EIO, ""}};
    return Done{};
  }
  void begin_watching() override {
    loop().every(std::chrono::milliseconds(1), [this] { step(); });
    loop().set_timer(runtime::monotonic_now() + seconds(20), [this] { loop().stop(); });
  }
  [[nodiscard]] std::string describe() const override { return "idles"; }
  [[nodiscard]] std::string activity() const override { return "idle"; }
  [[nodiscard]] std::optional<TimePoint> next_timeout() const override { return std::nullopt; }
  void on_timer() override {}
  void on_rules_repaired() override {}
  std::optional<Next> read_next(const std::string& file, config::Problems& problems) override {
    if (next_port == 0) {
      problems.list.push_back({file, 1, "port", "is 0", false});
      return std::nullopt;
    }
    const int next = next_port;
    if (next == 14) problems.list.push_back({file, 1, "port", "is that of the example", true, true});
    if (next == 82) {  // the file changes while it is being put into force
      next_port = 83;
      raise(SIGHUP);
    }
    return Next{sets(next),
                {},
                [this, next]() -> Outcome {
                  if (next == 13) return Failure{io::IoError{"adopt", EIO, ""}};
                  adopted.push_back(next);
                  port_ = next;
                  return Done{};
                },
                {},
                {},
                {}};
  }
  [[nodiscard]] std::vector<runtime::CounterLine> counter_lines() const override { return {}; }
  [[nodiscard]] std::string status_members() const override { return "\"gauges\":{}"; }
  void add_metrics(runtime::MetricsPage&) const override {}
  void add_commands(runtime::CommandTable&) override {}
  std::string end(bool) override { return "stopped"; }

 private:
  static RuleSets sets(int port) {
    return std::vector<io::RuleSet>{
        {Family::v4,
         {{"raw", "PREROUTING", "ASRP-IDLE", {"-p tcp --dport " + std::to_string(port) + " -j NFQUEUE --queue-num 7"}}}}};
  }
  void step() {
    if (is_reloading() || done_ == steps.size()) return;
    steps[done_++]();
  }

  std::string folder_;
  int port_;
  std::size_t done_ = 0;
};

struct Folder {
  Folder() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path = (std::filesystem::temp_directory_path() / "asrp-frame-XXXXXX").string();
};

}  // namespace

TEST_CASE("frame: a start that fails at its last step leaves no rule, no socket and no claim") {
  const Namespace ns;
  const Folder folder;
  {
    Idle daemon(folder.path, 80);
    daemon.fails_to_begin = true;
    CHECK(!daemon.start());
  }
  CHECK(!has("ASRP-IDLE"));
  CHECK(std::filesystem::is_empty(folder.path));
  Idle again(folder.path, 80);
  CHECK(again.start().has_value());
  CHECK(has("--dport 80"));
}

TEST_CASE("frame: one daemon of a kind in a namespace; another namespace has its own") {
  const Folder folder;
  const Folder elsewhere;
  const Namespace first;
  Idle daemon(folder.path, 80);
  REQUIRE(daemon.start());
  Idle second(elsewhere.path, 81);
  const auto refused = second.start();
  REQUIRE(!refused);
  CHECK(refused.error().to_string() == "start; asrpd-idle is running in this network namespace; stop it first");
  CHECK(has("--dport 80"));
  const Namespace other;
  Idle third(elsewhere.path, 82);
  CHECK(third.start().has_value());
}

TEST_CASE("frame: a reload is all or nothing, and one that came during another follows it") {
  const Namespace ns;
  const Folder folder;
  Idle daemon(folder.path, 80);
  REQUIRE(daemon.start());
  const auto reload_to = [&](int port) {
    return [&daemon, port] {
      daemon.next_port = port;
      raise(SIGHUP);
    };
  };
  const auto expect = [&](int port) {
    return [&daemon, port] {
      CHECK(daemon.port() == port);
      CHECK(has("--dport " + std::to_string(port) + " "));
    };
  };
  const auto wait = [] {};  // the signal takes a turn of the loop to arrive
  daemon.steps = {reload_to(81), wait,
                  wait,          expect(81),
                  reload_to(0),  wait,
                  wait,          expect(81),
                  reload_to(13), wait,
                  wait,          expect(81),
                  reload_to(14), wait,
                  wait,          expect(81),
                  reload_to(82), wait,
                  wait,          wait,
                  expect(83),    [] { raise(SIGTERM); }};
  daemon.run();
  CHECK(daemon.port() == 83);
  CHECK(daemon.adopted == std::vector<int>{81, 82, 83});
  CHECK(has("--dport 83"));  // on_stop = "keep"
}

TEST_CASE("frame: a stop removes the rules if it is to") {
  const Namespace ns;
  const Folder folder;
  Idle daemon(folder.path, 80);
  daemon.removes = true;
  REQUIRE(daemon.start());
  daemon.steps = {[] { raise(SIGINT); }};
  daemon.run();
  CHECK(!has("ASRP-IDLE"));
}
