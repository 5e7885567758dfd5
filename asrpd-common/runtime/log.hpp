// SPDX-License-Identifier: GPL-2.0-or-later
// The daemons' log: levels, text or JSON lines, and a rate limit for each kind of message. spdlog is confined to the .cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "asrp/base/time.hpp"

namespace asrp::runtime {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
enum class LogFormat : std::uint8_t { text, json };

std::string_view to_string(LogLevel level);
std::optional<LogLevel> parse_log_level(std::string_view text);
std::string_view to_string(LogFormat format);

struct LogOptions {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
  std::string file;  // empty: standard error, which the journal takes
};

/// At most `burst` messages of a kind in an interval; tells how many were left out when the kind is let through again.
class LogLimiter {
 public:
  static constexpr unsigned kBurst = 10;
  static constexpr Duration kInterval = std::chrono::seconds(10);

  struct Decision {
    bool pass = true;
    std::uint64_t left_out = 0;  // since the last message of this kind that passed
  };
  Decision ask(std::string_view kind, TimePoint now);

 private:
  struct Kind {
    TimePoint start{};
    unsigned count = 0;
    std::uint64_t left_out = 0;
  };
  std::map<std::string, Kind, std::less<>> kinds_;
};

/// Opens the log, or changes it at a reload. Returns why that failed; the log then stays as it was.
std::optional<std::string> configure_log(const LogOptions& options);
LogLevel log_level();
/// Until the next configure_log().
void set_log_level(LogLevel level);

/// One line; from any thread. `kind` is a short constant ("rules", "reload"): the field by which lines are limited and found.
/// Errors, and what became of a reload, are never left out.
void log(LogLevel level, std::string_view kind, std::string_view text);
/// The same; `text` is asked only for a line that is written. For what comes in great numbers.
void log_lazily(LogLevel level, std::string_view kind, const std::function<std::string()>& text);
inline void log_debug(std::string_view kind, std::string_view text) { log(LogLevel::debug, kind, text); }
inline void log_info(std::string_view kind, std::string_view text) { log(LogLevel::info, kind, text); }
inline void log_warning(std::string_view kind, std::string_view text) { log(LogLevel::warning, kind, text); }
inline void log_error(std::string_view kind, std::string_view text) { log(LogLevel::error, kind, text); }

/// A JSON string with its quotes; what is not UTF-8 is replaced.
std::string json_quoted(std::string_view text);

}  // namespace asrp::runtime
