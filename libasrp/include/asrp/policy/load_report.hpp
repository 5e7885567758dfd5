// SPDX-License-Identifier: BSD-3-Clause
// How busy a server says it is: a datagram from holder to node, no message of the protocol (decision 29). 40 octets:
//
//    0  version, 1        4  load, 0 to 0xffffffff    16  counter
//    1  three zeros       8  time, ms since 1970      24  MAC, 16 octets
//
// The MAC is BLAKE2b under a key of its own, over what is before it and the sender's address: a report of one server is none of
// another's. Time and counter rise from report to report; ReportWindow refuses what doesn't.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>

#include "asrp/base/address.hpp"
#include "asrp/base/bytes.hpp"
#include "asrp/base/result.hpp"
#include "asrp/base/siphash.hpp"

namespace asrp::policy {

inline constexpr std::size_t kLoadReportSize = 40;
inline constexpr std::uint8_t kLoadReportVersion = 1;

struct LoadReport {
  std::uint32_t load = 0;     // of 0xffffffff
  std::uint64_t time_ms = 0;  // the sender's clock, since 1970
  std::uint64_t counter = 0;  // of the sender's reports
  friend bool operator==(const LoadReport&, const LoadReport&) = default;
};

/// Why octets are no report, in the order of the checks.
enum class ReportError : std::uint8_t {
  size,     // not 40 octets
  version,  // another version, or something in the zeros
  mac,      // under none of the keys, or of another sender
};
std::string_view to_string(ReportError error);

std::array<std::uint8_t, kLoadReportSize> encode_load_report(const LoadReport& report, const HashKey& key,
                                                             const IpAddress& sender);
/// `keys`: several while they are changed; any of them will do.
Result<LoadReport, ReportError> decode_load_report(Octets octets, std::span<const HashKey> keys, const IpAddress& sender);

/// Part of the whole as a load: 0 and less is not busy at all, 1 and more fully; what is no number counts as fully.
std::uint32_t scaled_load(double part);

/// Keeps reports from being played again: per sender, (time, counter) must rise, and the time be near the node's own.
class ReportWindow {
 public:
  static constexpr std::uint64_t kSkewMs = 10'000;  // clocks may differ so much

  enum class Verdict : std::uint8_t {
    fresh,
    time,      // the sender's clock and ours differ by more than that
    repeated,  // not newer than the last one
  };
  Verdict ask(const IpAddress& sender, const LoadReport& report, std::uint64_t now_ms);
  /// Forgets all senders but these: a window has at most one entry for each server that is configured.
  template <typename Keep>
  void keep_only(Keep keep) {
    std::erase_if(last_, [&](const auto& each) { return !keep(each.first); });
  }
  [[nodiscard]] std::size_t size() const { return last_.size(); }

 private:
  struct Last {
    std::uint64_t time_ms, counter;
    friend auto operator<=>(const Last&, const Last&) = default;
  };
  std::map<IpAddress, Last> last_;
};

}  // namespace asrp::policy
