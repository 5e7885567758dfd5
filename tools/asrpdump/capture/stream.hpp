// SPDX-License-Identifier: BSD-3-Clause
// The octets of a capture file, as libpcap reads them: from a file, a pipe or standard input, compressed with gzip or not.
#pragma once

#include <zlib.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "asrp/base/bytes.hpp"
#include "asrp/base/result.hpp"
#include "capture/pcapng_blocks.hpp"

namespace asrp::dump {

/// Set by a signal: reading ends as if the file did.
extern std::atomic<bool> stop_requested;

class InputStream {
 public:
  /// `name` "-" is standard input. The content, not the name, says whether it is compressed.
  static Result<std::unique_ptr<InputStream>, std::string> open(const std::string& name);
  InputStream(const InputStream&) = delete;
  InputStream& operator=(const InputStream&) = delete;
  ~InputStream();

  /// The stream for pcap_fopen_offline(), which closes it. This object must outlive it.
  std::FILE* file();

  /// Called before a read that may have to wait for whoever fills a pipe. Regular files never wait.
  void before_waiting(std::function<void()> call) { before_waiting_ = std::move(call); }

  /// Decimals of the file's stamps, from the head of a pcap or pcapng file: 6 or 9.
  [[nodiscard]] std::uint8_t decimals() const { return decimals_; }
  /// Of a pcapng file, what its blocks say as far as they were read.
  [[nodiscard]] const PcapngBlocks& blocks() const { return blocks_; }
  /// Octets read so far from the file itself, and its size; 0 if that isn't known.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// What went wrong in reading or decompressing; empty if nothing did.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  InputStream(int fd, std::uint64_t size);

  /// As read(2), of the decompressed octets; what libpcap can't cope with in a pcapng file is mended.
  long read(char* out, std::size_t room);
  long read_mended(char* out, std::size_t room);
  long read_on(char* out, std::size_t room);
  long read_plain(char* out, std::size_t room);
  long inflate_some(char* out, std::size_t room);
  bool refill();
  bool read_head();
  bool want_head(std::size_t size);
  void find_decimals();

  int fd_;
  std::uint64_t size_;
  std::uint64_t position_ = 0;
  std::string error_;
  std::uint8_t decimals_ = 6;
  std::function<void()> before_waiting_;

  Buffer input_;  // as in the file
  std::size_t input_begin_ = 0;
  std::size_t input_end_ = 0;
  bool is_at_end_ = false;

  bool is_compressed_ = false;
  bool is_member_open_ = false;
  z_stream inflater_{};

  Buffer head_;  // decompressed octets that were looked at before libpcap asked
  std::size_t head_read_ = 0;

  bool is_pcapng_ = false;
  PcapngBlocks blocks_;
  Buffer held_;  // the begin of a block's head, whose rest hasn't come
};

}  // namespace asrp::dump
