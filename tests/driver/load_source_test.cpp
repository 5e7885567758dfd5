// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-holder/load_source.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace asrp;
using holder::LoadConfig;
using holder::LoadKind;
using holder::LoadSource;
using holder::parse_cpu_times;
using holder::parse_part;

namespace {

/// A folder that goes with the test.
struct Folder {
  Folder() {
    char name[] = "/tmp/asrp-load-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path + "/" + name) << text;
    return path + "/" + name;
  }
  std::string path;
};

LoadSource::Measured by_file(const std::string& path) {
  LoadConfig config;
  config.source = LoadKind::file;
  config.file = path;
  return LoadSource(config, [] { return 0u; }).measure();
}

LoadSource::Measured by_command(std::vector<std::string> command) {
  LoadConfig config;
  config.source = LoadKind::command;
  config.command = std::move(command);
  return LoadSource(config, [] { return 0u; }).measure();
}

}  // namespace

TEST_CASE("times of processors: what is idle or waits for disks is not busy, guests' time counts once") {
  const auto times = parse_cpu_times("cpu  10 20 30 400 50 6 7 8 1000 2000\ncpu0 1 1 1 1\n");
  REQUIRE(times);
  CHECK(times->busy == 10 + 20 + 30 + 6 + 7 + 8);
  CHECK(times->all == times->busy + 400 + 50);
  CHECK(parse_cpu_times("cpu 1 2 3 4\n")->all == 10);
  for (const char* text : {"", "cpu", "cpu ", "cpu 1 2 3\n", "cpu0 1 2 3 4\n", "intr 1 2 3 4\n", "cpu a b c d\n"})
    CHECK_MESSAGE(!parse_cpu_times(text), text);
}

TEST_CASE("what a command or a file says is one number") {
  CHECK(parse_part("0.75") == 0.75);
  CHECK(parse_part(" \t0\n") == 0);
  CHECK(parse_part("1.5\r\n") == 1.5);
  CHECK(parse_part(".5") == 0.5);
  for (const char* text : {"", " \n", "-0.1", "75%", "0,75", "nan", "inf", "1e3", "0.5 0.6", "0x1", "busy"})
    CHECK_MESSAGE(!parse_part(text), text);
}

TEST_CASE("connections: the sessions that there are against the maximum, also beyond it") {
  LoadConfig config;
  config.source = LoadKind::connections;
  config.maximum = 200;
  std::uint64_t sessions = 50;
  LoadSource source(config, [&] { return sessions; });
  CHECK(source.measure().part == 0.25);
  sessions = 400;
  CHECK(source.measure().part == 2.0);
}

TEST_CASE("cpu: this host's, once some time has passed") {
  LoadConfig config;
  LoadSource source(config, [] { return 0u; });
  LoadSource::Measured measured;
  for (int i = 0; i < 500 && !measured.part; ++i) {
    usleep(10'000);  // a tick takes 1 to 10 ms
    measured = source.measure();
  }
  REQUIRE(measured.part);
  CHECK(*measured.part >= 0);
  CHECK(*measured.part <= 1);
}

TEST_CASE("file: read anew each time; what cannot be read is told, and nothing makes it wait") {
  const Folder folder;
  const std::string path = folder.file("load", "0.25\n");
  CHECK(by_file(path).part == 0.25);
  folder.file("load", "0.5\n");
  CHECK(by_file(path).part == 0.5);
  folder.file("load", "much\n");
  CHECK(!by_file(path).part);
  CHECK(by_file(path).trouble == path + " has no number such as 0.75");
  CHECK(by_file(folder.path + "/none").trouble.find("No such file") != std::string::npos);
  const std::string pipe = folder.path + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(!by_file(pipe).part);
}

TEST_CASE("command: its number; one that fails, says something else, or hangs gives none") {
  CHECK(by_command({"/bin/echo", "0.125"}).part == 0.125);
  CHECK(by_command({"/bin/sh", "-c", "exit 3"}).trouble == "/bin/sh ended with status 3");
  CHECK(by_command({"/bin/echo", "a", "lot"}).trouble == "/bin/echo wrote no number such as 0.75");
  CHECK(!by_command({"/no/such/program"}).part);
  CHECK(by_command({"/bin/sleep", "1000"}).trouble.find("timed out") != std::string::npos);
  CHECK(by_command({"/bin/sh", "-c", "yes"}).trouble.find("Message too long") != std::string::npos);
}

TEST_CASE("command: what it has started ends with it") {
  const Folder folder;
  const std::string pid_file = folder.path + "/pid";
  CHECK(!by_command({"/bin/sh", "-c", "sleep 1000 & echo $! > " + pid_file + "; wait"}).part);
  std::ifstream stream(pid_file);
  pid_t child = 0;
  stream >> child;
  REQUIRE(child > 0);
  for (int i = 0; i < 6000 && kill(child, 0) == 0; ++i) {
    std::ifstream status("/proc/" + std::to_string(child) + "/stat");
    std::string number, name, state;
    if (status >> number >> name >> state && state == "Z") break;  // killed; whoever has inherited it hasn't looked yet
    usleep(10'000);
  }
  std::ifstream status("/proc/" + std::to_string(child) + "/stat");
  std::string number, name, state = "gone";
  status >> number >> name >> state;
  const bool ended = state == "gone" || state == "Z";
  CHECK_MESSAGE(ended, state);
  // One that leaves something behind and ends by itself is believed, and what it left is killed as well.
  CHECK(by_command({"/bin/sh", "-c", "sleep 1000 >/dev/null & echo 0.5"}).part == 0.5);
}
