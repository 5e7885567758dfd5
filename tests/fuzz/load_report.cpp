// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/load_report.hpp"

#include <algorithm>
#include <array>

#include "fuzz/support/fuzz_target.hpp"

namespace asrp::fuzz {

/// No input has a valid MAC but what we encode ourselves. So each is decoded as it is, and with the MAC made right: then what
/// it says encodes to the same octets, and the window never takes it twice.
int one_input(Octets input) {
  const HashKey key{1, 2, 3};
  const IpAddress sender = IpAddress::v4(0x0a000201);
  const auto as_it_is = policy::decode_load_report(input, std::span(&key, 1), sender);
  if (input.size() != policy::kLoadReportSize) {
    FUZZ_CHECK(!as_it_is && as_it_is.error() == policy::ReportError::size);
    return 0;
  }
  const policy::LoadReport said{load_u32(input, 4), std::uint64_t{load_u32(input, 8)} << 32 | load_u32(input, 12),
                                std::uint64_t{load_u32(input, 16)} << 32 | load_u32(input, 20)};
  const auto octets = policy::encode_load_report(said, key, sender);
  const auto decoded = policy::decode_load_report(octets, std::span(&key, 1), sender);
  FUZZ_CHECK(decoded.has_value());
  FUZZ_CHECK(*decoded == said);
  const bool same = std::equal(octets.begin(), octets.end(), input.begin(), input.end());
  FUZZ_CHECK(as_it_is.has_value() == same);
  policy::ReportWindow window;
  const std::uint64_t now = said.time_ms ^ load_u32(input, 36);
  const bool near = window.ask(sender, said, now) == policy::ReportWindow::Verdict::fresh;
  FUZZ_CHECK(window.size() == (near ? 1 : 0));
  FUZZ_CHECK(window.ask(sender, said, now) != policy::ReportWindow::Verdict::fresh);
  return 0;
}

}  // namespace asrp::fuzz
