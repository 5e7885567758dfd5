// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "runtime/clock.hpp"

namespace asrp::runtime {
namespace {

struct State {
  std::recursive_mutex mutex;  // the rule keeper's thread logs too
  LogOptions options;
  std::atomic<LogLevel> level{LogLevel::info};  // of the options; asked for each event, from any thread
  LogLimiter limiter;
  std::shared_ptr<spdlog::logger> logger;
};

State& state() {
  static State instance;
  return instance;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

void write(LogLevel level, std::string_view kind, const std::string& text) {
  State& s = state();
  if (!s.logger) (void)configure_log(LogOptions{});
  if (s.options.format == LogFormat::json) {
    s.logger->log(spdlog_level(level), "\"level\":\"{}\",\"kind\":{},\"text\":{}", to_string(level), json_quoted(kind),
                  json_quoted(text));
  } else {
    s.logger->log(spdlog_level(level), "{}: {}: {}", to_string(level), kind, text);
  }
}

}  // namespace

std::string_view to_string(LogLevel level) {
  static constexpr std::array<std::string_view, 4> kNames = {"debug", "info", "warning", "error"};
  return kNames[static_cast<std::size_t>(level)];
}

std::optional<LogLevel> parse_log_level(std::string_view text) {
  for (const LogLevel level : {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error})
    if (text == to_string(level)) return level;
  return std::nullopt;
}

std::string_view to_string(LogFormat format) { return format == LogFormat::json ? "json" : "text"; }

LogLimiter::Decision LogLimiter::ask(std::string_view kind, TimePoint now) {
  auto found = kinds_.find(kind);
  if (found == kinds_.end()) found = kinds_.emplace(std::string(kind), Kind{now, 0, 0}).first;
  Kind& k = found->second;
  if (now - k.start >= kInterval) {
    k.start = now;
    k.count = 0;
  }
  if (k.count >= kBurst) {
    ++k.left_out;
    return {false, 0};
  }
  ++k.count;
  return {true, std::exchange(k.left_out, 0)};
}

std::optional<std::string> configure_log(const LogOptions& options) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  std::shared_ptr<spdlog::logger> logger;
  try {
    if (options.file.empty()) {
      logger = std::make_shared<spdlog::logger>("asrp", std::make_shared<spdlog::sinks::stderr_sink_st>());
    } else {
      logger = std::make_shared<spdlog::logger>("asrp", std::make_shared<spdlog::sinks::basic_file_sink_st>(options.file));
    }
  } catch (const spdlog::spdlog_ex& error) {
    return std::string(error.what());
  }
  // The journal stamps lines itself.
  const bool journal = options.file.empty() && std::getenv("JOURNAL_STREAM") != nullptr;
  if (options.format == LogFormat::json) {
    logger->set_pattern("{\"time\":%E.%F,%v}", spdlog::pattern_time_type::utc);
  } else {
    logger->set_pattern(journal ? "%v" : "%Y-%m-%d %H:%M:%S.%e %v");
  }
  logger->set_level(spdlog_level(options.level));
  logger->flush_on(spdlog::level::debug);
  s.logger = std::move(logger);
  s.options = options;
  s.level = options.level;
  return std::nullopt;
}

LogLevel log_level() { return state().level; }

void set_log_level(LogLevel level) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.logger) s.logger->set_level(spdlog_level(level));
  s.level = level;
}

void log_lazily(LogLevel level, std::string_view kind, const std::function<std::string()>& text) {
  State& s = state();
  if (level < s.level) return;
  const std::lock_guard lock(s.mutex);
  // A reload is the operator's doing: each has its answer, however many there are.
  if (level == LogLevel::error || kind == "reload") {
    write(level, kind, text());
    return;
  }
  const LogLimiter::Decision decision = s.limiter.ask(kind, monotonic_now());
  if (!decision.pass) return;
  std::string line = text();
  if (decision.left_out > 0) line += " (" + std::to_string(decision.left_out) + " lines of this kind left out before)";
  write(level, kind, line);
}

void log(LogLevel level, std::string_view kind, std::string_view text) {
  log_lazily(level, kind, [text] { return std::string(text); });
}

std::string json_quoted(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto octet = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (octet < 0x20 || octet == 0x7f) {
      out += "\\u00";
      out += kHex[octet >> 4];
      out += kHex[octet & 15];
    } else if (octet >= 0x80) {
      out += '?';  // names in a configuration are ASCII; a stray octet must not break the line
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace asrp::runtime
