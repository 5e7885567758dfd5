// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace asrp {

/// The 4-octet Cookie of draft 4.3.2: opaque, echoed verbatim.
struct Cookie {
  std::uint32_t value = 0;
  friend bool operator==(const Cookie&, const Cookie&) = default;
};

}  // namespace asrp
