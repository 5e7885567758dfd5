// SPDX-License-Identifier: BSD-3-Clause
// The server's stack and application: answers requests with octets that follow from the session, and notices at once when
// something of another session arrives.
#include "asrp/packet/build.hpp"
#include "sim/server_host.hpp"

namespace asrp::sim {
namespace {

constexpr Duration kTimeWait = std::chrono::seconds(60);
constexpr unsigned kMostRetransmissions = 40;
constexpr std::size_t kResponseHead = ResponseHead::kSize;

}  // namespace

void ServerHost::stack(const packet::PacketView& view) {
  if (view.is_icmp()) return take_error(view);
  const bool is_bypassed = push_ && !holder_ && (view.is_tcp_syn() || view.is_udp());
  check_delivered(truth_, "server", view, is_bypassed);
  const bool is_own = view.tuple().dst.address == server_address(index_, view.family());
  if (!is_own) return truth_.wrong("server: got a packet for another host, " + view.tuple().to_string());
  view.is_tcp() ? stack_tcp(view) : stack_udp(view);
}

/// An error about a packet of this host must speak of the session that sent it.
void ServerHost::take_error(const packet::PacketView& view) {
  const auto sent = check_error(truth_, "server", view);
  if (!sent || sent->src.address != server_address(index_, view.family())) {
    return truth_.wrong("server: an ICMP error about a packet of another host");
  }
  ++truth_.errors;
  const auto socket = sockets_.find(sent->reversed());
  const auto quoted = packet::PacketView::parse(view.payload());
  if (sent->protocol != Protocol::tcp || socket == sockets_.end() || !quoted) return;
  if (quoted->tcp_sequence() - socket->second.tcp.isn() < (1u << 20)) return;
  const auto owner = Truth::owner(truth_.server_isns, quoted->tcp_sequence());
  truth_.misdelivered(owner, socket->second.owner, "server: an ICMP error");
}

void ServerHost::stack_tcp(const packet::PacketView& view) {
  const Tuple peer = view.tuple();
  auto found = sockets_.find(peer);
  // A new connection of the same tuple; but not a copy of the old one's SYN, which a node held back: a real stack tells them
  // apart by their timestamps, and answers that with an ACK.
  const bool is_time_wait = found != sockets_.end() && found->second.is_time_wait;
  if (is_time_wait && view.is_tcp_syn() && view.tcp_sequence() != found->second.tcp.peer_isn()) {
    sockets_.erase(found);
    found = sockets_.end();
  }
  if (found == sockets_.end()) return view.is_tcp_syn() ? open_socket(view) : refuse(view);
  Socket& socket = found->second;
  // A SYN of another connection: a real stack answers with an ACK, and the client gives up or resets.
  const bool is_other_syn = view.is_tcp_syn() && !socket.tcp.is_over();
  if (is_other_syn) meet_socket(view, socket);
  std::vector<Segment> out;
  const auto fit = socket.tcp.on_segment(agenda_.now(), view, out);
  if (fit == MiniTcp::Fit::foreign) {
    if (!is_other_syn)
      truth_.misdelivered(Truth::owner(truth_.client_isns, view.tcp_sequence()), socket.owner,
                          "server: a segment, " + peer.to_string());
    return;
  }
  application(peer, socket);
  socket.tcp.push(agenda_.now(), out);
  step(peer, socket, std::move(out));
}

void ServerHost::meet_socket(const packet::PacketView& view, const Socket& socket) {
  const auto id = Truth::owner(truth_.client_isns, view.tcp_sequence());
  if (!id) return;
  truth_.blocked(id, socket.owner);
  if (!truth_.is_backed_up({truth_.sessions[*id].client_side, view.tuple()}))
    truth_.sessions[*id].unchecked.push_back(view.tuple());
}

void ServerHost::open_socket(const packet::PacketView& view) {
  const Tuple peer = view.tuple();
  if (peer.dst.port != kServerTcpPort) return refuse(view);
  const auto isn = static_cast<std::uint32_t>(random_.next());
  Socket& socket = sockets_.insert_or_assign(peer, Socket{.tcp = MiniTcp::accept(isn, view.tcp_sequence())}).first->second;
  if (const auto id = Truth::owner(truth_.client_isns, view.tcp_sequence())) {
    truth_.server_isns[isn] = *id;
    socket.owner = *id;
    truth_.sessions[*id].has_reached(peer);
    truth_.reached(*id, peer);
    if (!truth_.is_backed_up({truth_.sessions[*id].client_side, peer})) truth_.sessions[*id].unchecked.push_back(peer);
  }
  std::vector<Segment> out;
  socket.tcp.push(agenda_.now(), out);
  step(peer, socket, std::move(out));
}

void ServerHost::refuse(const packet::PacketView& view) {
  if ((view.tcp_flags() & packet::kTcpRst) != 0) return;
  Buffer reset;
  if (packet::build_reset(view, reset)) network_.send(Network::From::server, std::move(reset));
}

/// Sends what the socket wants to send, and sees to its end.
void ServerHost::step(const Tuple& peer, Socket& socket, std::vector<Segment> segments) {
  for (const Segment& segment : segments) send(packet_of(peer.reversed(), segment));
  const bool gave_up = socket.tcp.retransmissions() > kMostRetransmissions;
  if (gave_up) ++cut_off_;
  if (socket.tcp.state() == TcpState::reset || gave_up) {
    const bool was_seen = socket.knows_session;
    sockets_.erase(peer);
    if (was_seen) notify_end(peer);
    return;
  }
  if (socket.tcp.state() == TcpState::closed && !socket.is_time_wait) return end_socket(peer);
  arm_socket(peer, socket);
}

void ServerHost::end_socket(const Tuple& peer) {
  Socket& socket = sockets_.at(peer);
  const bool closed_first = socket.knows_session && truth_.sessions[socket.session].server_closes;
  notify_end(peer);
  if (!closed_first) {
    sockets_.erase(peer);
    return;
  }
  socket.is_time_wait = true;
  agenda_.in(kTimeWait, [this, peer, isn = socket.tcp.isn()] {
    const auto found = sockets_.find(peer);
    if (found != sockets_.end() && found->second.tcp.isn() == isn) sockets_.erase(found);
  });
}

void ServerHost::arm_socket(const Tuple& peer, Socket& socket) {
  const auto next = socket.tcp.next_time();
  if (!next || (socket.armed && *socket.armed <= *next)) return;
  socket.armed = *next;
  agenda_.at(*next, [this, peer, isn = socket.tcp.isn()] {
    const auto found = sockets_.find(peer);
    if (found == sockets_.end() || found->second.tcp.isn() != isn) return;
    found->second.armed.reset();
    std::vector<Segment> out;
    found->second.tcp.on_time(agenda_.now(), out);
    step(peer, found->second, std::move(out));
  });
}

void ServerHost::application(const Tuple& peer, Socket& socket) {
  const Buffer fresh = socket.tcp.take();
  socket.request.insert(socket.request.end(), fresh.begin(), fresh.end());
  while (take_request(peer, socket)) {
  }
  if (socket.tcp.peer_has_closed()) socket.tcp.close();
}

bool ServerHost::take_request(const Tuple& peer, Socket& socket) {
  if (socket.request.size() < RequestHead::kSize) return false;
  const std::uint32_t id = load_u32(socket.request, 0);
  if (id >= truth_.sessions.size() || (socket.knows_session && id != socket.session)) {
    truth_.wrong("server: the octets of another session, " + peer.to_string());
    socket.request.clear();
    return false;
  }
  const Session& session = truth_.sessions[id];
  if (socket.request.size() < session.request_size) return false;
  for (std::size_t i = RequestHead::kSize; i < session.request_size; ++i) {
    if (socket.request[i] == Truth::octet(id, true, socket.request_offset + i)) continue;
    truth_.wrong("server: a wrong octet, " + peer.to_string());
    break;
  }
  socket.session = id;
  socket.knows_session = true;
  note_session(peer, id);
  const std::uint32_t round = load_u32(socket.request, 4);
  socket.request.erase(socket.request.begin(), socket.request.begin() + static_cast<std::ptrdiff_t>(session.request_size));
  socket.request_offset += session.request_size;
  agenda_.in(session.server_pause, [this, peer, id, round] {
    const auto found = sockets_.find(peer);
    if (found == sockets_.end() || !found->second.knows_session || found->second.session != id) return;
    Socket& s = found->second;
    const Session& truth = truth_.sessions[id];
    Buffer response;
    ByteWriter writer(response);
    writer.u32(id);
    writer.u32(round);
    writer.u32(static_cast<std::uint32_t>(index_));
    for (std::size_t i = kResponseHead; i < truth.response_size; ++i) writer.u8(Truth::octet(id, false, s.response_offset + i));
    s.response_offset += truth.response_size;
    s.tcp.write(response);
    if (truth.server_closes && round + 1 == truth.rounds) s.tcp.close();
    std::vector<Segment> out;
    s.tcp.push(agenda_.now(), out);
    step(peer, s, std::move(out));
  });
  return true;
}

/// What the stack knows of the session by now: that it is here, and whether a backup of exactly it counts.
void ServerHost::note_session(const Tuple& peer, std::uint32_t id) {
  Session& session = truth_.sessions[id];
  const TuplePair tuples{session.client_side, peer};
  // A node with an entry of the port's former session, whose end it did not see, keeps to that one's server.
  const bool is_outlived = session.follows && truth_.sessions[*session.follows].protected_tuples == tuples;
  const bool is_elsewhere = session.server && session.server != index_;
  const bool has_moved = session.is_protected && (is_elsewhere || session.protected_tuples != tuples);
  if (has_moved && session.client_side.protocol == Protocol::udp && truth_.is_explicit) {
    ++truth_.excused;  // a node that has not heard of a change of the pool yet begins it where it was to be before
  } else if (has_moved && !truth_.is_moved(id) && !is_outlived) {
    truth_.wrong("a session with a backup moved: " + session.client_side.to_string());
  }
  // Once it has begun anew elsewhere, nodes with an entry of the former one lead there still.
  if (session.server != index_) session.was_exposed = session.was_exposed || (push_ && is_exposed());
  session.server = index_;
  if (session.is_protected && session.protected_tuples == tuples) return;
  session.is_protected = truth_.is_backed_up(tuples);
  session.protected_tuples = tuples;
  if (!session.is_protected) session.unchecked.push_back(peer);
}

void ServerHost::stack_udp(const packet::PacketView& view) {
  const Tuple peer = view.tuple();
  if (peer.dst.port != kServerUdpPort || view.payload_size() < RequestHead::kSize) {
    return truth_.wrong("server: a datagram that nobody sent, " + peer.to_string());
  }
  const Octets data = view.payload();
  const std::uint32_t id = load_u32(data, 0);
  const std::uint32_t round = load_u32(data, 4);
  UdpFlow& flow = touch_flow(peer, false);
  if (id >= truth_.sessions.size() || data.size() != truth_.sessions[id].request_size) {
    return truth_.wrong("server: a damaged datagram, " + peer.to_string());
  }
  if (!truth_.is_backed_up({truth_.sessions[id].client_side, peer})) truth_.sessions[id].unchecked.push_back(peer);
  if (flow.session && *flow.session != id && truth_.sessions[*flow.session].is_protected &&
      truth_.sessions[id].successor != flow.session) {
    truth_.misdelivered(id, flow.session, "server: a datagram, " + peer.to_string());
  }
  flow.session = id;
  truth_.reached(id, peer);
  for (std::size_t i = RequestHead::kSize; i < data.size(); ++i) {
    if (data[i] != Truth::octet(id, true, i)) return truth_.wrong("server: a wrong octet, " + peer.to_string());
  }
  note_session(peer, id);
  agenda_.in(truth_.sessions[id].server_pause,
             [this, peer, id, round] { respond(peer, id, round, truth_.sessions[id].response_size); });
}

void ServerHost::respond(const Tuple& peer, std::uint32_t session, std::uint32_t round, std::size_t size) {
  Buffer response;
  ByteWriter writer(response);
  writer.u32(session);
  writer.u32(round);
  writer.u32(static_cast<std::uint32_t>(index_));
  for (std::size_t i = kResponseHead; i < size; ++i) writer.u8(Truth::octet(session, false, i));
  touch_flow(peer, true);
  send(test::udp(peer.reversed()).payload(std::move(response)).build());
}

}  // namespace asrp::sim
