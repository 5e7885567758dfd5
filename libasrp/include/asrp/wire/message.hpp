// SPDX-License-Identifier: BSD-3-Clause
// An ASRP message as a value (draft 4.1). Which fields count depends on the type; see layout.hpp.
#pragma once

#include <cstdint>

#include "asrp/base/address.hpp"
#include "asrp/base/bytes.hpp"
#include "asrp/base/cookie.hpp"
#include "asrp/base/tuple.hpp"
#include "asrp/wire/types.hpp"

namespace asrp::wire {

struct Message {
  MsgType type = MsgType::QS;
  std::uint8_t flags = 0;  // assigned bits only; F-LIP6 is derived from `node_local_ip` when encoding
  Protocol protocol = Protocol::tcp;
  Cookie cookie;
  Tuple st1;                // NS NA NC RS PS: client-side tuple. QS RX: the tuple of the triggering packet. HS: unused
  Tuple st2;                // NS NA NC RS PS: server-side tuple
  Octets session_data;      // a view: of the decoded octets, or of what the encoder shall copy
  IpAddress node_local_ip;  // NS only

  [[nodiscard]] TuplePair tuples() const { return {st1, st2}; }
  [[nodiscard]] bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
};

/// NS: a new session's state, to be stored by the backup holder (4.1.3, 4.3.3).
Message new_session(const TuplePair& tuples, Cookie cookie, const IpAddress& node_local_ip, bool ack_requested);
/// QS: who has the session of this packet? (4.1.4, 4.3.6)
Message query_session(const Tuple& triggering, Cookie cookie);
/// RX: answer to `query` when nothing was found; repeats its tuple, cookie and Session-Data (4.3.8).
Message recovery_no_session(const Message& query);
/// HS: a client asks for an NS (4.1.5).
Message hello_session(Protocol protocol, Cookie cookie);
/// NA, NC, RS or PS with the given pair (4.1.6). `flags`: F-CC for NC.
Message with_tuples(MsgType type, const TuplePair& tuples, Cookie cookie, Octets session_data, std::uint8_t flags = 0);

}  // namespace asrp::wire
