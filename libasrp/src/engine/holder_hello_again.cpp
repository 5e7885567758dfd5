// SPDX-License-Identifier: BSD-3-Clause
// An HS or its answer that was lost on the way is missed by a session's next packet, a second later. A session may have none
// for hours: a shell that nobody types in, a control connection. On a proven route its last packet is sent again then, as a
// separate one with the HS, which the gateway takes out of the way (decision 23).
#include "asrp/packet/surgery.hpp"
#include "asrp/wire/encode.hpp"
#include "engine/holder_impl.hpp"
#include "engine/message_detail.hpp"

namespace asrp::engine {

/// Not a SYN: on its own it would begin a connection.
void HolderEngine::Impl::keep_for_again(const HolderInput& input, Hello& hello) {
  const packet::PacketView& view = *input.view;
  if (view.is_tcp_syn()) return;
  message_octets.clear();
  wire::encode(wire::hello_session(view.protocol(), hello.cookie), message_octets);
  hello.again.clear();
  if (!packet::make_separate(view, options.marker, message_octets, paths.mtu_towards(view.tuple().dst.address), hello.again))
    hello.again.clear();
}

/// Sessions that have ended meanwhile are asked for no more: a gateway could take the packet for the first of another one.
void HolderEngine::Impl::ask_again(TimePoint now) {
  std::vector<Tuple> inbound;
  inbound.reserve(repeatable.size());
  for (const Tuple& flow : repeatable) inbound.push_back(flow.reversed());
  std::vector<LocalState> states(inbound.size(), LocalState::none);
  sessions.look_up(inbound, states);
  count(HolderCounter::sessions_looked_up, inbound.size());
  for (std::size_t i = 0; i < repeatable.size(); ++i) {
    Hello* hello = hellos.find(repeatable[i]);
    if (hello == nullptr || states[i] != LocalState::live || hello->tries >= kTriesProven) continue;
    const std::uint32_t route = paths.route_of(hello->flow.src.address, hello->flow.dst.address);
    if (route != hello->route || evidence.state(route) != RouteEvidence::State::proven || !hello_rate.take(now)) continue;
    const std::size_t start = outbox.mark_start();
    outbox.octets().insert(outbox.octets().end(), hello->again.begin(), hello->again.end());
    outbox.send(OutputKind::send_after, start);
    count(HolderCounter::hello_separate);
    count(HolderCounter::sent_hs);
    const auto carriage =
        hello->flow.protocol == Protocol::tcp ? packet::Carriage::separate_tcp : packet::Carriage::separate_udp;
    events.on_event({.at = now,
                     .kind = EventKind::message_sent,
                     .flow = hello->flow,
                     .peer = hello->flow.dst.address,
                     .detail = message_detail(wire::MsgType::HS, carriage)});
    note_hello(*hello, route, now);
  }
}

}  // namespace asrp::engine
