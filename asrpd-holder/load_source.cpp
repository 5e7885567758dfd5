// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-holder/load_source.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "config/host_address.hpp"
#include "io/short_command.hpp"
#include "io/unique_fd.hpp"

namespace asrp::holder {
namespace {

using config::Reader;
using std::chrono::seconds;

constexpr std::size_t kMostNodes = 64;
constexpr std::size_t kMostText = 4096;  // octets that are read of a file
constexpr Duration kCommandLimit = seconds(1);

std::string_view name_of(LoadKind kind) {
  switch (kind) {
    case LoadKind::cpu:
      return "cpu";
    case LoadKind::connections:
      return "connections";
    case LoadKind::command:
      return "command";
    case LoadKind::file:
      break;
  }
  return "file";
}

/// What the source needs must be there; what another one needs must not.
void check_source(Reader& reader, const LoadConfig& load) {
  const struct {
    const char* key;
    LoadKind of;
  } kOwn[] = {{"maximum", LoadKind::connections}, {"command", LoadKind::command}, {"file", LoadKind::file}};
  for (const auto& [key, of] : kOwn) {
    if (of == load.source) {
      reader.require(key);
    } else if (reader.has(key)) {
      reader.problem(key, "is given, but source is \"" + std::string(name_of(load.source)) + "\"");
    }
  }
}

std::optional<std::string> text_of(const std::string& path) {
  const io::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // not even a pipe makes it wait
  if (!fd) return std::nullopt;
  std::string text(kMostText, '\0');
  const ssize_t size = ::read(fd.get(), text.data(), text.size());
  if (size < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace

void read_load(Reader reader, LoadConfig& out) {
  reader.boolean("enabled", out.enabled);
  reader.addresses("nodes", out.nodes);
  reader.integer("port", out.port, 1, 65535);
  if (out.enabled || reader.has("key") || reader.has("key_file")) reader.secret("key", out.key);
  reader.choice<LoadKind>("source", out.source,
                          {{"cpu", LoadKind::cpu},
                           {"connections", LoadKind::connections},
                           {"command", LoadKind::command},
                           {"file", LoadKind::file}});
  reader.integer("maximum", out.maximum, 1, 1'000'000'000);
  reader.texts("command", out.command);
  reader.path("file", out.file);
  reader.duration("interval", out.interval, seconds(1), seconds(60));  // no node is told more than once a second
  if (out.enabled) {
    check_source(reader, out);
    reader.require("nodes");
    if (reader.has("nodes") && (out.nodes.empty() || out.nodes.size() > kMostNodes))
      reader.problem("nodes", "found " + std::to_string(out.nodes.size()) + ", allowed are 1 to " + std::to_string(kMostNodes));
    if (reader.has("command") && (out.command.empty() || out.command[0].empty() || out.command[0][0] != '/'))
      reader.problem("command", "allowed is a list whose first is the path of a program, such as [\"/usr/local/bin/load\"]");
    if (reader.has("file") && (out.file.empty() || out.file[0] != '/'))
      reader.problem("file", "found " + config::shown(out.file) + ", allowed is a path that begins with /");
  }
  for (const IpAddress& node : out.nodes)
    if (const std::string why(config::why_no_host(node)); !why.empty())
      reader.problem("nodes", "found " + node.to_string() + ", " + why + "; allowed are the nodes' own addresses");
  reader.finish();
}

void write_load(config::Writer& writer, const LoadConfig& load) {
  writer.table("load");
  writer.boolean("enabled", load.enabled);
  writer.addresses("nodes", load.nodes);
  writer.integer("port", load.port);
  if (load.enabled) writer.secret("key", load.key);
  writer.text("source", name_of(load.source));
  if (load.source == LoadKind::connections && load.maximum != 0)
    writer.integer("maximum", static_cast<std::int64_t>(load.maximum));
  if (load.source == LoadKind::command && !load.command.empty()) {
    std::vector<std::string> words;
    for (const std::string& word : load.command) words.push_back(config::Writer::quoted(word));
    writer.raw("command", config::Writer::list(words));
  }
  if (load.source == LoadKind::file && !load.file.empty()) writer.text("file", load.file);
  writer.duration("interval", load.interval);
}

std::optional<CpuTimes> parse_cpu_times(std::string_view stat) {
  // cpu  user nice system idle iowait irq softirq steal guest guest_nice
  constexpr std::size_t kIdle = 3;
  constexpr std::size_t kIoWait = 4;
  constexpr std::size_t kFields = 8;  // guests' time is in user's already
  if (!stat.starts_with("cpu ")) return std::nullopt;
  const char* at = stat.data() + 4;
  const char* end = stat.data() + std::min(stat.find('\n'), stat.size());
  CpuTimes times;
  std::size_t field = 0;
  for (; field < kFields; ++field) {
    while (at != end && *at == ' ') ++at;
    std::uint64_t ticks = 0;
    const auto [next, error] = std::from_chars(at, end, ticks);
    if (error != std::errc{}) break;
    at = next;
    times.all += ticks;
    if (field != kIdle && field != kIoWait) times.busy += ticks;
  }
  if (field <= kIdle) return std::nullopt;
  return times;
}

std::optional<double> parse_part(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
  double part = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(part) || part < 0) return std::nullopt;
  return part;
}

LoadSource::LoadSource(const LoadConfig& config, std::function<std::uint64_t()> sessions)
    : kind_(config.source),
      maximum_(config.maximum),
      command_(config.command),
      file_(config.file),
      sessions_(std::move(sessions)) {
  if (kind_ == LoadKind::cpu) (void)by_cpu();  // from here on
}

LoadSource::Measured LoadSource::measure() {
  switch (kind_) {
    case LoadKind::cpu:
      return by_cpu();
    case LoadKind::connections:
      return {static_cast<double>(sessions_()) / static_cast<double>(maximum_), ""};
    case LoadKind::command:
      return by_command();
    case LoadKind::file:
      break;
  }
  return by_file();
}

LoadSource::Measured LoadSource::by_cpu() {
  const auto text = text_of("/proc/stat");
  const auto now = text ? parse_cpu_times(*text) : std::nullopt;
  if (!now) return {std::nullopt, "/proc/stat has no times of processors"};
  const CpuTimes before = std::exchange(before_, *now);
  if (now->all <= before.all || now->busy < before.busy) return {std::nullopt, "no time has passed for the processors"};
  return {static_cast<double>(now->busy - before.busy) / static_cast<double>(now->all - before.all), ""};
}

LoadSource::Measured LoadSource::by_command() const {
  const auto done = io::run_short_command(command_, kCommandLimit);
  if (!done) return {std::nullopt, done.error().to_string()};
  if (done->status != 0) return {std::nullopt, command_[0] + " ended with status " + std::to_string(done->status)};
  if (const auto part = parse_part(done->output)) return {part, ""};
  return {std::nullopt, command_[0] + " wrote no number such as 0.75"};
}

LoadSource::Measured LoadSource::by_file() const {
  const auto text = text_of(file_);
  if (!text) return {std::nullopt, "read " + file_ + ": " + std::strerror(errno)};
  if (const auto part = parse_part(*text)) return {part, ""};
  return {std::nullopt, file_ + " has no number such as 0.75"};
}

}  // namespace asrp::holder
