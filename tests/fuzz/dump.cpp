// SPDX-License-Identifier: BSD-3-Clause
// asrpdump from a frame to every report. Input: link type (2), options (1), then frames: captured size (2), octets that were on
// the wire beyond it (1), time since the one before (1), octets. tests/dump/corpus.py makes such inputs out of captures.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/decoder.hpp"
#include "fuzz/support/fuzz_target.hpp"
#include "report/check.hpp"
#include "report/json.hpp"
#include "report/ladder.hpp"
#include "report/sessions.hpp"
#include "report/stats.hpp"
#include "report/text.hpp"

namespace asrp::fuzz {
namespace {

using namespace dump;

std::FILE* nowhere() {
  static std::FILE* const file = std::fopen("/dev/null", "wb");
  return file;
}

FollowOptions small_tables() {
  FollowOptions options;
  options.max_sessions = 8;
  options.max_octets = 12'000;  // fewer, if they hold much
  return options;
}

TextOptions all_of_the_text() {
  TextOptions options;
  options.time = TimeStyle::since_previous;
  options.tree = options.ascii = options.number = true;
  options.hex = HexStyle::frame;
  return options;
}

CheckOptions check_options(bool json) {
  CheckOptions options;
  options.follow = small_tables();
  options.json = json;
  return options;
}

LadderOptions ladder_options(bool svg) {
  LadderOptions options;
  options.follow = small_tables();
  options.most_rows = 20;
  options.svg = svg;
  options.color = true;
  options.title = "<&\"";
  return options;
}

/// Text and JSON, and one of the reports that follow sessions: their tables take too long to be made for every input.
class Reports {
 public:
  explicit Reports(unsigned choice) : out_(nowhere()) {
    add<TextReport>(out_, all_of_the_text());
    add<JsonReport>(out_);
    const Sink count = [this](std::string_view text) { written_ += text.size(); };
    const bool json = (choice & 1U) != 0;
    if (choice >> 1U == 1) add<SessionsReport>(SessionsOptions{small_tables(), json}, count, count);
    if (choice >> 1U == 2) add<StatsReport>(StatsOptions{small_tables(), json}, count, count);
    if (choice >> 1U == 3) add<CheckReport>(check_options(json), count, count);
    if (choice >> 1U == 4) add<LadderReport>(ladder_options(false), count, count);
    if (choice >> 1U == 5) add<LadderReport>(ladder_options(true), count, count);
  }

  void on_packet(const Packet& packet) {
    for (const auto& report : reports_) report->on_packet(packet);
  }
  void finish() {
    for (const auto& report : reports_) report->finish();
  }

 private:
  template <typename Kind, typename... Arguments>
  void add(Arguments&&... arguments) {
    reports_.push_back(std::make_unique<Kind>(std::forward<Arguments>(arguments)...));
  }

  Out out_;
  std::size_t written_ = 0;
  std::vector<std::unique_ptr<Report>> reports_;
};

bool is_inside(Octets part, Octets whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void check_sighting(const Packet& packet) {
  const Sighting& sighting = packet.sighting;
  FUZZ_CHECK(packet.view.has_value());
  FUZZ_CHECK(is_inside(sighting.octets, packet.ip.first(packet.captured)));
  FUZZ_CHECK((sighting.claim == Claim::invalid) == (sighting.reason != Reason::none) || sighting.claim == Claim::not_asrp);
  if (sighting.claim == Claim::message) {
    FUZZ_CHECK(sighting.length == sighting.octets.size());
    FUZZ_CHECK(is_inside(sighting.message.session_data, sighting.octets));
  }
  std::string json;
  append_json(json, packet);
  FUZZ_CHECK(json.front() == '{' && json.back() == '}');
  FUZZ_CHECK(json.find('\n') == std::string::npos);
}

void check_packet(const Packet& packet, const Frame& frame) {
  FUZZ_CHECK(packet.captured <= packet.ip.size());
  FUZZ_CHECK(packet.as_captured.size() == packet.captured);
  FUZZ_CHECK(packet.ip.size() <= 65535 + 40);
  FUZZ_CHECK(packet.number == frame.number);
  for (const std::uint8_t octet : packet.ip.subspan(packet.captured)) FUZZ_CHECK(octet == 0);
  if (packet.sighting.present()) check_sighting(packet);
}

Frame next_frame(Reader& reader, const Frame& before) {
  const std::size_t size = reader.u16();
  Frame frame;
  const std::size_t beyond = reader.u8();
  const std::int64_t ticks = reader.u8();
  frame.number = before.number + 1;
  const std::int64_t now = before.stamp.total_nanoseconds() + ticks * ticks * ticks * 10'000;  // up to 166 s
  frame.stamp = Stamp{now / 1'000'000'000, static_cast<std::uint32_t>(now % 1'000'000'000), 9};
  frame.octets = reader.octets(size);
  frame.wire_size = frame.octets.size() + beyond;
  return frame;
}

}  // namespace

int one_input(Octets input) {
  Reader reader(input);
  DecoderOptions options;
  options.link_type = reader.u16();
  const std::uint8_t bits = reader.u8();
  options.tunnels = bits & 3U;
  options.every_packet = (bits & 4U) == 0;
  options.reassembly.datagrams = 4;
  options.reassembly.octets = 32768;
  options.reassembly.keep_frames = (bits & 8U) != 0;
  Decoder decoder(options);
  Reports reports(bits >> 4U);
  Frame frame;
  frame.stamp.seconds = 1'700'000'000;
  while (!reader.empty()) {
    frame = next_frame(reader, frame);
    for (const Packet* packet = decoder.decode(frame); packet != nullptr; packet = decoder.another()) {
      check_packet(*packet, frame);
      reports.on_packet(*packet);
    }
  }
  decoder.finish();
  reports.finish();
  FUZZ_CHECK(decoder.counts().frames == frame.number);
  return 0;
}

}  // namespace asrp::fuzz
