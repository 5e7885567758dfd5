// SPDX-License-Identifier: GPL-2.0-or-later
// ctnetlink messages: written into a caller's buffer, and read. No socket here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "asrp/engine/flow_table.hpp"

namespace asrp::io {

/// The longest message that the writers here make.
constexpr std::size_t kLongestConntrackMessage = 512;

/// What of an entry is written beside its tuples.
struct EntryFields {
  std::uint32_t status = 0;   // IPS_*
  std::uint32_t timeout = 0;  // seconds
  std::uint32_t mark = 0;
  bool begun_by_reply = false;  // TCP: a SYN in the reply direction comes first
};

// Each writes one netlink message at `at` and returns its length, a multiple of 4. `at` is aligned to 4.

/// CT_NEW, exclusive: `tuples.client_side` as original, its plain inverse as reply, both translations given; TCP is
/// ESTABLISHED, or SYN_SENT where a SYN comes in the reply direction (both ends begin, to the kernel), and liberal both ways.
std::size_t write_create(std::uint8_t* at, std::uint32_t sequence, const TuplePair& tuples, const EntryFields& fields);
/// CT_GET of the entry that has `tuple` in either direction.
std::size_t write_get(std::uint8_t* at, std::uint32_t sequence, const Tuple& tuple);
std::size_t write_delete(std::uint8_t* at, std::uint32_t sequence, const Tuple& tuple);
/// Sets the bits `mask` of the mark to those of `mark`.
std::size_t write_mark(std::uint8_t* at, std::uint32_t sequence, const Tuple& tuple, std::uint32_t mark, std::uint32_t mask);
/// Dump of both families; entries whose mark is `mark` under `mask` (0: all).
std::size_t write_dump(std::uint8_t* at, std::uint32_t sequence, std::uint32_t mark, std::uint32_t mask);

struct Traffic {
  std::uint64_t packets = 0;
  std::uint64_t octets = 0;
};

struct ConntrackEntry {
  Tuple original;
  Tuple reply;
  std::uint32_t mark = 0;
  std::uint32_t status = 0;
  std::uint32_t timeout = 0;           // seconds left
  std::optional<Traffic> from_client;  // where the kernel counts (nf_conntrack_acct)
  std::optional<Traffic> from_server;
  std::uint8_t tcp_state = 0;
};
/// `payload`: what follows the netlink header of a CT_NEW or CT_DELETE. Nothing if the tuples are not there or not of TCP,
/// UDP or ICMP echo.
std::optional<ConntrackEntry> read_entry(Octets payload);

bool is_conntrack_entry(std::uint16_t message_type);
bool is_conntrack_end(std::uint16_t message_type);
/// TCP in LAST_ACK, TIME_WAIT or CLOSE.
bool is_closing(const ConntrackEntry& entry);
/// "ESTABLISHED"; for UDP "ASSURED", "REPLIED" or "UNREPLIED".
std::string_view state_name(const ConntrackEntry& entry);
/// Some address or port is changed by the entry.
bool is_translated(const ConntrackEntry& entry);

}  // namespace asrp::io
