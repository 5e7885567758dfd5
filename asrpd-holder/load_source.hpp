// SPDX-License-Identifier: GPL-2.0-or-later
// How busy this server is, as a part of what it can do: by its processors, by its sessions against a maximum, or as a command
// or a file of the operator says.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asrp/base/address.hpp"
#include "asrp/base/time.hpp"
#include "config/reader.hpp"
#include "config/writer.hpp"

namespace asrp::holder {

enum class LoadKind : std::uint8_t { cpu, connections, command, file };

struct LoadConfig {
  bool enabled = false;
  std::vector<IpAddress> nodes;  // who is told
  std::uint16_t port = 51201;
  config::SecretKey key;
  LoadKind source = LoadKind::cpu;
  std::uint64_t maximum = 0;         // sessions, of connections
  std::vector<std::string> command;  // program and arguments
  std::string file;
  Duration interval = std::chrono::seconds(1);
  friend bool operator==(const LoadConfig&, const LoadConfig&) = default;
};

void read_load(config::Reader reader, LoadConfig& out);
void write_load(config::Writer& writer, const LoadConfig& load);

/// Ticks of all processors together since the system's start.
struct CpuTimes {
  std::uint64_t busy = 0;
  std::uint64_t all = 0;
};
/// From the text of /proc/stat; none if it is something else.
std::optional<CpuTimes> parse_cpu_times(std::string_view stat);
/// What a command or a file says: a number such as 0.75, and white space around it. None if it is anything else.
std::optional<double> parse_part(std::string_view text);

/// Measures by one source. Blocks as long as a command takes, one second at most: it is for a thread of its own.
class LoadSource {
 public:
  /// `sessions` tells how many there are now; from whichever thread.
  LoadSource(const LoadConfig& config, std::function<std::uint64_t()> sessions);

  struct Measured {
    std::optional<double> part;  // 0 to 1, and beyond where the server has more than it can do
    std::string trouble;         // why there is none
  };
  Measured measure();

 private:
  Measured by_cpu();
  Measured by_command() const;
  Measured by_file() const;

  LoadKind kind_;
  std::uint64_t maximum_;
  std::vector<std::string> command_;
  std::string file_;
  std::function<std::uint64_t()> sessions_;
  CpuTimes before_;
};

}  // namespace asrp::holder
