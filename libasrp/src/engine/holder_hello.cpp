// SPDX-License-Identifier: BSD-3-Clause
// HS behind or inside packets of sessions in which this host is the client, until they have a backup (draft 3.5.4, 4.3.9;
// decisions 16, 23 and 24).
#include <algorithm>

#include "asrp/packet/options.hpp"
#include "asrp/packet/surgery.hpp"
#include "asrp/wire/encode.hpp"
#include "engine/holder_impl.hpp"
#include "engine/message_detail.hpp"

namespace asrp::engine {
namespace {

constexpr unsigned kTries = 3;  // of a session, where no gateway has answered yet
constexpr Duration kSweepInterval = std::chrono::seconds(10);
constexpr std::uint8_t kFastOpen = 34;  // RFC 7413
constexpr std::uint16_t kFastOpenExId = 0xF989;
constexpr std::uint8_t kClosing = packet::kTcpFin | packet::kTcpRst;

/// With a valid cookie the copy's octets would be data for the server's application, if the copy came first.
bool has_fast_open(const packet::PacketView& syn) {
  const Octets area = syn.tcp_options();
  packet::TcpOptionWalk walk(area);
  for (auto step = walk.next(); step != packet::Step::end; step = walk.next()) {
    if (step != packet::Step::option) return true;  // malformed: nobody knows what a server makes of it
    const packet::Option& option = walk.option();
    if (option.kind == kFastOpen) return true;
    const bool is_experimental = (option.kind == 253 || option.kind == 254) && option.size >= 4;
    if (is_experimental && load_u16(area, option.data_offset) == kFastOpenExId) return true;
  }
  return false;
}

bool is_unicast(const IpAddress& address) {
  const Octets octets = address.octets();
  if (address.is_unspecified()) return false;
  if (!address.is_v4()) return octets[0] != 0xFF;
  return octets[0] < 224 && octets[0] != 127 && octets[0] != 0;
}

}  // namespace

Book* HolderEngine::Impl::act() { return options.act.enabled && books.size() > 1 ? &books.back() : nullptr; }

/// Whether an outgoing packet is one of a session in which this host is the client. What a backup says of its session counts
/// more than what a packet looks like.
bool HolderEngine::Impl::is_client_packet(const packet::PacketView& view) {
  if (act() == nullptr) return false;
  const bool is_syn_ack =
      view.is_tcp() && (view.tcp_flags() & packet::kTcpSyn) != 0 && (view.tcp_flags() & packet::kTcpAck) != 0;
  if (is_syn_ack) return false;
  const Tuple& tuple = view.tuple();
  const auto is_served = [&](const LocalService& s) { return s.protocol == tuple.protocol && s.port == tuple.src.port; };
  if (view.is_udp() && std::any_of(options.services.begin(), options.services.end(), is_served)) return false;
  if (view.is_tcp_syn()) return true;
  const std::uint32_t slot = psv().table.find(tuple);
  const auto backup = slot == session::kNoSlot ? std::nullopt : psv().table.read(slot);
  return !backup || backup->tuples.server_side.reversed() != tuple;
}

bool HolderEngine::Impl::is_greeted(const Tuple& flow) const {
  if (!is_unicast(flow.dst.address) || !is_local(flow.src.address) || is_local(flow.dst.address)) return false;
  if (flow.protocol == Protocol::udp && (flow.dst.port == options.port || flow.src.port == options.port)) return false;
  const auto skips = [&](const GreetingSkip& skip) {
    return skip.protocol == flow.protocol && (skip.port == flow.dst.port || skip.port == flow.src.port);
  };
  if (std::any_of(options.act.skip.begin(), options.act.skip.end(), skips)) return false;
  const auto& to = options.act.destinations;
  return to.empty() || std::any_of(to.begin(), to.end(), [&](const Prefix& p) { return p.contains(flow.dst.address); });
}

/// True if the session has a backup. A SYN begins another session than an earlier one on the same port. One that is repeated
/// may take another gateway than the first, which then makes a session of its own: by its outside port the server answers, and
/// of the first nobody may be left. So it asks again, and the later answer counts while the session opens.
bool HolderEngine::Impl::is_backed(TimePoint now, const packet::PacketView& view) {
  const Tuple& flow = view.tuple();
  Book& book = *act();
  const std::uint32_t slot = book.table.find(flow);
  const auto backup = slot == session::kNoSlot ? std::nullopt : book.table.read(slot);
  const bool has_backup = backup && backup->tuples.client_side == flow;
  if (!view.is_tcp_syn()) return has_backup;
  const Hello* hello = hellos.find(flow);
  const bool is_other = hello != nullptr && hello->sequence != view.tcp_sequence();
  if (is_other) forget_hello(*hello);
  if (!has_backup) return false;
  if (!is_other && !has_predecessor(book, slot)) return hello != nullptr && now - hello->sent < HelloTable::kInterval;
  release(now, book, slot, HolderCounter::released_replaced, "the port is used again");
  return false;
}

void HolderEngine::Impl::forget_hello(const Hello& hello) {
  if (hello.is_waiting) evidence.abandoned(hello.route);
  hellos.remove(Tuple(hello.flow));
}

// `kMarkDone` takes the flow off the queue; a SYN comes here in any case. Where no gateway has answered yet that is so from the
// first packet on: nothing of a session passes through the queue there but what begins it.
void HolderEngine::Impl::greet(TimePoint now, const HolderInput& input) {
  const packet::PacketView& view = *input.view;
  const auto finish = [&] { outbox.accept(input.id, kMarkDone); };
  if (!is_greeted(view.tuple()) || is_backed(now, view)) return finish();
  if (view.is_tcp() && (view.tcp_flags() & kClosing) != 0) {
    if (Hello* hello = hellos.find(view.tuple())) hello->again.clear();
    return finish();
  }
  const std::uint32_t route = paths.route_of(view.tuple().src.address, view.tuple().dst.address);
  if (route == 0) return finish();
  const bool is_proven = evidence.state(route) == RouteEvidence::State::proven;
  if (view.is_tcp() && !view.is_tcp_syn() && !is_proven) return finish();
  const std::uint32_t mark = is_proven ? 0 : kMarkDone;
  if (view.is_tcp_syn() && (view.payload_size() != 0 || has_fast_open(view))) {
    count(HolderCounter::hello_fast_open);
    return outbox.accept(input.id, mark);
  }
  Hello* hello = hellos.find(view.tuple());
  if (hello != nullptr && hello->tries >= (is_proven ? kTriesProven : kTries)) {
    count(HolderCounter::hello_given_up);
    return finish();
  }
  if (hello != nullptr && is_proven) keep_for_again(input, *hello);
  if (hello != nullptr && now - hello->sent < HelloTable::kInterval) return outbox.accept(input.id, mark);
  if (!evidence.may_begin(route, now)) {
    count(HolderCounter::hello_absent);
    return finish();
  }
  if (!hello_rate.take(now)) {  // spec: 3.5.4-1
    count(HolderCounter::hello_rate);
    return outbox.accept(input.id, mark);
  }
  if (hello == nullptr) {
    const std::uint32_t sequence = view.is_tcp_syn() ? view.tcp_sequence() : 0;
    hello = hellos.add(view.tuple(), Cookie{randomness.u32()}, sequence);
  }
  if (hello == nullptr) {
    count(HolderCounter::hello_no_room);
    return outbox.accept(input.id, mark);
  }
  send_hello(now, input, *hello, is_proven);
  if (is_proven) keep_for_again(input, *hello);
  note_hello(*hello, route, now);
}

/// An HS that could not be sent counts as a try: its session's next packets may be like this one.
void HolderEngine::Impl::note_hello(Hello& hello, std::uint32_t route, TimePoint now) {
  if (hello.is_waiting && evidence.unanswered(hello.route)) count(HolderCounter::routes_absent);
  hellos.sent(hello, route, now);
  evidence.sent(route, now);
}

/// The verdict, and the HS in the packet or behind it. Into a SYN's data nothing is put, and where no gateway has answered yet
/// no datagram is sent that holds nothing else.
void HolderEngine::Impl::send_hello(TimePoint now, const HolderInput& input, const Hello& hello, bool is_proven) {
  const packet::PacketView& view = *input.view;
  const std::uint32_t mark = is_proven ? 0 : kMarkDone;
  message_octets.clear();
  wire::encode(wire::hello_session(view.protocol(), hello.cookie), message_octets);
  const std::size_t mtu = paths.mtu_towards(view.tuple().dst.address);
  const std::size_t start = outbox.mark_start();
  const bool may_inline = !view.is_tcp_syn();
  const bool may_separate = view.is_tcp() || is_proven;
  const bool is_inline =
      may_inline &&
      packet::insert_inline(view, options.marker, message_octets, mtu, outbox.octets()).has_value();  // spec: 3.4.1-1
  if (is_inline) {
    outbox.replace(input.id, start, mark);
    count(HolderCounter::hello_inline);
  } else if (may_separate && packet::make_separate(view, options.marker, message_octets, mtu, outbox.octets())) {
    outbox.accept(input.id, mark);
    outbox.send(OutputKind::send_after, start);
    count(HolderCounter::hello_separate);
  } else {
    count(HolderCounter::hello_impossible);
    return outbox.accept(input.id, mark);
  }
  count(HolderCounter::sent_hs);
  const auto inlined = view.is_tcp() ? packet::Carriage::inline_tcp : packet::Carriage::inline_udp;
  const auto separate = view.is_tcp() ? packet::Carriage::separate_tcp : packet::Carriage::separate_udp;
  events.on_event({.at = now,
                   .kind = EventKind::message_sent,
                   .flow = view.tuple(),
                   .peer = view.tuple().dst.address,
                   .detail = message_detail(wire::MsgType::HS, is_inline ? inlined : separate)});
}

/// True for an NS that answers an HS of ours (decisions 20 and 24). It proves that a gateway is on the way.
bool HolderEngine::Impl::answers_hello(TimePoint now, const HolderInput& input) {
  const wire::Message& ns = input.message;
  if (act() == nullptr || !is_local(ns.st1.src.address)) return false;
  if (input.has_packet ? ns.st1.reversed() != input.view->tuple() : !input.is_from_gateway) return false;
  Hello* hello = hellos.find(ns.st1);
  if (hello == nullptr || hello->tries == 0 || hello->cookie != ns.cookie) return false;
  count(HolderCounter::hello_answered);
  if (evidence.answered(hello->route, hello->is_waiting)) {
    count(HolderCounter::routes_proven);
    sweep_due = last_sweep ? std::max(now, *last_sweep + kSweepInterval) : now;
  }
  hello->is_waiting = false;
  return true;
}

// Sessions that began while nobody knew of the gateway have left the queue without a backup.
bool HolderEngine::Impl::take_sweep(TimePoint now) {
  if (!sweep_due || now < *sweep_due) return false;
  sweep_due.reset();
  last_sweep = now;
  return true;
}

bool HolderEngine::Impl::may_ask(const Tuple& flow) {
  if (act() == nullptr || !is_greeted(flow)) return false;
  const Hello* hello = hellos.find(flow);
  if (hello != nullptr && hello->tries >= kTriesProven) return false;
  const std::uint32_t slot = act()->table.find(flow);
  const auto backup = slot == session::kNoSlot ? std::nullopt : act()->table.read(slot);
  return !backup || backup->tuples.client_side != flow;
}

/// The session has its backup: no more HS.
void HolderEngine::Impl::settle_hello(TimePoint now, const Tuple& flow) {
  if (Hello* hello = hellos.find(flow)) hellos.settled(*hello, now);
}

void HolderEngine::Impl::watch_hellos(TimePoint now) {
  unanswered_routes.clear();
  repeatable.clear();
  hellos.take_due(now, unanswered_routes, repeatable);
  for (const std::uint32_t route : unanswered_routes) {
    count(HolderCounter::hello_unanswered);
    if (evidence.unanswered(route)) count(HolderCounter::routes_absent);
  }
  if (!repeatable.empty()) ask_again(now);
}

}  // namespace asrp::engine
