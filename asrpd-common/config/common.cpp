// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/common.hpp"

#include <sys/un.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "config/host_address.hpp"
#include "io/error.hpp"
#include "runtime/places.hpp"

namespace asrp::config {

using runtime::LogFormat;
using runtime::LogLevel;

namespace {

void check_place(Reader& reader, std::string_view key, const std::string& path,
                 const std::optional<runtime::PlaceTrouble>& why) {
  if (why)
    reader.problem(
        key, "found " + shown(path) + ", but " + shown(why->at) + " " + why->reason + "; " + std::string(io::kPlaceAdvice));
}

}  // namespace

void read_on_stop(Reader& reader, OnStop& out) {
  reader.choice<OnStop>("on_stop", out, {{"keep", OnStop::keep}, {"remove", OnStop::remove}});
}

std::string_view to_string(OnStop on_stop) { return on_stop == OnStop::keep ? "keep" : "remove"; }

void read_directory(Reader& reader, std::string_view key, std::string& out) {
  if (!reader.path(key, out)) return;
  if (out.empty()) return reader.problem(key, "found \"\", allowed is the path of a directory");
  out = std::filesystem::absolute(out).string();
  check_place(reader, key, out, runtime::why_no_files_in(out));
}

namespace {

void read_control_socket(Reader& reader, std::string& out) {
  constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (!reader.path("control_socket", out)) return;
  if (!out.empty() && out.size() <= kLongest)
    return check_place(reader, "control_socket", out, runtime::why_no_files_in(runtime::directory_of(out)));
  reader.problem("control_socket", "found " + std::to_string(out.size()) + " octets, allowed is a path of 1 to " +
                                       std::to_string(kLongest) + " octets");
}

void read_control_mode(Reader& reader, std::uint32_t& out) {
  std::string text;
  if (!reader.text("control_mode", text)) return;
  const char* const end = text.data() + text.size();
  std::uint32_t mode = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, mode, 8);
  if (error != std::errc{} || rest != end || mode > 0777 || (mode & 0600) != 0600)
    return reader.problem("control_mode", "found " + shown(text) +
                                              ", allowed are modes from \"0600\" to \"0777\" with read "
                                              "and write for the owner, such as \"0660\"");
  if ((mode & 0002) != 0)
    reader.warning("control_mode",
                   "lets everybody on this host steer the daemon; control_group and \"0660\" let a group do it");
  out = mode;
}

}  // namespace

void read_control(Reader& reader, runtime::ControlPlace& out) {
  read_control_socket(reader, out.path);
  read_control_mode(reader, out.mode);
  if (reader.text("control_group", out.group) && !out.group.empty() && !runtime::find_group(out.group))
    reader.problem("control_group", "found " + shown(out.group) + ", but this host has no such group");
}

void write_control(Writer& writer, const runtime::ControlPlace& control) {
  writer.text("control_socket", control.path);
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", control.mode);
  writer.text("control_mode", mode.data());
  if (!control.group.empty()) writer.text("control_group", control.group);
}

void read_queue(Reader reader, QueueConfig& out, unsigned queues, unsigned most_workers) {
  if (most_workers > 1) reader.integer("workers", out.workers, 1, most_workers);
  reader.integer("base", out.base, 0, 65536 - static_cast<std::int64_t>(queues) * out.workers);
  reader.integer("length", out.length, 16, 1 << 24);
  reader.integer("receive_buffer", out.receive_buffer, 1 << 16, (std::int64_t{1} << 31) - 1);
  reader.integer("burst", out.burst, 1, 1024);
  reader.finish();
}

void write_queue(Writer& writer, const QueueConfig& queue, unsigned most_workers) {
  writer.table("queue");
  if (most_workers > 1) writer.integer("workers", queue.workers);
  writer.integer("base", queue.base);
  writer.integer("length", queue.length);
  writer.integer("receive_buffer", static_cast<std::int64_t>(queue.receive_buffer));
  writer.integer("burst", static_cast<std::int64_t>(queue.burst));
}

void log_queue(const QueueConfig& queue, unsigned queues, std::size_t receive_buffer) {
  runtime::log_info("queue", "queues " + std::to_string(queue.base) + " to " + std::to_string(queue.base + queues - 1) +
                                 ": length " + std::to_string(queue.length) + " packets each, receive buffer " +
                                 std::to_string(receive_buffer) + " octets");
  if (receive_buffer >= queue.receive_buffer) return;
  runtime::log_warning("queue",
                       "the receive buffer is " + std::to_string(receive_buffer) + " octets, asked were " +
                           std::to_string(queue.receive_buffer) +
                           ": a burst may be lost; raise net.core.rmem_max, or run the daemon with CAP_NET_ADMIN in the "
                           "first user namespace");
}

void read_option(Reader reader, packet::Marker& out) {
  reader.integer("tcp_kind", out.tcp_kind, 2, 254);
  reader.integer("udp_kind", out.udp_kind, 3, 127);
  reader.integer("exid", out.exid, 0, 65535);
  // Kinds that the protocols' own options have; a marker of such a kind would be taken for one.
  if (out.tcp_kind <= 8 || out.tcp_kind == 19 || out.tcp_kind == 29 || out.tcp_kind == 30 || out.tcp_kind == 34)
    reader.problem("tcp_kind", "found " + std::to_string(out.tcp_kind) +
                                   ", the kind of another TCP option; 253 and 254 are for experiments");
  if (out.udp_kind < 10 || out.udp_kind == 126)
    reader.problem("udp_kind",
                   "found " + std::to_string(out.udp_kind) + ", the kind of another UDP option; 127 is for experiments");
  reader.finish();
}

void write_option(Writer& writer, const packet::Marker& marker) {
  writer.table("option");
  writer.integer("tcp_kind", marker.tcp_kind);
  writer.integer("udp_kind", marker.udp_kind);
  char exid[16];
  std::snprintf(exid, sizeof exid, "0x%04x", marker.exid);
  writer.raw("exid", exid);
}

void read_log(Reader reader, runtime::LogOptions& out) {
  reader.choice<LogLevel>(
      "level", out.level,
      {{"debug", LogLevel::debug}, {"info", LogLevel::info}, {"warning", LogLevel::warning}, {"error", LogLevel::error}});
  reader.choice<LogFormat>("format", out.format, {{"text", LogFormat::text}, {"json", LogFormat::json}});
  if (reader.path("file", out.file) && !out.file.empty()) check_place(reader, "file", out.file, runtime::why_no_file(out.file));
  reader.finish();
}

void write_log(Writer& writer, const runtime::LogOptions& log) {
  writer.table("log");
  writer.text("level", runtime::to_string(log.level));
  writer.text("format", runtime::to_string(log.format));
  writer.text("file", log.file);
}

void read_metrics(Reader reader, MetricsConfig& out) {
  reader.boolean("enabled", out.enabled);
  reader.endpoint("listen", out.listen);
  const std::string_view why = why_no_host(out.listen.address);
  if (why == "a multicast address" || why == "the broadcast address")
    reader.problem("listen",
                   "found " + out.listen.to_string() + ", " + std::string(why) + "; allowed is an address of this host");
  if (out.enabled && why != "a loopback address")
    reader.warning("listen", "found " + out.listen.to_string() + ": whoever reaches this address can read the metrics");
  reader.finish();
}

void write_metrics(Writer& writer, const MetricsConfig& metrics) {
  writer.table("metrics");
  writer.boolean("enabled", metrics.enabled);
  writer.text("listen", metrics.listen.to_string());
}

void read_mark(Reader& reader, std::string_view key, std::uint32_t& out) {
  std::uint32_t read = out;
  reader.integer(key, read, 1, 0xffffffff);
  if (std::has_single_bit(read)) {
    out = read;
  } else {
    char found[16];
    std::snprintf(found, sizeof found, "0x%x", read);
    reader.problem(key, std::string("found ") + found + ", allowed is one bit such as 0x10000000");
  }
}

void write_mark(Writer& writer, std::string_view key, std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  writer.raw(key, text);
}

}  // namespace asrp::config
