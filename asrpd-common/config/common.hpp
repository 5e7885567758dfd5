// SPDX-License-Identifier: GPL-2.0-or-later
// The tables that both daemons' configurations have: [queue], [option], [log], [metrics], and keys of [node] and [holder].
#pragma once

#include <cstdint>
#include <string>

#include "asrp/packet/carriage.hpp"
#include "config/reader.hpp"
#include "config/writer.hpp"
#include "runtime/control_socket.hpp"
#include "runtime/log.hpp"

namespace asrp::config {

enum class OnStop : std::uint8_t { keep, remove };  // what happens to the rules (decision 1)

/// Asks for `on_stop`.
void read_on_stop(Reader& reader, OnStop& out);
std::string_view to_string(OnStop on_stop);

/// Asks for the path of a directory in which the daemon makes files. A problem, like those of the two below: what the daemon
/// could not write to, with the reason; the daemons' own rights are looked at only where the process has them.
void read_directory(Reader& reader, std::string_view key, std::string& out);
/// Asks for `control_socket`, `control_mode` and `control_group`; reports also what no socket address can hold, and groups that
/// this host does not have.
void read_control(Reader& reader, runtime::ControlPlace& out);
void write_control(Writer& writer, const runtime::ControlPlace& control);

struct QueueConfig {
  std::uint16_t base = 51200;
  std::uint32_t length = 65536;
  std::size_t receive_buffer = 32u << 20;
  std::size_t burst = 64;
  unsigned workers = 1;  // of the node: threads, each with queues of its own
  friend bool operator==(const QueueConfig&, const QueueConfig&) = default;
};

/// `queues`: how many numbers from `base` on one worker uses. `most_workers` of 1: the daemon has no such key.
void read_queue(Reader reader, QueueConfig& out, unsigned queues, unsigned most_workers = 1);
void write_queue(Writer& writer, const QueueConfig& queue, unsigned most_workers = 1);

/// Tells how much the kernel holds for the daemon; a warning with what to do if that is less than was asked for.
void log_queue(const QueueConfig& queue, unsigned queues, std::size_t receive_buffer);

void read_option(Reader reader, packet::Marker& out);
void write_option(Writer& writer, const packet::Marker& marker);

void read_log(Reader reader, runtime::LogOptions& out);
void write_log(Writer& writer, const runtime::LogOptions& log);

struct MetricsConfig {
  bool enabled = false;
  Endpoint listen;  // the daemon's default is an address of the loopback interface
  friend bool operator==(const MetricsConfig&, const MetricsConfig&) = default;
};

/// Warns of an address that others than this host's programs can reach.
void read_metrics(Reader reader, MetricsConfig& out);
void write_metrics(Writer& writer, const MetricsConfig& metrics);

/// One bit of a packet or connection mark.
void read_mark(Reader& reader, std::string_view key, std::uint32_t& out);
void write_mark(Writer& writer, std::string_view key, std::uint32_t value);

}  // namespace asrp::config
