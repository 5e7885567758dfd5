// SPDX-License-Identifier: BSD-3-Clause
// What is said on standard error when the reading is over.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "capture/source.hpp"
#include "decode/decoder.hpp"
#include "packet.hpp"

namespace asrp::dump {

class SightingCounts {
 public:
  void add(const Sighting& sighting) {
    ++claims_[static_cast<std::size_t>(sighting.claim)];
    if (sighting.claim == Claim::invalid) ++reasons_[static_cast<std::size_t>(sighting.reason)];
    ++sightings_;
  }
  [[nodiscard]] std::uint64_t of(Claim claim) const { return claims_[static_cast<std::size_t>(claim)]; }
  /// Of Claim::invalid.
  [[nodiscard]] std::uint64_t of(Reason reason) const { return reasons_[static_cast<std::size_t>(reason)]; }
  /// All but datagrams at the port that are no ASRP.
  [[nodiscard]] std::uint64_t messages() const { return sightings_ - of(Claim::not_asrp); }

 private:
  std::array<std::uint64_t, 5> claims_{};
  std::array<std::uint64_t, 8> reasons_{};
  std::uint64_t sightings_ = 0;
};

/// "1200 packets read, 80 messages, 2 invalid ...", lines ended. Zeros are left out. `detailed`: by reason.
std::string summary(const SightingCounts& sightings, const DecoderCounts& decoder, const ReassemblyCounts& reassembly,
                    bool detailed);

/// The kernel's side of a live capture, one line for each count as tcpdump has it.
std::string live_summary(const LiveCounts& counts);

}  // namespace asrp::dump
