// SPDX-License-Identifier: BSD-3-Clause
#include "sim/clients.hpp"

#include <utility>

#include "asrp/packet/build.hpp"

namespace asrp::sim {
namespace {

constexpr Duration kUdpRepeat = std::chrono::milliseconds(300);
constexpr Duration kReuse = std::chrono::seconds(1);
constexpr std::size_t kHead = ResponseHead::kSize;

}  // namespace

/// A node may hold a copy of a SYN for a second while the client's next one opens the connection; if that has ended when the
/// copy goes on, the server answers what is none any more. As with any delayed SYN, the client's reset ends it.
bool Clients::is_late_answer(const packet::PacketView& view, const MiniTcp& tcp) {
  constexpr std::uint8_t kSynAck = packet::kTcpSyn | packet::kTcpAck;
  return tcp.is_over() && (view.tcp_flags() & kSynAck) == kSynAck && view.tcp_acknowledgment() == tcp.isn() + 1 &&
         view.tcp_sequence() != tcp.peer_isn();
}

Clients::Running* Clients::running_of(std::uint32_t id) {
  const auto found = running_.find(truth_.sessions[id].client_side);
  return found == running_.end() || found->second.id != id ? nullptr : &found->second;
}

void Clients::begin(std::uint32_t id) {
  Session& session = truth_.sessions[id];
  truth_.running.insert_or_assign(session.client_side, id);
  Running& running = running_.insert_or_assign(session.client_side, Running{.id = id}).first->second;
  if (session.client_side.protocol == Protocol::udp) return ask(id);
  const auto isn = static_cast<std::uint32_t>(random_.next());
  running.tcp = MiniTcp::connect(isn);
  truth_.client_isns[isn] = id;
  std::vector<Segment> out;
  running.tcp->push(agenda_.now(), out);
  step(running, std::move(out));
  ask(id);
}

void Clients::abandon(std::uint32_t id) {
  Running* running = running_of(id);
  if (running == nullptr) return;
  Session& session = truth_.sessions[id];
  const auto give_up = [&](Session& which) { done_ += std::exchange(which.is_abandoned, true) ? 0 : 1; };
  if (session.successor) give_up(truth_.sessions[*session.successor]);  // begins never
  if (!session.is_done && !session.was_reset) give_up(session);
  running->is_abandoned = true;
  if (running->tcp && !std::exchange(running->has_ended, true)) on_end(session);
}

const MiniTcp* Clients::tcp_at(const Tuple& client_side) const {
  const auto found = running_.find(client_side);
  const bool is_there = found != running_.end() && found->second.tcp && !found->second.is_abandoned;
  return is_there ? &*found->second.tcp : nullptr;
}

Buffer Clients::request(const Session& session, const Running& running) const {
  Buffer octets;
  ByteWriter writer(octets);
  writer.u32(session.id);
  writer.u32(running.round);
  writer.u32(static_cast<std::uint32_t>(session.response_size));
  writer.u32(0);
  for (std::size_t i = RequestHead::kSize; i < session.request_size; ++i) {
    writer.u8(Truth::octet(session.id, true, running.request_offset + i));
  }
  return octets;
}

void Clients::ask(std::uint32_t id) {
  Running* running = running_of(id);
  if (running == nullptr || running->is_abandoned || truth_.sessions[id].was_reset) return;
  const Session& session = truth_.sessions[id];
  running->is_waiting = true;
  if (!running->tcp) {
    running->repeats = 0;
    return ask_udp(id, running->round);
  }
  running->tcp->write(request(session, *running));
  running->request_offset += session.request_size;
  std::vector<Segment> out;
  running->tcp->push(agenda_.now(), out);
  step(*running, std::move(out));
}

void Clients::ask_udp(std::uint32_t id, std::uint32_t round) {
  Running* running = running_of(id);
  if (running == nullptr || running->is_abandoned || !running->is_waiting || running->round != round) return;
  const Session& session = truth_.sessions[id];
  send(test::udp(session.client_side).payload(request(session, *running)).build());
  const Duration delay = kUdpRepeat * (1 + std::min(running->repeats++, 5u)) + session.patience;
  agenda_.in(delay, [this, id, round] { ask_udp(id, round); });
}

void Clients::on_packet(Buffer packet) {
  const auto view = packet::PacketView::parse(packet);
  if (!view) return truth_.wrong("client: got a damaged packet");
  if (view->is_icmp()) return on_error(*view);
  check_delivered(truth_, "client", *view);
  const auto found = running_.find(view->tuple().reversed());
  if (found == running_.end()) return truth_.wrong("client: a packet of no session, " + view->tuple().to_string());
  if (found->second.is_abandoned) return found->second.tcp ? refuse(*view) : void();
  found->second.tcp ? on_tcp(*view, found->second) : on_udp(*view, found->second);
}

void Clients::on_error(const packet::PacketView& view) {
  const auto sent = check_error(truth_, "client", view);
  const auto found = sent ? running_.find(*sent) : running_.end();
  if (found == running_.end()) return truth_.wrong("client: an ICMP error about a packet that nobody sent");
  ++truth_.errors;
  const auto quoted = packet::PacketView::parse(view.payload());
  if (sent->protocol != Protocol::tcp || !quoted) return;
  if (quoted->tcp_sequence() - found->second.tcp->isn() < (1u << 20)) return;
  const auto owner = Truth::owner(truth_.client_isns, quoted->tcp_sequence());
  if (truth_.is_of_unconfirmed(owner, found->second.id, quoted->tcp_sequence())) {
    ++truth_.excused;
    return;
  }
  truth_.misdelivered(owner, found->second.id, "client: an ICMP error");
}

void Clients::refuse(const packet::PacketView& view) {
  Buffer reset;
  if (packet::build_reset(view, reset)) send(std::move(reset));
}

void Clients::on_tcp(const packet::PacketView& view, Running& running) {
  Session& session = truth_.sessions[running.id];
  std::vector<Segment> out;
  if (is_late_answer(view, *running.tcp)) return refuse(view);
  const bool was_opening = running.tcp->state() == TcpState::syn_sent;
  if (running.tcp->on_segment(agenda_.now(), view, out) == MiniTcp::Fit::foreign) {
    if (was_opening) refuse(view);  // as RFC 9293 3.10.7.3 has it: what is half-open there ends, and the next SYN opens it anew
    return truth_.misdelivered(Truth::owner(truth_.server_isns, view.tcp_sequence()), running.id,
                               "client: a segment, " + view.tuple().to_string());
  }
  if (running.tcp->state() == TcpState::reset && !session.is_done && !session.was_reset) {
    session.was_reset = true;
    ++done_;
    step(running, {});
    return succeed(session.id);
  }
  application(running);
  if (running.tcp->peer_has_closed() && !running.is_waiting) running.tcp->close();
  running.tcp->push(agenda_.now(), out);
  step(running, std::move(out));
}

void Clients::application(Running& running) {
  const Session& session = truth_.sessions[running.id];
  const Buffer fresh = running.tcp->take();
  running.response.insert(running.response.end(), fresh.begin(), fresh.end());
  if (running.response.size() < session.response_size) return;
  if (!running.is_waiting || running.response.size() > session.response_size) {
    return truth_.wrong("client: octets that nobody asked for, " + session.client_side.to_string());
  }
  if (load_u32(running.response, 0) != session.id || load_u32(running.response, 4) != running.round) {
    truth_.wrong("client: the answer to another question, " + session.client_side.to_string());
  }
  for (std::size_t i = kHead; i < session.response_size; ++i) {
    if (running.response[i] == Truth::octet(session.id, false, running.response_offset + i)) continue;
    truth_.wrong("client: a wrong octet, " + session.client_side.to_string());
    break;
  }
  running.response_offset += session.response_size;
  const std::uint32_t server = load_u32(running.response, 8);
  running.response.clear();
  answered(running, server);
}

void Clients::on_udp(const packet::PacketView& view, Running& running) {
  const Session& session = truth_.sessions[running.id];
  const Octets data = view.payload();
  if (data.size() >= kHead && load_u32(data, 0) != session.id) {
    return truth_.misdelivered(load_u32(data, 0), running.id, "client: a datagram, " + session.client_side.to_string());
  }
  if (data.size() != session.response_size) return truth_.wrong("client: a damaged datagram");
  for (std::size_t i = kHead; i < data.size(); ++i) {
    if (data[i] != Truth::octet(session.id, false, i)) return truth_.wrong("client: a wrong octet in a datagram");
  }
  if (!running.is_waiting || load_u32(data, 4) != running.round) return;  // an answer that came twice
  answered(running, load_u32(data, 8));
}

void Clients::answered(Running& running, std::uint32_t server) {
  const Session& session = truth_.sessions[running.id];
  if (running.server && *running.server != server && running.tcp) truth_.wrong("client: another server answers");
  running.server = server;
  running.is_waiting = false;
  ++running.round;
  if (running.round == session.rounds) return finish(running);
  agenda_.in(session.pause, [this, id = running.id] { ask(id); });
}

void Clients::finish(Running& running) {
  Session& session = truth_.sessions[running.id];
  session.is_done = true;
  ++done_;
  if (running.tcp && !session.server_closes) running.tcp->close();
  succeed(session.id);
}

/// The same port again, for another session. Nothing of the former one must be on its way any more: a client whose own end
/// closed first would have to wait for longer, so these are sessions that the server closes.
void Clients::succeed(std::uint32_t id) {
  if (!truth_.sessions[id].successor) return;
  agenda_.in(kReuse, [this, id] {
    const Running* running = running_of(id);
    if (running == nullptr || truth_.sessions[*truth_.sessions[id].successor].is_abandoned) return;
    const bool is_over = !running->tcp || running->tcp->is_over();
    is_over ? begin(*truth_.sessions[id].successor) : succeed(id);
  });
}

void Clients::step(Running& running, std::vector<Segment> segments) {
  const Tuple& tuple = truth_.sessions[running.id].client_side;
  for (const Segment& segment : segments) send(packet_of(tuple, segment));
  if (running.tcp->is_over() && !running.has_ended) {
    running.has_ended = true;
    on_end(truth_.sessions[running.id]);
  }
  arm(running);
}

void Clients::arm(Running& running) {
  const auto next = running.tcp->next_time();
  if (!next || (running.armed && *running.armed <= *next)) return;
  running.armed = *next;
  agenda_.at(*next, [this, id = running.id] {
    Running* due = running_of(id);
    if (due == nullptr || due->is_abandoned) return;
    due->armed.reset();
    std::vector<Segment> out;
    due->tcp->on_time(agenda_.now(), out);
    step(*due, std::move(out));
  });
}

}  // namespace asrp::sim
