// SPDX-License-Identifier: BSD-3-Clause
// A NodeEngine on a fake clock, with a map for a session table. Every call returns all that came out of it, so that a test can
// say "this, and nothing else". Checks by itself what must always hold: exactly one verdict per packet, by its flush, and of a
// kind that its tap allows.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "asrp/engine/node_engine.hpp"
#include "asrp/packet/checksum.hpp"
#include "asrp/packet/packet_view.hpp"
#include "asrp/packet/surgery.hpp"
#include "asrp/policy/cookie_policy.hpp"
#include "asrp/wire/decode.hpp"
#include "support/builders.hpp"
#include "support/node_fakes.hpp"

namespace asrp::test {

using engine::NodeCounter;
using engine::OutputKind;
using engine::Tap;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// One output with octets of its own.
struct Out {
  OutputKind kind;
  std::uint32_t packet = 0;
  std::uint32_t mark = 0;
  Buffer octets;
};

/// A standalone message among the outputs.
struct Datagram {
  Endpoint from;
  Endpoint to;
  Buffer payload;
  wire::Message message;  // views `payload`
};

class NodeScript {
 public:
  explicit NodeScript(engine::NodeOptions options) : engine(std::move(options), flows, paths, random, events) {
    wake();
    if (answer_probes) events.clear();
  }

  // --- inputs; each ends its burst unless it is between begin_burst() and end_burst() -----------------------------------

  std::vector<Out> packet(Tap tap, Buffer octets) {
    const std::uint32_t number = next_packet_++;
    waiting_verdict_[number] = tap;
    packets_.push_back(std::move(octets));
    engine.on_packet(now, {7, number}, tap, packets_.back());
    return done();
  }
  std::vector<Out> message(const Endpoint& from, std::string_view to, const Buffer& octets) {
    engine.on_message(now, from, address(to), octets);
    return done();
  }
  /// What a host says where nobody listens: it quotes the last probe that it got.
  std::vector<Out> port_unreachable(std::string_view peer) {
    const auto probe = probes_.find(address(peer));
    REQUIRE_MESSAGE(probe != probes_.end(), "that host was never asked");
    return port_unreachable(probe->second);
  }
  /// The same about any datagram.
  std::vector<Out> port_unreachable(const Datagram& quoted) {
    engine.on_port_unreachable(now, {quoted.to.address, quoted.from.port, quoted.payload});
    return done();
  }
  std::vector<Out> marked_flow(const engine::FlowEntry& entry) {
    engine.on_marked_flow(now, entry);
    if (!in_burst_) engine.on_marked_flows_end(now);
    return done();
  }
  std::vector<Out> reconfigure(engine::NodeOptions options) {
    engine.reconfigure(now, std::move(options));
    return done();
  }
  /// Time passes; timers fire when they are due.
  std::vector<Out> advance(Duration by) {
    const TimePoint target = now + by;
    std::vector<Out> all;
    for (;;) {
      const auto due = engine.next_timeout();
      if (!due || *due > target) break;
      now = std::max(now, *due);
      append(all, wake());
    }
    now = target;
    return all;
  }
  void begin_burst() { in_burst_ = true; }
  std::vector<Out> end_burst() {
    in_burst_ = false;
    return done();
  }

  // --- what to look at --------------------------------------------------------------------------------------------------

  [[nodiscard]] std::uint64_t counter(NodeCounter c) const { return engine.counters()[c]; }
  [[nodiscard]] std::uint32_t last_packet() const { return next_packet_ - 1; }

  FakeFlowTable flows;
  FakePaths paths;
  FakeRandom random;
  EventLog events;
  TimePoint now = TimePoint{} + seconds(1000);
  bool answer_probes = true;  // holders answer the liveness probes, which do not appear in the outputs then
  engine::NodeEngine engine;

 private:
  std::vector<Out> wake() {
    engine.on_timeout(now);
    return done();
  }

  std::vector<Out> done() {
    if (in_burst_) return {};
    engine.flush(now);
    std::vector<Out> outs = take();
    CHECK_MESSAGE(waiting_verdict_.empty(), "a packet got no verdict");
    packets_.clear();
    if (answer_probes) append(outs, answer_probes_in(outs));
    return outs;
  }

  std::vector<Out> take() {
    std::vector<Out> outs;
    for (const engine::Output& output : engine.outbox().outputs()) {
      Out out{output.kind, output.packet.number, output.mark, {}};
      const bool verdict =
          output.kind == OutputKind::accept || output.kind == OutputKind::replace || output.kind == OutputKind::drop;
      if (verdict) {
        const auto waiting = waiting_verdict_.find(output.packet.number);
        REQUIRE_MESSAGE(waiting != waiting_verdict_.end(), "a second verdict, or one for no packet");
        if (waiting->second == Tap::stray) CHECK(output.kind == OutputKind::drop);
        waiting_verdict_.erase(waiting);
      }
      if (output.kind != OutputKind::accept && output.kind != OutputKind::drop) {
        const Octets octets = engine.outbox().octets(output);
        out.octets.assign(octets.begin(), octets.end());
        check_packet(out.octets);
      }
      outs.push_back(std::move(out));
    }
    engine.outbox().clear();
    return outs;
  }

  static void check_packet(const Buffer& octets) {
    const auto view = packet::PacketView::parse(octets);
    REQUIRE_MESSAGE(view.has_value(), "an output that is no packet");
    CHECK(view->octets().size() == octets.size());
  }

  std::vector<Out> answer_probes_in(std::vector<Out>& outs);
  static void append(std::vector<Out>& to, std::vector<Out> from) {
    for (Out& out : from) to.push_back(std::move(out));
  }

  std::deque<Buffer> packets_;
  std::map<IpAddress, Datagram> probes_;  // the last to each holder that the script answered for
  std::map<std::uint32_t, Tap> waiting_verdict_;
  std::uint32_t next_packet_ = 1;
  bool in_burst_ = false;
};

/// The standalone message in an output, or nothing.
inline std::optional<Datagram> datagram(const Out& out) {
  if (out.kind != OutputKind::send_own) return std::nullopt;
  const auto view = packet::PacketView::parse(out.octets);
  if (!view || !view->is_udp()) return std::nullopt;
  Datagram d{view->tuple().src, view->tuple().dst, Buffer(view->payload().begin(), view->payload().end()), {}};
  const auto decoded = wire::decode(d.payload);
  if (!decoded) return std::nullopt;
  d.message = decoded->message;
  d.message.session_data = {};
  return d;
}

inline std::vector<Out> NodeScript::answer_probes_in(std::vector<Out>& outs) {
  std::vector<Out> more;
  for (auto it = outs.begin(); it != outs.end();) {
    const auto d = datagram(*it);
    const bool probe = d && d->message.type == wire::MsgType::QS && d->message.st1.src.address.is_unspecified();
    if (!probe) {
      ++it;
      continue;
    }
    it = outs.erase(it);
    probes_[d->to.address] = *d;
    Buffer answer;
    wire::encode(wire::recovery_no_session(d->message), answer);
    engine.on_message(now, {d->to.address, d->from.port}, d->from.address, answer);
    engine.flush(now);
    append(more, take());
  }
  return more;
}

/// The only output, which must be a standalone message of `type`.
inline Datagram only_datagram(const std::vector<Out>& outs, wire::MsgType type) {
  REQUIRE(outs.size() == 1);
  const auto d = datagram(outs[0]);
  REQUIRE(d);
  CHECK(d->message.type == type);
  return *d;
}

/// What an honest holder answers to a QS: RS with `pair`, or RX.
inline Buffer rs_to(const Datagram& query, const TuplePair& pair) {
  return rs(pair).cookie(query.message.cookie.value).protocol(query.message.protocol).build();
}
inline Buffer rx_to(const Datagram& query) {
  Buffer out;
  wire::encode(wire::recovery_no_session(query.message), out);
  return out;
}
/// The endpoint that such an answer comes from: the header of the QS with the addresses swapped.
inline Endpoint answer_from(const Datagram& query) { return {query.to.address, query.from.port}; }

struct Carried {
  wire::Message message;  // without Session-Data
  Buffer stripped;
};

/// The message inside a packet of a flow, and the packet without it; nothing if there is none.
inline std::optional<Carried> carried_by(Octets octets) {
  const auto view = packet::PacketView::parse(octets);
  REQUIRE(view);
  const packet::Located located = packet::locate(*view, packet::Marker{});
  if (!located.found()) return std::nullopt;
  const auto decoded = view->is_tcp() ? wire::decode_prefix(located.room(*view)) : wire::decode(located.room(*view));
  REQUIRE(decoded);
  Carried carried{decoded->message, {}};
  carried.message.session_data = {};
  packet::strip(*view, located, decoded->size, carried.stripped);
  return carried;
}

/// A packet of a flow with a message inline, as a holder or a client would send it.
inline Buffer with_inline(const Buffer& octets, const Buffer& message) {
  const auto view = packet::PacketView::parse(octets);
  REQUIRE(view);
  Buffer out;
  REQUIRE(packet::insert_inline(*view, packet::Marker{}, message, 65535, out));
  return out;
}
/// The separate packet for a message in front of or behind this one.
inline Buffer separate(const Buffer& octets, const Buffer& message) {
  const auto view = packet::PacketView::parse(octets);
  REQUIRE(view);
  Buffer out;
  REQUIRE(packet::make_separate(*view, packet::Marker{}, message, 65535, out));
  return out;
}
/// As the packet leaves: with the TTL one less.
inline Buffer forwarded(Buffer octets) {
  REQUIRE(packet::decrement_ttl(octets));
  return octets;
}
/// The PS of a session: its keyed cookie under `key`.
inline Buffer ps_of(const TuplePair& pair, const HashKey& key) {
  return ps(pair).protocol(pair.client_side.protocol).cookie(policy::keyed_cookie(key, pair).value).build();
}

/// Another placement key: many regions have a new owner, and `options`' epoch is the newest past one.
inline engine::NodeOptions with_another_key(const engine::NodeOptions& options) {
  engine::NodeOptions other = options;
  other.placement_key = key_of(0x77);
  for (engine::Service& service : other.services) {
    policy::Epoch former{{}, options.placement_key};
    for (const engine::Backend& b : service.backends) former.members.push_back({b.id, 1});
    service.past_epochs = {former};
  }
  return other;
}

inline std::string kinds(const std::vector<Out>& outs) {
  std::string text;
  for (const Out& out : outs) {
    static constexpr const char* kNames[] = {"accept", "replace", "drop", "send_flow", "send_own"};
    if (!text.empty()) text += ' ';
    text += kNames[static_cast<int>(out.kind)];
    if (const auto d = datagram(out)) text += ":" + std::string(wire::to_string(d->message.type));
  }
  return text;
}

}  // namespace asrp::test
