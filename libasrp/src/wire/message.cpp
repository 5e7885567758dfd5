// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/wire/message.hpp"

namespace asrp::wire {

Message new_session(const TuplePair& tuples, Cookie cookie, const IpAddress& node_local_ip, bool ack_requested) {
  Message message = with_tuples(MsgType::NS, tuples, cookie, {}, ack_requested ? kFlagNa : std::uint8_t{0});
  message.node_local_ip = node_local_ip;
  return message;
}

Message query_session(const Tuple& triggering, Cookie cookie) {
  Message message;
  message.type = MsgType::QS;
  message.protocol = triggering.protocol;
  message.cookie = cookie;
  message.st1 = triggering;
  return message;
}

Message recovery_no_session(const Message& query) {
  Message message = query_session(query.st1, query.cookie);
  message.type = MsgType::RX;
  message.protocol = query.protocol;
  message.session_data = query.session_data;  // spec: 4.1-4
  return message;
}

Message hello_session(Protocol protocol, Cookie cookie) {
  Message message;
  message.type = MsgType::HS;
  message.protocol = protocol;
  message.cookie = cookie;
  return message;
}

Message with_tuples(MsgType type, const TuplePair& tuples, Cookie cookie, Octets session_data, std::uint8_t flags) {
  Message message;
  message.type = type;
  message.flags = flags;
  message.protocol = tuples.client_side.protocol;
  message.cookie = cookie;
  message.st1 = tuples.client_side;
  message.st2 = tuples.server_side;
  message.session_data = session_data;
  return message;
}

}  // namespace asrp::wire
