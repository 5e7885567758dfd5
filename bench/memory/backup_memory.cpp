// SPDX-License-Identifier: BSD-3-Clause
// Octets per backup: a real HolderEngine with the LMDB store takes a million NS, and each backup's session is alive, so that
// all of them settle. Counted is what they cost together: growth of the process's anonymous memory (indexes, times) and the
// blocks of the store's file, which lies in memory (tmpfs). Prints one JSON object with a row for each family.
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "asrp/engine/holder_engine.hpp"
#include "asrp/wire/encode.hpp"
#include "asrp/wire/message.hpp"
#include "io/lmdb_store.hpp"
#include "runtime/clock.hpp"

namespace {

using asrp::engine::HolderEngine;
using asrp::engine::LocalState;

constexpr std::size_t kBurst = 64;  // as the daemon takes them

class EverythingLives final : public asrp::engine::LocalSessions {
 public:
  void look_up(std::span<const asrp::Tuple>, std::span<LocalState> states) override {
    std::fill(states.begin(), states.end(), LocalState::live);
  }
};

class FixedPaths final : public asrp::engine::Paths {
 public:
  std::size_t mtu_towards(const asrp::IpAddress&) override { return 1500; }
};

class NoEvents final : public asrp::engine::EventSink {
 public:
  void on_event(const asrp::engine::Event&) override {}
};

std::uint64_t anonymous_octets() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::string word;
  while (file >> word) {
    if (word != "Anonymous:") continue;
    std::uint64_t kibi = 0;
    file >> kibi;
    return kibi * 1024;
  }
  std::fprintf(stderr, "no Anonymous in /proc/self/smaps_rollup\n");
  std::exit(1);
}

std::uint64_t file_octets(const std::string& directory) {
  std::uint64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    struct stat status {};
    if (::stat(entry.path().c_str(), &status) == 0) sum += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return sum;
}

asrp::IpAddress address(const std::string& text) { return *asrp::IpAddress::parse(text); }

/// The n-th session of a full-NAT service: clients and ports all differ.
asrp::TuplePair session(std::size_t n, bool v6) {
  char client[64];
  if (v6) {
    std::snprintf(client, sizeof client, "2001:db8:c:%zx::%zx", n >> 16, n & 0xffff);
  } else {
    std::snprintf(client, sizeof client, "20.%zu.%zu.%zu", n >> 16 & 0xff, n >> 8 & 0xff, n & 0xff);
  }
  char nat[64];
  std::snprintf(nat, sizeof nat, v6 ? "fd00:9::%zx" : "10.9.0.%zu", 1 + n / 50'000);
  const auto nat_port = static_cast<std::uint16_t>(10'000 + n % 50'000);
  const asrp::Endpoint service{address(v6 ? "2001:db8:f::10" : "203.0.113.10"), 80};
  const asrp::Endpoint server{address(v6 ? "fd00:3::2" : "10.3.1.2"), 80};
  return {{{address(client), static_cast<std::uint16_t>(1024 + n % 60'000)}, service, asrp::Protocol::tcp},
          {{address(nat), nat_port}, server, asrp::Protocol::tcp}};
}

struct Row {
  double store = 0;
  double memory = 0;
  std::size_t backups = 0;
};

Row measure(std::size_t backups, bool v6, const std::string& directory) {
  std::filesystem::remove_all(directory);
  const auto node = address(v6 ? "fd00:2::1" : "10.2.0.1");
  asrp::engine::HolderOptions options;
  options.nodes = {{node, static_cast<std::uint8_t>(v6 ? 128 : 32)}};
  const asrp::Endpoint to{address(v6 ? "fd00:3::2" : "10.3.1.2"), options.port};
  const asrp::Endpoint from{node, 40000};
  options.local_ips = {to.address};

  auto store = asrp::io::open_lmdb_store({.directory = directory});
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().to_string().c_str());
    std::exit(1);
  }
  EverythingLives sessions;
  FixedPaths paths;
  NoEvents events;
  asrp::runtime::SystemRandom random;
  HolderEngine engine(options, **store, sessions, paths, random, events);
  asrp::TimePoint now{};
  engine.load(now);
  const std::uint64_t memory_before = anonymous_octets();
  const std::uint64_t file_before = file_octets(directory);

  asrp::Buffer octets;
  const auto burst_ends = [&] {
    engine.flush(now);
    engine.outbox().clear();
    now += std::chrono::milliseconds(2);
    while (engine.next_timeout() && *engine.next_timeout() <= now) engine.on_timeout(now), engine.flush(now);
  };
  for (std::size_t n = 0; n < backups; ++n) {
    octets.clear();
    asrp::Cookie cookie;
    asrp::wire::encode(asrp::wire::new_session(session(n, v6), cookie, node, false), octets);
    engine.on_message(now, from, to, octets);
    if (n % kBurst == kBurst - 1) burst_ends();
  }
  for (int i = 0; i < 20'000 && engine.gauges().embryonic > 0; ++i) burst_ends();

  Row row;
  row.backups = engine.gauges().backups;
  row.memory = static_cast<double>(anonymous_octets() - memory_before) / static_cast<double>(backups);
  row.store = static_cast<double>(file_octets(directory) - file_before) / static_cast<double>(backups);
  if (row.backups != backups || engine.gauges().embryonic != 0) {
    std::fprintf(stderr, "%zu backups where %zu were due, %zu embryonic\n", row.backups, backups, engine.gauges().embryonic);
    std::exit(1);
  }
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t backups = 1'000'000;
  std::string directory = "/dev/shm/asrp-backup-memory";
  CLI::App app("Measures what a backup costs a holder.");
  app.add_option("--backups", backups, "how many");
  app.add_option("--directory", directory, "where the store lies; must be a tmpfs");
  CLI11_PARSE(app, argc, argv);
  bool ok = true;
  std::string rows;
  for (const bool v6 : {false, true}) {
    const Row row = measure(backups, v6, directory);
    std::filesystem::remove_all(directory);
    ok = ok && row.memory + row.store <= 256;
    char text[256];
    std::snprintf(text, sizeof text,
                  R"({"family":%d,"backups":%zu,"octets_per_backup":%.1f,"in_process":%.1f,"in_store":%.1f})", v6 ? 6 : 4,
                  row.backups, row.memory + row.store, row.memory, row.store);
    rows += (rows.empty() ? "" : ",") + std::string(text);
  }
  std::printf(R"({"bench":"memory","rows":[%s],"ok":%s})"
              "\n",
              rows.c_str(), ok ? "true" : "false");
  return ok ? 0 : 1;
}
