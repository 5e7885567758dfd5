// SPDX-License-Identifier: BSD-3-Clause
#include "report/write.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace asrp::dump {
namespace {

/// Digits that numbers below `files` need, so that the names of a ring sort.
std::size_t number_width(unsigned files) { return files == 0 ? 0 : std::to_string(files - 1).size(); }

std::string formatted(const std::string& pattern, std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char name[4096];
  if (localtime_r(&time, &parts) == nullptr) return pattern;
  const std::size_t size = std::strftime(name, sizeof name, pattern.c_str(), &parts);
  return size == 0 ? pattern : std::string(name, size);
}

}  // namespace

WriteReport::WriteReport(const WriteOptions& options) : options_(options) {
  const u_int precision = options.decimals > 6 ? PCAP_TSTAMP_PRECISION_NANO : PCAP_TSTAMP_PRECISION_MICRO;
  format_ = pcap_open_dead_with_tstamp_precision(options.link_type, options.snap_length, precision);
  if (options.seconds == 0) open(0);
}

WriteReport::~WriteReport() {
  close();
  if (format_ != nullptr) pcap_close(format_);
}

std::string WriteReport::file_name() const {
  std::string name = options_.seconds == 0 ? options_.name : formatted(options_.name, slice_begun_);
  const std::size_t width = options_.size == 0 ? 0 : number_width(options_.files);
  if (number_ == 0 && width == 0) return name;
  const std::string number = std::to_string(number_);
  name.append(width - std::min(width, number.size()), '0');
  return name + number;
}

void WriteReport::fail(const char* reason) {
  if (!error_.empty()) return;
  error_ = (current_ == "-" ? "standard output" : current_) + ": " + reason;
  if (last_frame_ != 0) error_ += ", at packet " + std::to_string(last_frame_);
}

void WriteReport::open(std::int64_t now) {
  slice_begun_ = now;
  current_ = file_name();
  errno = 0;
  dumper_ = format_ == nullptr ? nullptr : pcap_dump_open(format_, current_.c_str());
  if (dumper_ == nullptr) fail(errno != 0 ? std::strerror(errno) : pcap_geterr(format_));
}

void WriteReport::close() {
  if (dumper_ == nullptr) return;
  errno = 0;
  if (pcap_dump_flush(dumper_) != 0) fail(std::strerror(errno != 0 ? errno : EIO));
  pcap_dump_close(dumper_);
  dumper_ = nullptr;
}

/// True if a file is open for a packet of `now`. Time first, size within a slice of time, as tcpdump.
bool WriteReport::rotate(std::int64_t now) {
  if (options_.seconds != 0 && !has_begun_) {
    has_begun_ = true;
    open(now);
  } else if (options_.seconds != 0 && now - slice_begun_ >= options_.seconds) {
    close();
    ++slices_;
    is_full_ = options_.size == 0 && options_.files != 0 && slices_ >= options_.files;
    number_ = 0;
    if (!is_full_) open(now);
  }
  if (dumper_ != nullptr && options_.size != 0 && static_cast<std::uint64_t>(pcap_dump_ftell64(dumper_)) > options_.size) {
    close();
    ++number_;
    if (options_.files != 0 && number_ >= options_.files) number_ = 0;
    open(options_.seconds != 0 ? slice_begun_ : 0);
  }
  return dumper_ != nullptr && error_.empty();
}

void WriteReport::write(const Stamp& stamp, Octets octets, std::size_t wire_size) {
  pcap_pkthdr header{};
  header.ts.tv_sec = static_cast<decltype(header.ts.tv_sec)>(stamp.seconds);
  const std::uint32_t fraction = options_.decimals > 6 ? stamp.nanoseconds : stamp.nanoseconds / 1000;
  header.ts.tv_usec = static_cast<decltype(header.ts.tv_usec)>(fraction);
  header.caplen = static_cast<bpf_u_int32>(octets.size());
  header.len = static_cast<bpf_u_int32>(wire_size);
  pcap_dump(reinterpret_cast<u_char*>(dumper_), &header, octets.data());
}

void WriteReport::on_packet(const Packet& packet) {
  const bool is_ours = packet.sighting.present() && packet.sighting.claim != Claim::not_asrp;
  if (!is_ours || !wants_more() || packet.again) return;
  last_frame_ = packet.number;
  if (!rotate(packet.stamp.seconds)) return;
  errno = 0;
  for (const Frame& frame : packet.earlier) write(frame.stamp, frame.octets, frame.wire_size);
  write(packet.stamp, packet.frame, packet.frame_size);
  const bool has_failed =
      std::ferror(pcap_dump_file(dumper_)) != 0 || (options_.flush_each_packet && pcap_dump_flush(dumper_) != 0);
  if (has_failed) fail(std::strerror(errno != 0 ? errno : EIO));
}

void WriteReport::finish() {
  // A pattern without a packet: the file must be there nevertheless, and say that nothing came.
  if (options_.seconds != 0 && !has_begun_ && error_.empty()) open(static_cast<std::int64_t>(std::time(nullptr)));
  close();
}

}  // namespace asrp::dump
