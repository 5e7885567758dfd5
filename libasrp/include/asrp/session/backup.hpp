// SPDX-License-Identifier: BSD-3-Clause
// The copy of a session that a holder keeps (draft 3.6, 4.3.3), and its form in the store.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "asrp/base/address.hpp"
#include "asrp/base/bytes.hpp"
#include "asrp/base/cookie.hpp"
#include "asrp/base/limits.hpp"
#include "asrp/base/tuple.hpp"

namespace asrp::session {

struct Backup {
  TuplePair tuples;
  Cookie cookie;  // of the NS; echoed in every PS
  IpAddress node_local_ip;
  std::uint8_t data_size = 0;
  std::array<std::uint8_t, kMaxSessionData> data{};

  [[nodiscard]] Octets session_data() const { return Octets(data).first(data_size); }
  friend bool operator==(const Backup&, const Backup&) = default;
};

/// Appends the stored form: compact, versioned, the same on every machine (about 33 octets for IPv4, 81 for IPv6).
void encode_backup(const Backup& backup, Buffer& out);
/// Nothing if the octets are not a whole record of a known version.
std::optional<Backup> decode_backup(Octets record);

}  // namespace asrp::session
