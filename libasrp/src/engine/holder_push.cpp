// SPDX-License-Identifier: BSD-3-Clause
// PS into the first response (draft 3.5.1, 4.3.10; decisions 16 and 22).
#include "asrp/packet/surgery.hpp"
#include "asrp/wire/encode.hpp"
#include "engine/holder_impl.hpp"
#include "engine/message_detail.hpp"

namespace asrp::engine {

bool HolderEngine::Impl::wants_push(const TuplePair& session) const {
  Push push = Push::automatic;
  for (const LocalService& service : options.services) {
    if (service.protocol == session.server_side.protocol && service.port == session.server_side.dst.port) push = service.push;
  }
  // Full NAT behind ECMP is asymmetric by construction.
  if (push == Push::automatic) return session.client_side.src != session.server_side.src;
  return push == Push::always;
}

/// A SYN/ACK answers a connection that begins. A backup whose session was seen to be further than that is of an earlier one
/// with the same tuple, and the new one came without NS (its node took this holder for gone): the backup would lead its packets
/// to the earlier client.
bool HolderEngine::Impl::has_predecessor(const Book& book, std::uint32_t slot) const {
  const session::Life state = book.life.life(slot);
  return state == session::Life::settled || state == session::Life::ending;
}

// A SYN/ACK gets its PS each time that it is repeated. All other packets say that the flow needs the queue no more: a datagram
// with the PS that it was to have.
void HolderEngine::Impl::push(TimePoint now, const HolderInput& input) {
  const packet::PacketView& view = *input.view;
  const bool is_syn_ack =
      view.is_tcp() && (view.tcp_flags() & (packet::kTcpSyn | packet::kTcpAck)) == (packet::kTcpSyn | packet::kTcpAck);
  if (view.is_tcp() && !is_syn_ack) return outbox.accept(input.id, kMarkDone);
  const std::uint32_t mark = view.is_udp() ? kMarkDone : 0;

  Book& book = psv();
  const std::uint32_t slot = book.table.find(view.tuple());
  const auto backup = slot == session::kNoSlot ? std::nullopt : book.table.read(slot);
  if (!backup || backup->tuples.server_side.reversed() != view.tuple()) {
    count(HolderCounter::push_no_backup);
    return outbox.accept(input.id, mark);
  }
  if (is_syn_ack && has_predecessor(book, slot)) {
    release(now, book, slot, HolderCounter::released_replaced, "connection without NS");
    return outbox.accept(input.id, mark);
  }
  if (!wants_push(backup->tuples)) {
    count(HolderCounter::push_unwanted);
    return outbox.accept(input.id, mark);
  }
  // spec: 4.1-5, 4.3.2-5 (the NS's cookie)
  const auto ps = wire::with_tuples(wire::MsgType::PS, backup->tuples, backup->cookie, backup->session_data());
  message_octets.clear();
  wire::encode(ps, message_octets);
  const std::size_t mtu = paths.mtu_towards(view.tuple().dst.address);
  const std::size_t start = outbox.mark_start();
  const bool is_inline =
      packet::insert_inline(view, options.marker, message_octets, mtu, outbox.octets()).has_value();  // spec: 3.4.1-1
  if (is_inline) {
    outbox.replace(input.id, start, mark);
    count(HolderCounter::push_inline);
  } else if (packet::make_separate(view, options.marker, message_octets, mtu, outbox.octets())) {
    outbox.send(OutputKind::send_own, start);  // in front of its packet
    outbox.accept(input.id, mark);
    count(HolderCounter::push_separate);
  } else {
    outbox.accept(input.id, mark);
    count(HolderCounter::push_impossible);
    return;
  }
  count(HolderCounter::sent_ps);
  const auto inlined = view.is_tcp() ? packet::Carriage::inline_tcp : packet::Carriage::inline_udp;
  const auto separate = view.is_tcp() ? packet::Carriage::separate_tcp : packet::Carriage::separate_udp;
  events.on_event({.at = now,
                   .kind = EventKind::message_sent,
                   .flow = view.tuple(),
                   .session = backup->tuples,
                   .peer = view.tuple().dst.address,
                   .detail = message_detail(wire::MsgType::PS, is_inline ? inlined : separate)});
}

}  // namespace asrp::engine
