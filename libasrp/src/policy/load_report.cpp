// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/load_report.hpp"

#include <sodium/crypto_generichash.h>
#include <sodium/utils.h>

#include <algorithm>

namespace asrp::policy {
namespace {

constexpr std::size_t kMacStart = 24;
constexpr std::size_t kMacSize = kLoadReportSize - kMacStart;
constexpr std::string_view kUse = "asrp load report";  // keys that are used for something else too make no valid MAC here
using Mac = std::array<std::uint8_t, kMacSize>;

static_assert(crypto_generichash_KEYBYTES_MIN <= sizeof(HashKey));
static_assert(crypto_generichash_BYTES_MIN <= kMacSize);

Mac mac_of(Octets head, const HashKey& key, const IpAddress& sender) {
  std::array<std::uint8_t, kUse.size() + kMacStart + 1 + 16> input{};
  auto at = std::copy(kUse.begin(), kUse.end(), input.begin());
  at = std::copy(head.begin(), head.end(), at);
  *at++ = static_cast<std::uint8_t>(sender.family());
  std::copy(sender.octets().begin(), sender.octets().end(), at);
  Mac mac{};
  crypto_generichash(mac.data(), mac.size(), input.data(), input.size(), key.data(), key.size());
  return mac;
}

void store_u64(MutableOctets out, std::size_t offset, std::uint64_t value) {
  store_u32(out, offset, static_cast<std::uint32_t>(value >> 32));
  store_u32(out, offset + 4, static_cast<std::uint32_t>(value));
}

std::uint64_t load_u64(Octets in, std::size_t offset) {
  return std::uint64_t{load_u32(in, offset)} << 32 | load_u32(in, offset + 4);
}

}  // namespace

std::string_view to_string(ReportError error) {
  switch (error) {
    case ReportError::size:
      return "size";
    case ReportError::version:
      return "version";
    case ReportError::mac:
      break;
  }
  return "mac";
}

std::array<std::uint8_t, kLoadReportSize> encode_load_report(const LoadReport& report, const HashKey& key,
                                                             const IpAddress& sender) {
  std::array<std::uint8_t, kLoadReportSize> out{};
  out[0] = kLoadReportVersion;
  store_u32(out, 4, report.load);
  store_u64(out, 8, report.time_ms);
  store_u64(out, 16, report.counter);
  const Mac mac = mac_of(Octets(out).first(kMacStart), key, sender);
  std::copy(mac.begin(), mac.end(), out.begin() + kMacStart);
  return out;
}

Result<LoadReport, ReportError> decode_load_report(Octets octets, std::span<const HashKey> keys, const IpAddress& sender) {
  if (octets.size() != kLoadReportSize) return Failure{ReportError::size};
  if (octets[0] != kLoadReportVersion || octets[1] != 0 || octets[2] != 0 || octets[3] != 0)
    return Failure{ReportError::version};
  const Octets head = octets.first(kMacStart);
  const bool good = std::any_of(keys.begin(), keys.end(), [&](const HashKey& key) {
    return sodium_memcmp(mac_of(head, key, sender).data(), octets.data() + kMacStart, kMacSize) == 0;
  });
  if (!good) return Failure{ReportError::mac};
  return LoadReport{load_u32(octets, 4), load_u64(octets, 8), load_u64(octets, 16)};
}

std::uint32_t scaled_load(double part) {
  constexpr double kFull = 0xffffffff;
  if (part <= 0) return 0;
  if (part < 1) return static_cast<std::uint32_t>(part * kFull);
  return 0xffffffff;
}

ReportWindow::Verdict ReportWindow::ask(const IpAddress& sender, const LoadReport& report, std::uint64_t now_ms) {
  const std::uint64_t apart = report.time_ms > now_ms ? report.time_ms - now_ms : now_ms - report.time_ms;
  if (apart > kSkewMs) return Verdict::time;
  const Last next{report.time_ms, report.counter};
  const auto [known, is_new] = last_.try_emplace(sender, next);
  if (is_new) return Verdict::fresh;
  if (next <= known->second) return Verdict::repeated;
  known->second = next;
  return Verdict::fresh;
}

}  // namespace asrp::policy
