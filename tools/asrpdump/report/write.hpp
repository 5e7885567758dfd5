// SPDX-License-Identifier: BSD-3-Clause
// -w: the frames that carry ASRP, in pcap files with the link type and the resolution of their source; rotated as by tcpdump.
#pragma once

#include <pcap/pcap.h>

#include <cstdint>
#include <memory>
#include <string>

#include "report/report.hpp"

namespace asrp::dump {

struct WriteOptions {
  std::string name;  // "-": standard output. With `seconds` a pattern for strftime()
  int link_type = 1;
  int snap_length = 262144;
  std::uint8_t decimals = 6;
  std::int64_t seconds = 0;        // -G: a new file after so many; 0: never
  std::uint64_t size = 0;          // -C: a new file beyond so many octets; 0: never
  unsigned files = 0;              // -W: with `size` a ring of so many; with `seconds` alone the end after so many; 0: no bound
  bool flush_each_packet = false;  // -U
};

class WriteReport : public Report {
 public:
  /// With `seconds` the first file is opened with the first packet, whose stamp names it; else at once.
  explicit WriteReport(const WriteOptions& options);
  ~WriteReport() override;

  void on_packet(const Packet& packet) override;
  void finish() override;
  [[nodiscard]] bool wants_all() const override { return false; }
  [[nodiscard]] bool wants_more() const override { return error_.empty() && !is_full_; }
  [[nodiscard]] std::string error() const override { return error_; }

 private:
  void open(std::int64_t now);
  void close();
  bool rotate(std::int64_t now);
  void write(const Stamp& stamp, Octets octets, std::size_t wire_size);
  void fail(const char* reason);
  [[nodiscard]] std::string file_name() const;

  WriteOptions options_;
  pcap_t* format_ = nullptr;
  pcap_dumper_t* dumper_ = nullptr;
  std::string current_;
  std::int64_t slice_begun_ = 0;  // seconds of capture time, names the file
  bool has_begun_ = false;
  unsigned slices_ = 0;
  unsigned number_ = 0;  // of the file within its slice
  bool is_full_ = false;
  std::uint64_t last_frame_ = 0;
  std::string error_;
};

}  // namespace asrp::dump
