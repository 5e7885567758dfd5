// SPDX-License-Identifier: BSD-3-Clause
// One line per message; on demand all its fields, and the packet in hexadecimal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "report/format.hpp"
#include "report/names.hpp"
#include "report/report.hpp"

namespace asrp::dump {

/// As tcpdump's -t, -tt, -ttt, -tttt and -ttttt.
enum class TimeStyle : std::uint8_t { time_of_day, none, seconds, since_previous, date_and_time, since_first };

enum class HexStyle : std::uint8_t { none, packet, frame };

struct TextOptions {
  TimeStyle time = TimeStyle::time_of_day;
  bool tree = false;  // every field with its octets
  HexStyle hex = HexStyle::none;
  bool ascii = false;   // besides the hexadecimal
  bool number = false;  // of the frame, in front of each line
  bool names = false;   // of hosts and ports; asks the resolver
};

class TextReport : public Report {
 public:
  TextReport(Out& out, const TextOptions& options);
  void on_packet(const Packet& packet) override;
  void finish() override { out_.flush(); }
  [[nodiscard]] bool wants_all() const override { return false; }

 private:
  void time(const Stamp& stamp);
  void difference(std::int64_t nanoseconds, std::uint8_t decimals);
  void endpoint(const Endpoint& endpoint, Protocol protocol);
  void tuple(const Tuple& tuple);
  void message(const Sighting& sighting);
  void fields(const Sighting& sighting);
  void paint(const char* escape);

  Out& out_;
  TextOptions options_;
  Clock clock_;
  std::unique_ptr<Names> names_;
  std::optional<std::int64_t> first_, previous_;  // nanoseconds
};

/// Appends the packet's octets (HexStyle::frame: with its link layer), 16 a line, as tcpdump lays them out.
void append_hex_dump(std::string& out, Octets octets, bool ascii);

}  // namespace asrp::dump
