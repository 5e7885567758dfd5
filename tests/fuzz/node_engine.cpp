// SPDX-License-Identifier: BSD-3-Clause
// Input: a script of operations on one NodeEngine, its session table, its holders' answers and its clock. Few addresses and
// ports, so that flows meet. What must hold: exactly one verdict per packet, of a kind that its tap allows; nothing is released
// without its session in the table; every session installed is one that the configuration allows; no message reaches a client;
// bounds; and after a while of quiet nothing is in flight. Scripts that begin with "ACT" are played in ACT mode: there no
// message goes out in a packet at all.
#include "asrp/engine/node_engine.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "asrp/packet/locate.hpp"
#include "asrp/packet/surgery.hpp"
#include "asrp/policy/act_rule.hpp"
#include "asrp/policy/cookie_policy.hpp"
#include "asrp/policy/port_choice.hpp"
#include "asrp/wire/decode.hpp"
#include "fuzz/support/fuzz_target.hpp"
#include "support/node_fakes.hpp"

namespace asrp::fuzz {
namespace {

using engine::OutputKind;
using engine::Tap;
using namespace test;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMaxOperations = 400;
constexpr std::size_t kRemembered = 64;
constexpr std::string_view kAct = "ACT";

void set_limits(engine::NodeOptions& options) {
  options.limits.recoveries = 4;
  options.limits.held_packets = 8;
  options.limits.held_packets_per_session = 3;
  options.limits.held_octets = 6000;
  options.limits.waiting_sessions = 3;
  options.limits.attempts = 3;
  options.limits.second_rounds = 5;
  options.limits.recent_sessions = 256;
  options.limits.recent_syn = 256;
}

engine::NodeOptions psv_options(std::uint8_t choice) {
  engine::NodeOptions options = (choice & 1) != 0 ? full_nat_options() : basic_options();
  engine::Service dns = udp_options(static_cast<engine::ExplicitFirst>((choice >> 1) & 3)).services[0];
  dns.backends.resize(2);
  for (auto& service : options.services) {
    service.backends.resize(3);
    if (service.forward == engine::ForwardMode::full_nat) {
      service.full_nat.first_port = 2000;
      service.full_nat.last_port = 2003;
    }
    service.no_session = (choice & 8) != 0 ? engine::NoSession::reset : engine::NoSession::drop;
    service.routing = (choice & 16) != 0 ? engine::Routing::symmetric : engine::Routing::asymmetric;
    service.on_conflict = (choice & 32) != 0 ? engine::ConflictHandling::drop : engine::ConflictHandling::query;
    service.server_initiated = (choice & 64) != 0;
  }
  if ((choice & 128) == 0) options.services.push_back(dns);
  set_limits(options);
  return options;
}

/// Four ports for each client in this gateway's slice.
engine::NodeOptions act_options(std::uint8_t choice) {
  engine::NodeOptions options = nat_options();
  engine::NatOptions& nat = *options.nat;
  nat.ranges.networks[0].ports_per_client = 64;
  nat.no_session = static_cast<engine::NatNoSession>((choice & 3) % 3);
  nat.on_exhausted = (choice & 4) != 0 ? engine::OnExhausted::icmp : engine::OnExhausted::drop;
  nat.explicit_first = {(choice & 8) != 0 ? engine::ExplicitFirst::any : engine::ExplicitFirst::dns};
  nat.endpoint_independent_tcp = (choice & 16) != 0;
  if ((choice & 32) != 0) {
    nat.past_ranges = {nat.ranges};
    nat.ranges.networks[0].first_port = 1088;
  }
  nat.port_parity = (choice & 64) != 0;
  nat.hellos = (choice & 128) != 0 ? 3 : 10'000;
  if ((choice & 3) == 3) nat.filtering = engine::Filtering::endpoint;
  set_limits(options);
  return options;
}

bool is_act(Octets script) { return script.size() >= kAct.size() && std::equal(kAct.begin(), kAct.end(), script.begin()); }

class Machine final : public engine::EventSink {
 public:
  explicit Machine(Octets script)
      : act_(is_act(script)),
        reader_(act_ ? script.subspan(kAct.size()) : script),
        options_(options_with(reader_.u8())),
        engine_(options_, flows_, paths_, random_, *this) {}

  void run() {
    for (std::size_t i = 0; i < kMaxOperations && !reader_.rest().empty(); ++i) step();
    flush();
    wait(seconds(5));
    const auto gauges = engine_.gauges();
    FUZZ_CHECK(gauges.recoveries == 0 && gauges.held_packets == 0 && gauges.held_octets == 0);
    FUZZ_CHECK(gauges.waiting == 0 && gauges.attempts == 0);
  }

  void on_event(const engine::Event&) override {}

 private:
  void step() {
    switch (reader_.u8() % 16) {
      case 0: {
        const auto tap = static_cast<Tap>(reader_.u8() % 3);  // a statement each: compilers order arguments as they like
        return packet(tap, raw());
      }
      case 1: {
        const std::uint16_t port = reader_.u16();
        return message({address("10.0.0.1"), port}, raw());
      }
      case 2:
      case 3:
      case 4:
      case 5:
        return some_packet();
      case 6:
      case 7:
      case 8:
        return answer();
      case 9:
      case 10:
        flush();
        return wait(milliseconds(reader_.u8() * 4));
      case 11:
        if (reader_.u8() % 4 == 0) {
          flush();
          flows_.entries.clear();
          lost_entries_ = true;
        }
        flows_.capacity = 1 + reader_.u8();
        return;
      case 12:
        return unreachable();
      case 13:
        if (!flows_.entries.empty()) {
          auto& entry = flows_.entries[reader_.u8() % flows_.entries.size()];
          entry.closing = reader_.u8() % 4 == 0;
          engine_.on_marked_flow(now_, entry);
          if (reader_.u8() % 2 == 0) engine_.on_marked_flows_end(now_);
        }
        return;
      case 14:
        if (reader_.u8() % 4 == 0) {
          flush();  // what the old options allowed leaves before the new ones come
          options_ = options_with(reader_.u8());
          engine_.reconfigure(now_, options_);
        } else {
          engine_.set_table_pressure(reader_.u8() % 4 == 0);
        }
        return;
      default:
        return flush();
    }
  }

  Buffer raw() {
    const std::size_t size = reader_.u8();
    const Octets rest = reader_.rest();
    const Octets taken = rest.first(std::min(size, rest.size()));
    for (std::size_t i = 0; i < taken.size(); ++i) reader_.u8();
    return Buffer(taken.begin(), taken.end());
  }

  [[nodiscard]] engine::NodeOptions options_with(std::uint8_t choice) const {
    return act_ ? act_options(choice) : psv_options(choice);
  }

  /// Of two clients, with outside ports of the first one's.
  TuplePair some_act_session() {
    const std::uint8_t choice = reader_.u8();
    const Protocol protocol = (choice & 1) != 0 ? Protocol::udp : Protocol::tcp;
    const Endpoint client{address((choice & 2) != 0 ? "10.0.0.1" : "10.0.0.2"),
                          static_cast<std::uint16_t>(5000 + ((choice >> 2) & 7))};
    const Endpoint outside{address("203.0.113.8"), static_cast<std::uint16_t>(1088 + ((choice >> 5) & 7) * 4)};
    const Endpoint server = endpoint("198.51.100.1:9000");
    return {{client, server, protocol}, {outside, server, protocol}};
  }

  TuplePair some_session() {
    if (act_) return some_act_session();
    const std::uint8_t choice = reader_.u8();
    const bool dns = (choice & 1) != 0;
    const Protocol protocol = dns ? Protocol::udp : Protocol::tcp;
    const Endpoint client{address("203.0.113.7"), static_cast<std::uint16_t>(5000 + ((choice >> 1) & 3))};
    const bool full_nat = !dns && options_.services[0].forward == engine::ForwardMode::full_nat;
    const Endpoint outside =
        full_nat ? Endpoint{address("10.1.0.1"), static_cast<std::uint16_t>(2000 + ((choice >> 3) & 3))} : client;
    const Endpoint server{address("10.0.0." + std::to_string(1 + ((choice >> 5) & 3))),
                          static_cast<std::uint16_t>(dns ? 5353 : 8080)};
    return {{client, endpoint(dns ? "198.51.100.1:53" : "198.51.100.1:80"), protocol}, {outside, server, protocol}};
  }

  void some_packet() {
    const TuplePair session = some_session();
    const std::uint8_t how = reader_.u8();
    const Tuple tuple = (how & 1) != 0 ? session.client_side : session.server_side.reversed();
    const std::string payload((how >> 1) & 1, 'x');
    static constexpr std::uint8_t kFlags[] = {0x02, 0x12, 0x18, 0x11};
    Buffer octets = tuple.protocol == Protocol::udp ? udp(tuple).payload(payload).build()
                                                    : tcp(tuple).flags(kFlags[(how >> 2) & 3]).payload(payload).build();
    if ((how & 0x30) == 0x30) {
      // A host in ACT mode speaks of a packet that came to it.
      const Tuple came = tuple.reversed();
      if (act_) octets = came.protocol == Protocol::udp ? udp(came).build() : tcp(came).build();
      octets = icmp_error(tuple.src.address, tuple.dst.address).quoting(octets).build();
    } else if ((how & 0x30) == 0x20) {
      octets = with_message(octets, session, reader_.u8());
    }
    packet(static_cast<Tap>((how >> 6) % 3), std::move(octets));
  }

  Buffer with_message(const Buffer& octets, const TuplePair& session, std::uint8_t how) {
    const HashKey key = key_of((how & 1) != 0 ? 0x22 : 0x33);
    const wire::MsgType type = static_cast<wire::MsgType>((how & 0x10) != 0 ? (how >> 5) : 6);
    Buffer message = hs(session.client_side.protocol).build();
    if (type == wire::MsgType::PS || type == wire::MsgType::RS || type == wire::MsgType::NA) {
      message = with_tuples(type, session)
                    .protocol(session.client_side.protocol)
                    .cookie(policy::keyed_cookie(key, session).value)
                    .build();
    }
    if ((how & 8) != 0) message[how >> 5] ^= how;
    const auto view = packet::PacketView::parse(octets);
    Buffer out;
    const auto done = (how & 2) != 0 ? packet::make_separate(*view, {}, message, 65535, out)
                                     : packet::insert_inline(*view, {}, message, 65535, out);
    return done ? out : octets;
  }

  void packet(Tap tap, Buffer octets) {
    packets_.push_back(std::move(octets));
    waiting_[++number_] = tap;
    engine_.on_packet(now_, {0, number_}, tap, packets_.back());
  }

  void message(const Endpoint& from, const Buffer& octets) { engine_.on_message(now_, from, address("192.0.2.10"), octets); }

  /// Something like an answer to something that was sent.
  void answer() {
    if (sent_.empty()) return;
    flush();  // an NC takes the session of packets that are on their way; the kernel's guard stops these
    const Sent& sent = sent_[reader_.u8() % sent_.size()];
    const std::uint8_t how = reader_.u8();
    const Endpoint from{sent.to, sent.port};
    if (sent.message.type == wire::MsgType::NS) {
      const auto type = (how & 1) != 0 ? wire::MsgType::NA : wire::MsgType::NC;
      auto builder = with_tuples(type, sent.message.tuples())
                         .protocol(sent.message.protocol)
                         .cookie(sent.message.cookie.value ^ ((how & 0x70) == 0));
      if ((how & 2) != 0) builder.client_side_conflict();
      return message(from, builder.build());
    }
    if ((how & 1) != 0) {
      Buffer octets;
      wire::encode(wire::recovery_no_session(sent.message), octets);
      return message(from, octets);
    }
    const TuplePair session = some_session();
    message(from, rs(session).protocol(sent.message.protocol).cookie(sent.message.cookie.value).build());
  }

  /// A port unreachable about something that was sent, or about something like it.
  void unreachable() {
    if (sent_.empty()) return;
    const Sent& sent = sent_[reader_.u8() % sent_.size()];
    const std::uint8_t how = reader_.u8();
    Buffer quoted;
    wire::encode(sent.message, quoted);
    if ((how & 3) == 1) quoted[how >> 3] ^= 1;
    if ((how & 3) == 2) quoted.resize(how >> 3);
    engine_.on_port_unreachable(now_, {sent.to, sent.port, quoted});
  }

  void wait(Duration by) {
    const TimePoint end = now_ + by;
    for (int i = 0; i < 10000; ++i) {
      const auto next = engine_.next_timeout();
      if (!next || *next > end) break;
      now_ = std::max(now_, *next);
      engine_.on_timeout(now_);
      flush();
    }
    now_ = end;
  }

  void flush() {
    const std::size_t before = flows_.installed.size();
    begun_with_ = flows_.entries;
    engine_.flush(now_);
    for (std::size_t i = before; i < flows_.installed.size(); ++i) check_session(flows_.installed[i]);
    flows_.installed.clear();
    for (const engine::Output& output : engine_.outbox().outputs()) check(output);
    FUZZ_CHECK(waiting_.empty());
    engine_.outbox().clear();
    packets_.clear();
    const auto gauges = engine_.gauges();
    FUZZ_CHECK(gauges.recoveries <= 4 && gauges.held_packets <= 8 && gauges.held_octets <= 6000);
    FUZZ_CHECK(gauges.waiting <= 3 && gauges.attempts <= 3);
  }

  /// Made here in this gateway's slice or by its endpoint's mapping, or told by a client of its own range.
  void check_act_session(const engine::Flow& flow) const {
    const engine::NatOptions& nat = *options_.nat;
    const policy::PortRanges ranges(nat.ranges);
    std::vector<policy::PortRanges> past;
    for (const auto& former : nat.past_ranges) past.emplace_back(former);
    FUZZ_CHECK(check_legitimacy(ranges, past, flow.tuples) == policy::Legitimacy::legitimate);
    const auto range = ranges.range_of(flow.tuples.client_side.src.address);
    const std::uint16_t port = flow.tuples.server_side.src.port;
    const bool is_shared = std::any_of(flows_.entries.begin(), flows_.entries.end(), [&](const auto& e) {
      return e.tuples != flow.tuples && e.tuples.client_side.src == flow.tuples.client_side.src &&
             e.tuples.server_side.src == flow.tuples.server_side.src;
    });
    FUZZ_CHECK(flow.proven || is_shared || policy::slice_of(*range, nat.slice, ranges.slices()).contains(port));
  }

  void check_session(const engine::Flow& flow) const {
    if (act_) return check_act_session(flow);
    const TuplePair& session = flow.tuples;
    bool found = false;
    for (const engine::Service& service : options_.services) {
      if (service.address != session.client_side.dst || service.protocol != session.client_side.protocol) continue;
      for (const engine::Backend& b : service.backends) found = found || b.address == session.server_side.dst;
      const bool full_nat = service.forward == engine::ForwardMode::full_nat;
      FUZZ_CHECK(full_nat == (session.server_side.src != session.client_side.src));
      if (full_nat) FUZZ_CHECK(session.server_side.src.port >= 2000 && session.server_side.src.port <= 2003);
    }
    FUZZ_CHECK(found);
  }

  void check(const engine::Output& output) {
    const bool verdict =
        output.kind == OutputKind::accept || output.kind == OutputKind::replace || output.kind == OutputKind::drop;
    if (verdict) {
      const auto it = waiting_.find(output.packet.number);
      FUZZ_CHECK(it != waiting_.end());
      FUZZ_CHECK(it->second != Tap::stray || output.kind == OutputKind::drop);
      waiting_.erase(it);
    }
    if (output.kind == OutputKind::accept || output.kind == OutputKind::drop) return;
    const Octets octets = engine_.outbox().octets(output);
    const auto view = packet::PacketView::parse(octets);
    FUZZ_CHECK(view.has_value());
    FUZZ_CHECK(view->octets().size() == octets.size());
    if (output.kind == OutputKind::send_own) return remember(*view);
    const bool towards_server =
        view->tuple().dst.address == address("198.51.100.1") || view->tuple().dst.address == address("2001:db8:1::1");
    if (!view->is_icmp() && packet::locate(*view, {}).found()) FUZZ_CHECK(towards_server && !act_);
    if (output.kind == OutputKind::send_flow && !view->is_icmp() && !lost_entries_) FUZZ_CHECK(has_session(view->tuple()));
  }

  /// In the table, or replaced in the same burst by a SYN: the kernel's guard stops packets of such a one.
  bool has_session(const Tuple& tuple) {
    if (flows_.find(tuple)) return true;
    const Tuple wanted = normalised(tuple);
    return std::any_of(begun_with_.begin(), begun_with_.end(), [&](const engine::FlowEntry& e) {
      const bool is_its = normalised(e.tuples.client_side) == wanted || normalised(e.tuples.server_side) == wanted;
      const bool port_reused = act_ && e.closing;  // by another connection, for want of ports
      return is_its && (port_reused || flows_.find(e.tuples.client_side).has_value());
    });
  }

  struct Sent {
    IpAddress to;
    std::uint16_t port;
    wire::Message message;
  };

  void remember(const packet::PacketView& view) {
    if (!view.is_udp()) return;
    const auto decoded = wire::decode(view.payload());
    if (!decoded) return;
    if (sent_.size() == kRemembered) sent_.pop_front();
    sent_.push_back({view.tuple().dst.address, view.tuple().src.port, decoded->message});
    sent_.back().message.session_data = {};
  }

  bool act_;
  Reader reader_;
  engine::NodeOptions options_;
  FakeFlowTable flows_;
  std::vector<engine::FlowEntry> begun_with_;  // what the table held when the burst began
  FakePaths paths_;
  FakeRandom random_;
  TimePoint now_{std::chrono::hours(1)};
  engine::NodeEngine engine_;
  std::map<std::uint32_t, Tap> waiting_;
  std::deque<Buffer> packets_;  // its elements stay where they are
  std::deque<Sent> sent_;
  std::uint32_t number_ = 0;
  bool lost_entries_ = false;  // the kernel's guard drops what has no entry; here it is only told apart
};

}  // namespace

int one_input(Octets input) {
  Machine(input).run();
  return 0;
}

}  // namespace asrp::fuzz
