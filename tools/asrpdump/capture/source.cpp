// SPDX-License-Identifier: BSD-3-Clause
#include "capture/source.hpp"

#include <algorithm>

namespace asrp::dump {
namespace {

constexpr int kNanosecond = PCAP_TSTAMP_PRECISION_NANO;

/// libpcap's message without what the caller says anyway.
std::string last_error(pcap_t* pcap) { return pcap_geterr(pcap); }

std::string name_of_link(int type) {
  const char* const name = pcap_datalink_val_to_name(type);
  return name == nullptr ? std::to_string(type) : name;
}

/// Why libpcap refuses a file in which later interfaces differ from the first, in words that help.
std::string explained(std::string error, const PcapngBlocks& blocks) {
  if (error.find("different from the type of the first interface") == std::string::npos) return error;
  return "several link types in one file, " + name_of_link(blocks.link_type()) + " and then " +
         name_of_link(blocks.other_link_type()) +
         ", of which libpcap reads the first (capture each into a file of its own, or read this one with tshark and asrp.lua)";
}

/// What libpcap gives is what the file says: any seconds, and fractions that are none. Kept within what a pcap file can hold,
/// so that differences of stamps in nanoseconds fit their type.
Stamp stamp_of(const timeval& time, bool is_fine, std::uint8_t decimals) {
  constexpr std::int64_t kLatest = 0xffffffff;
  constexpr std::int64_t kEarliest = -4'000'000'000;
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t seconds = std::clamp<std::int64_t>(time.tv_sec, kEarliest, kLatest);
  const std::int64_t fraction = std::clamp<std::int64_t>(time.tv_usec, 0, kSecond) * (is_fine ? 1 : 1000);
  return {seconds, static_cast<std::uint32_t>(std::min(fraction, kSecond - 1)), decimals};
}

}  // namespace

Source::~Source() {
  if (filter_) pcap_freecode(&*filter_);
  if (pcap_ != nullptr) pcap_close(pcap_);
}

Result<std::unique_ptr<Source>, std::string> Source::open_file(const std::string& name) {
  auto stream = InputStream::open(name);
  if (!stream) return Failure{stream.error()};
  std::unique_ptr<Source> source(new Source);
  source->stream_ = std::move(*stream);
  std::FILE* const file = source->stream_->file();
  if (file == nullptr) return Failure{std::string("no memory")};
  char error[PCAP_ERRBUF_SIZE] = "";
  source->pcap_ = pcap_fopen_offline_with_tstamp_precision(file, kNanosecond, error);
  if (source->pcap_ == nullptr) {
    std::fclose(file);
    const std::string& own = source->stream_->error();
    return Failure{own.empty() ? explained(error, source->stream_->blocks()) : own};
  }
  source->decimals_ = source->stream_->decimals();
  return {std::move(source)};
}

std::string Source::link_name() const { return name_of_link(link_type()); }

std::string Source::set_filter(const std::string& expression) {
  bpf_program program{};
  if (pcap_compile(pcap_, &program, expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0) return last_error(pcap_);
  if (is_live() && pcap_setfilter(pcap_, &program) != 0) {
    pcap_freecode(&program);
    return last_error(pcap_);
  }
  if (filter_) pcap_freecode(&*filter_);
  filter_ = program;
  return {};
}

std::string Source::set_first_filter(const std::vector<std::string>& expressions) {
  std::string error;
  for (const std::string& expression : expressions) {
    error = set_filter(expression);
    if (error.empty()) break;
  }
  return error;
}

bool Source::hand_on(FrameHandler& handler, const pcap_pkthdr& header, const u_char* octets) {
  ++frames_;
  if (!is_live() && filter_ && pcap_offline_filter(&*filter_, &header, octets) == 0) return true;
  const Frame frame{frames_, stamp_of(header.ts, !is_live() || decimals_ == 9, decimals_), Octets(octets, header.caplen),
                    std::max<std::size_t>(header.len, header.caplen)};
  return handler.on_frame(frame);
}

std::string Source::run_file(FrameHandler& handler) {
  for (;;) {
    pcap_pkthdr* header = nullptr;
    const u_char* octets = nullptr;
    const int result = pcap_next_ex(pcap_, &header, &octets);
    if (result == 1 && !stop_requested) {
      if (!hand_on(handler, *header, octets)) return {};
      continue;
    }
    if (result == PCAP_ERROR_BREAK || stop_requested) return {};
    return stream_->error().empty() ? explained(last_error(pcap_), stream_->blocks()) : stream_->error();
  }
}

std::string Source::run_live(FrameHandler& handler) {
  struct Context {
    Source* source;
    FrameHandler* handler;
    bool has_enough;
  } context{this, &handler, false};
  const auto callback = [](u_char* user, const pcap_pkthdr* header, const u_char* octets) {
    auto& self = *reinterpret_cast<Context*>(user);
    if (self.has_enough) return;
    self.has_enough = !self.source->hand_on(*self.handler, *header, octets);
    if (self.has_enough) pcap_breakloop(self.source->pcap_);
  };
  while (!stop_requested && !context.has_enough) {
    const int result = pcap_dispatch(pcap_, -1, callback, reinterpret_cast<u_char*>(&context));
    if (result == PCAP_ERROR) return last_error(pcap_);
    if (!handler.on_pause()) break;
  }
  return {};
}

std::string Source::run(FrameHandler& handler) { return is_live() ? run_live(handler) : run_file(handler); }

}  // namespace asrp::dump
