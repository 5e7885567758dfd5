// SPDX-License-Identifier: BSD-3-Clause
// The command line as a value. All that is wrong with it is said at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "asrp/base/address.hpp"
#include "asrp/base/limits.hpp"
#include "asrp/packet/carriage.hpp"
#include "capture/source.hpp"
#include "report/text.hpp"
#include "report/write.hpp"

namespace asrp::dump {

enum class ColorChoice : std::uint8_t { automatic, always, never };

struct Options {
  // What is read.
  std::string read;  // a file, "-" for standard input; empty: live
  LiveOptions live;
  std::string user;  // -Z
  std::string filter;
  bool list_interfaces = false;

  // What counts as ASRP.
  packet::Marker marker;
  std::uint16_t port = kDefaultPort;
  unsigned tunnels = 1;

  // What is done.
  std::optional<WriteOptions> write;
  bool print = false;  // text, although something else is asked for
  bool json = false;
  bool sessions = false, stats = false, check = false, ladder = false;
  std::string ladder_file;  // a picture; empty: the terminal
  std::size_t max_sessions = 65536;
  std::optional<Endpoint> session;  // --sessions and --ladder: only those with this end
  unsigned ladder_limit = 0;        // sessions drawn; 0: not given
  TextOptions text;
  std::uint64_t count = 0;  // messages, 0: all
  bool flush_lines = false;
  bool quiet = false;
  unsigned verbose = 0;
  ColorChoice color = ColorChoice::automatic;

  bool help = false, version = false;

  [[nodiscard]] bool has_report() const { return sessions || stats || check || ladder; }
  /// --json is of the messages, not of reports. (A picture goes elsewhere.)
  [[nodiscard]] bool wants_json_of_messages() const { return json && !sessions && !stats && !check; }
  [[nodiscard]] bool wants_text() const { return print || (!json && !write && !has_report()); }
};

struct ParsedOptions {
  Options options;
  std::vector<std::string> problems;  // empty: the options hold
};

/// Options may stand anywhere, letters may be joined; what is left is FILE, if there is neither -r nor -i, and the filter.
ParsedOptions parse_options(const std::vector<std::string>& arguments);

/// --help: made from the same table.
std::string help_text();

}  // namespace asrp::dump
