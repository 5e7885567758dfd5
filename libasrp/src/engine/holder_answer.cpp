// SPDX-License-Identifier: BSD-3-Clause
// QS: RS and RX (draft 4.3.6 to 4.3.8); and how answers are sent.
#include <algorithm>

#include "asrp/packet/build.hpp"
#include "asrp/wire/encode.hpp"
#include "engine/holder_impl.hpp"
#include "engine/message_detail.hpp"

namespace asrp::engine {
namespace {

constexpr std::size_t kMaxAnswer = 65'000 - 1;  // what packet::build_datagram() takes

HolderCounter sent_counter(wire::MsgType type) {
  switch (type) {
    case wire::MsgType::NA:
      return HolderCounter::sent_na;
    case wire::MsgType::NC:
      return HolderCounter::sent_nc;
    case wire::MsgType::RS:
      return HolderCounter::sent_rs;
    default:
      return HolderCounter::sent_rx;
  }
}

}  // namespace

// spec: 4.3.6-5, 4.3.6-6, 4.3.6-7, 4.3.6-8
void HolderEngine::Impl::answer_query(TimePoint now, const HolderInput& input) {
  const wire::Message& query = input.message;
  // spec: 4.3.7-1. The QS packet's header with only the addresses swapped: the ports stay where they are.
  const Endpoint from{input.to.address, input.from.port};
  const Endpoint to{input.from.address, input.to.port};
  for (Book& book : books) {
    const bool is_asked = book.role == Role::psv ? input.is_from_node : input.is_from_gateway;
    if (is_asked && answer_from(now, book, input, from, to)) return;
  }
  send_standalone(now, wire::recovery_no_session(query), from, to);
}

/// False if this book does not have the session.
bool HolderEngine::Impl::answer_from(TimePoint now, Book& book, const HolderInput& input, const Endpoint& from,
                                     const Endpoint& to) {
  const std::uint32_t slot = book.table.find(input.message.st1);
  if (slot == session::kNoSlot) return false;
  const auto backup = book.table.read(slot);
  if (!backup) return false;
  const auto rs = wire::with_tuples(wire::MsgType::RS, backup->tuples, input.message.cookie, backup->session_data());
  send_standalone(now, rs, from, to);
  return true;
}

/// NA or NC: to the Node-Local-IP, from the address that the session is with.
void HolderEngine::Impl::send_answer(TimePoint now, const HolderInput& input) {
  const IpAddress& node = input.message.node_local_ip;
  IpAddress own = input.book->inbound(input.message.tuples()).dst.address;
  if (own.family() != node.family()) {
    const auto same_family = [&](const IpAddress& a) { return a.family() == node.family(); };
    const auto found = std::find_if(local_ips.begin(), local_ips.end(), same_family);
    if (found != local_ips.end()) own = *found;
  }
  if (own.family() != node.family() || node.is_unspecified() || is_local(node)) {
    count(HolderCounter::unanswered_address);
    return;
  }
  send_standalone(now, *input.answer, {own, options.port}, {node, options.port});  // spec: 4.3.4-1, 4.3.4-2, 4.3.5-1, 4.3.5-2
}

bool HolderEngine::Impl::send_standalone(TimePoint now, const wire::Message& message, const Endpoint& from,
                                         const Endpoint& to) {
  if (wire::encoded_size(message) > kMaxAnswer) {
    count(HolderCounter::unanswered_size);
    return false;
  }
  message_octets.clear();
  wire::encode(message, message_octets);
  const std::size_t start = outbox.mark_start();
  packet::build_datagram(from, to, message_octets, outbox.octets());
  outbox.send(OutputKind::send_own, start);
  count(sent_counter(message.type));
  events.on_event({.at = now,
                   .kind = EventKind::message_sent,
                   .flow = message.st1,
                   .session = message.tuples(),
                   .peer = to.address,
                   .detail = message_detail(message.type, packet::Carriage::standalone)});
  return true;
}

}  // namespace asrp::engine
