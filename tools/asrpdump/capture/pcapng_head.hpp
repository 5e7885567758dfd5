// SPDX-License-Identifier: BSD-3-Clause
// The resolution of a capture's stamps, from the first octets of the file. libpcap converts stamps to what it is asked for, but
// doesn't say what they were.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asrp/base/bytes.hpp"

namespace asrp::dump {

struct HeadResult {
  std::uint8_t decimals = 0;  // 6 or 9 once it is known
  std::size_t wanted = 0;     // octets of the file needed to go on; 0: nothing more to find
};

/// `head`: the file from its begin. pcap: the magic number tells. pcapng: option if_tsresol of the first interface.
HeadResult read_capture_head(Octets head);

}  // namespace asrp::dump
