// SPDX-License-Identifier: BSD-3-Clause
#include "summary.hpp"

#include "report/format.hpp"

namespace asrp::dump {
namespace {

void add(std::string& line, std::uint64_t number, const char* what) {
  if (number != 0) line += ", " + std::to_string(number) + " " + what;
}

/// Takes away the separator in front of the first part, and ends the line; nothing if there is no part.
std::string line_of(const std::string& title, const std::string& parts) {
  return parts.empty() ? std::string() : title + parts.substr(2) + "\n";
}

}  // namespace

std::string summary(const SightingCounts& sightings, const DecoderCounts& decoder, const ReassemblyCounts& reassembly,
                    bool detailed) {
  std::string text = counted(decoder.frames, "packet") + " read, ";
  text += counted(sightings.of(Claim::message), "message");
  add(text, sightings.of(Claim::invalid), "invalid");
  add(text, sightings.of(Claim::cut), "cut off by the capture");
  add(text, sightings.of(Claim::not_asrp), "to the port but not ASRP");
  add(text, decoder.unknown + decoder.damaged + decoder.cut, "not decoded");
  text += "\n";
  if (!detailed) return text;

  std::string reasons;
  for (auto number = static_cast<std::uint8_t>(Reason::version); number <= static_cast<std::uint8_t>(Reason::option);
       ++number) {
    const auto reason = static_cast<Reason>(number);
    if (sightings.of(reason) != 0)
      reasons += ", " + std::to_string(sightings.of(reason)) + " " + std::string(to_string(reason));
  }
  std::string undecoded;
  add(undecoded, decoder.unknown, "of a link type or encapsulation that is not known");
  add(undecoded, decoder.damaged, "damaged");
  add(undecoded, decoder.cut, "cut off by the capture");
  std::string fragments;
  add(fragments, reassembly.whole, "datagrams put together");
  add(fragments, reassembly.overlaps, "discarded because fragments overlap");
  add(fragments, reassembly.expired, "incomplete");
  add(fragments, reassembly.displaced, "given up for want of room");
  add(fragments, reassembly.bad, "fragments of no use");
  text += line_of("invalid: ", reasons) + line_of("not decoded: ", undecoded) + line_of("fragments: ", fragments);
  if (decoder.not_ip != 0) text += counted(decoder.not_ip, "packet") + (decoder.not_ip == 1 ? " is no IP\n" : " are no IP\n");
  return text;
}

std::string live_summary(const LiveCounts& counts) {
  std::string text = counted(counts.received, "packet") + " received by filter\n";
  text += counted(counts.dropped, "packet") + " dropped by kernel\n";
  if (counts.dropped_by_interface != 0) text += counted(counts.dropped_by_interface, "packet") + " dropped by interface\n";
  return text;
}

}  // namespace asrp::dump
