// SPDX-License-Identifier: BSD-3-Clause
// Where frames come from: a capture file or an interface, through libpcap.
#pragma once

#include <pcap/pcap.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "asrp/base/result.hpp"
#include "capture/stream.hpp"
#include "packet.hpp"

namespace asrp::dump {

/// Receives the frames.
class FrameHandler {
 public:
  FrameHandler() = default;
  FrameHandler(const FrameHandler&) = delete;
  FrameHandler& operator=(const FrameHandler&) = delete;
  virtual ~FrameHandler() = default;
  /// False: enough. The octets live until this returns.
  virtual bool on_frame(const Frame& frame) = 0;
  /// Live: nothing more is there at the moment, so that what was gathered can be shown. False: enough.
  virtual bool on_pause() = 0;
};

struct LiveOptions {
  std::string interface;       // a name, or a number of list_interfaces()
  int snap_length = 262144;    // octets of a frame
  bool promiscuous = false;    //
  bool is_nanosecond = false;  // stamps
  int buffer_kib = 0;          // of the kernel; 0: libpcap's default
  bool is_immediate = false;   // each packet at once, at the price of speed
};

/// What the kernel says of a live capture.
struct LiveCounts {
  std::uint64_t received = 0, dropped = 0, dropped_by_interface = 0;
};

class Source {
 public:
  static Result<std::unique_ptr<Source>, std::string> open_file(const std::string& name);
  static Result<std::unique_ptr<Source>, std::string> open_live(const LiveOptions& options);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source();

  /// Frames that don't match are not handed on, but have a number. Returns what is wrong with `expression`; empty if nothing
  /// is.
  std::string set_filter(const std::string& expression);
  /// The first of `expressions` that this link type allows.
  std::string set_first_filter(const std::vector<std::string>& expressions);

  /// Hands on frames until the end, until the handler has enough, or until a signal. Returns what went wrong; empty if nothing.
  std::string run(FrameHandler& handler);
  /// A file only: see InputStream::before_waiting().
  void before_waiting(std::function<void()> call) { stream_->before_waiting(std::move(call)); }
  /// From a signal handler: makes a live run() return.
  void stop() { pcap_breakloop(pcap_); }

  [[nodiscard]] bool is_live() const { return stream_ == nullptr; }
  [[nodiscard]] int link_type() const { return pcap_datalink(pcap_); }
  [[nodiscard]] std::string link_name() const;
  /// Of a live capture: what it captures from.
  [[nodiscard]] const std::string& interface() const { return interface_; }
  [[nodiscard]] int snap_length() const { return pcap_snapshot(pcap_); }
  [[nodiscard]] std::uint8_t decimals() const { return decimals_; }
  /// Frames so far, those that don't match the filter included.
  [[nodiscard]] std::uint64_t frames() const { return frames_; }
  [[nodiscard]] std::optional<LiveCounts> live_counts() const;
  /// Nothing for a live capture.
  [[nodiscard]] const InputStream* stream() const { return stream_.get(); }
  /// What libpcap had to say when it opened the interface; empty if nothing.
  [[nodiscard]] const std::string& warning() const { return warning_; }

 private:
  Source() = default;
  std::string run_file(FrameHandler& handler);
  std::string run_live(FrameHandler& handler);
  bool hand_on(FrameHandler& handler, const pcap_pkthdr& header, const u_char* octets);

  pcap_t* pcap_ = nullptr;
  std::unique_ptr<InputStream> stream_;
  std::optional<bpf_program> filter_;
  std::uint8_t decimals_ = 6;
  std::uint64_t frames_ = 0;
  std::string warning_;
  std::string interface_;
};

/// "1.eth0 [Up, Running]" ..., one a line, as tcpdump -D. Empty and `error` set if libpcap fails.
std::string list_interfaces(std::string& error);

}  // namespace asrp::dump
