// SPDX-License-Identifier: BSD-3-Clause
// Input: a script of operations on one HolderEngine, its store, its local sessions and its clock. Few addresses and ports, so
// that sessions meet. What must hold: one verdict per packet, in order; nothing that is handed on carries a message; whoever
// was told to be stored is answered for until the session ended, also after a crash; no live session's backup is released;
// bounds. In ACT mode: no HS with FIN or RST, and in mid-stream only after an answer on the route.
#include "asrp/engine/holder_engine.hpp"

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "asrp/packet/locate.hpp"
#include "asrp/packet/surgery.hpp"
#include "asrp/wire/decode.hpp"
#include "asrp/wire/encode.hpp"
#include "fuzz/support/fuzz_target.hpp"
#include "support/builders.hpp"
#include "support/holder_twins.hpp"

namespace asrp::fuzz {
namespace {

using engine::Direction;
using engine::LocalState;
using engine::OutputKind;
using namespace test;

constexpr std::size_t kMaxBackups = 6;
constexpr std::size_t kMaxEmbryonic = 4;
constexpr std::size_t kMaxOperations = 400;

engine::HolderOptions options_with(std::uint8_t choice) {
  engine::HolderOptions options;
  options.local_ips = {address("10.0.0.1"), address("2001:db8::1")};
  options.nodes = {{address("192.0.2.0"), 24}, {address("2001:db8:2::"), 64}};
  options.act.enabled = (choice & 0x80) != 0;
  options.act.gateways = options.nodes;
  options.act.hello_rate = 1 + (choice & 0x1F);
  options.act.udp_linger = std::chrono::seconds(choice);
  options.on_full = engine::OnFull::drop;  // so that "handed on" means "stored"
  options.max_backups = kMaxBackups;
  options.max_embryonic = kMaxEmbryonic;
  options.services = {{.protocol = Protocol::udp, .port = 53, .udp_linger = std::chrono::seconds(choice)},
                      {.protocol = Protocol::tcp, .port = 80, .push = static_cast<engine::Push>(choice % 3)}};
  return options;
}

/// One of 4 clients and 4 mappings, TCP or UDP, IPv4 or IPv6: tuples are shared often.
TuplePair session_of(std::uint8_t choice) {
  const auto client = static_cast<std::uint16_t>(1000 + (choice & 3));
  const auto mapped = static_cast<std::uint16_t>(2000 + ((choice >> 2) & 3));
  const Protocol protocol = (choice & 0x10) != 0 ? Protocol::udp : Protocol::tcp;
  const std::uint16_t port = protocol == Protocol::udp ? 53 : 80;
  if ((choice & 0x20) != 0) {
    return {{{address("2001:db8:9::7"), client}, {address("2001:db8:8::1"), port}, protocol},
            {{address("2001:db8:7::1"), mapped}, {address("2001:db8::1"), port}, protocol}};
  }
  return {{{address("203.0.113.7"), client}, {address("198.51.100.1"), port}, protocol},
          {{address("10.9.0.1"), mapped}, {address("10.0.0.1"), port}, protocol}};
}

/// Sessions of this host as client: one of 4 own ports and 4 outside ones.
TuplePair client_session_of(std::uint8_t choice) {
  const Protocol protocol = (choice & 0x10) != 0 ? Protocol::udp : Protocol::tcp;
  const Endpoint server = endpoint("198.51.100.9:443");
  return {{{address("10.0.0.1"), static_cast<std::uint16_t>(3000 + (choice & 3))}, server, protocol},
          {{address("203.0.113.99"), static_cast<std::uint16_t>(7000 + ((choice >> 2) & 3))}, server, protocol}};
}

bool is_client_side(const TuplePair& session) { return session.client_side.src.address == address("10.0.0.1"); }

/// As the engine looks it up.
Tuple inbound_of(const TuplePair& session) {
  return is_client_side(session) ? session.client_side.reversed() : session.server_side;
}

class Machine final : public engine::EventSink {
 public:
  explicit Machine(Octets script) : reader_(script), random_(1) { start(); }

  void run() {
    for (std::size_t i = 0; i < kMaxOperations && !reader_.rest().empty(); ++i) step();
    flush();
    check_promises();
    store_.fail_commits = false;
    act_store_.fail_commits = false;
    restart();
    check_promises();
  }

  void on_event(const engine::Event& event) override {
    if (event.kind != engine::EventKind::backup_released || event.detail == "commit failed") return;
    // A SYN/ACK shows that a live socket belongs to a later connection.
    const bool was_succeeded = event.detail == "connection without NS" || event.detail == "the port is used again";
    FUZZ_CHECK(was_succeeded || state_of(inbound_of(event.session)) != LocalState::live);
    std::erase(promised_, event.session);
    released_.push_back(event.session);
  }

 private:
  struct Waiting {
    std::uint32_t number;
    Direction direction;
    std::optional<TuplePair> session;  // an NS for it is inline
  };

  void start() {
    engine_ =
        std::make_unique<engine::HolderEngine>(options_with(choice_), store_, sessions_, paths_, random_, *this, &act_store_);
    FUZZ_CHECK(engine_->load(now_));
  }

  void restart() {
    store_.crash();
    act_store_.crash();
    cookies_.clear();
    proven_.clear();
    waiting_.clear();
    packets_.clear();
    start();
  }

  void step() {
    const std::uint8_t operation = reader_.u8();
    if (operation >= 0xF0) return client_step(operation);
    switch (operation % 16) {
      case 0:
        return packet(reader_.u8() % 2 == 0 ? Direction::inbound : Direction::outbound, raw(), {});
      case 1:
        return message(raw());
      case 2:
      case 3:
      case 4:
        return new_session();
      case 5:
        return message(qs(session_of(reader_.u8()).client_side).build());
      case 6:
        return response();
      case 7:
        return ended();
      case 8:
        return engine_->on_notices_lost(now_);
      case 9:
      case 10:
        return wait();
      case 11:
        sessions_.known[session_of(reader_.u8()).server_side] = static_cast<LocalState>(reader_.u8() % 4);
        return;
      case 12:
        flush();
        return check_promises();
      case 13:
        store_.fail_commits = reader_.u8() % 4 == 0;
        act_store_.fail_commits = store_.fail_commits;
        store_.capacity = 1 + reader_.u8() % 16;
        return;
      case 14:
        return restart();
      default:
        choice_ = reader_.u8();
        return engine_->reconfigure(now_, options_with(choice_));
    }
  }

  /// What happens to this host as a client.
  void client_step(std::uint8_t operation) {
    const std::uint8_t choice = reader_.u8();
    const TuplePair session = client_session_of(choice);
    switch (operation % 8) {
      case 0:
      case 1:
        return client_packet(session.client_side, choice);
      case 2:
      case 3:
      case 4:
        return gateway_answers(session, choice);
      case 5:
        sessions_.known[inbound_of(session)] = static_cast<LocalState>(reader_.u8() % 4);
        return;
      case 6:
        sessions_.known.erase(inbound_of(session));
        return engine_->on_session_end(now_, inbound_of(session));
      default:
        paths_.route = choice % 4;
        paths_.mtu = choice < 128 ? 1500 : choice;
    }
  }

  void client_packet(const Tuple& flow, std::uint8_t choice) {
    if (flow.protocol == Protocol::udp) return packet(Direction::outbound, udp(flow).payload("y").build(), {});
    static constexpr std::array<std::uint8_t, 8> kFlags = {0x02, 0x18, 0x10, 0x11, 0x04, 0x02, 0x12, 0x18};
    const std::uint8_t flags = kFlags[choice >> 5];
    const std::string_view payload = (flags & 0x08) != 0 ? "y" : "";
    packet(Direction::outbound, tcp(flow).flags(flags).seq(reader_.u8() % 4).payload(payload).build(), {});
  }

  /// To the last HS of the session, or to none.
  void gateway_answers(const TuplePair& session, std::uint8_t choice) {
    flush();
    const auto found = cookies_.find(session.client_side.src.port);
    const Cookie cookie = found == cookies_.end() ? Cookie{choice} : found->second.cookie;
    if (found != cookies_.end()) proven_.insert(found->second.route);
    auto builder = ns(session).cookie(cookie.value).node("192.0.2.10");
    if ((choice & 0x20) != 0) builder.wants_ack();
    if ((choice & 0xC0) != 0) return message(builder.build());
    const Tuple back = session.client_side.reversed();
    const Buffer plain = back.protocol == Protocol::tcp ? tcp(back).syn_ack().build() : udp(back).payload("z").build();
    Buffer with;
    FUZZ_CHECK(packet::insert_inline(*packet::PacketView::parse(plain), {}, builder.build(), 1500, with).has_value());
    packet(Direction::inbound, with, std::nullopt);
  }

  void note_hello(Octets octets, bool is_own) {
    const auto view = packet::PacketView::parse(octets);
    FUZZ_CHECK(view.has_value());
    const auto located = packet::locate(*view, {});
    FUZZ_CHECK(located.found());
    const auto decoded = view->is_tcp() ? wire::decode_prefix(located.room(*view)) : wire::decode(located.room(*view));
    FUZZ_CHECK(decoded.has_value());
    if (decoded->message.type != wire::MsgType::HS) return;
    FUZZ_CHECK(paths_.route != 0);
    if (view->is_tcp()) {
      FUZZ_CHECK((view->tcp_flags() & (packet::kTcpFin | packet::kTcpRst)) == 0);
      FUZZ_CHECK(is_own || !view->is_tcp_syn());
      FUZZ_CHECK(view->is_tcp_syn() || proven_.contains(paths_.route));
    } else {
      FUZZ_CHECK(!is_own || proven_.contains(paths_.route));
    }
    cookies_[view->tuple().src.port] = {decoded->message.cookie, paths_.route};
  }

  Buffer raw() {
    const std::size_t size = reader_.u8();
    const Octets rest = reader_.rest();
    const Octets taken = rest.first(std::min(size, rest.size()));
    for (std::size_t i = 0; i < taken.size(); ++i) reader_.u8();
    return Buffer(taken.begin(), taken.end());
  }

  void packet(Direction direction, Buffer octets, std::optional<TuplePair> session) {
    packets_.push_back(std::move(octets));
    waiting_.push_back({++number_, direction, session});
    engine_->on_packet(now_, {0, number_}, direction, packets_.back());
  }

  void message(const Buffer& octets) {
    engine_->on_message(now_, endpoint("192.0.2.10:4000"), endpoint("10.0.0.1:51200"), octets);
  }

  void new_session() {
    const TuplePair session = session_of(reader_.u8());
    const std::uint8_t how = reader_.u8();
    auto builder = ns(session).cookie(how).node("192.0.2.10").session_data(Buffer(how % 8, how));
    if ((how & 1) != 0) builder.wants_ack();
    const Buffer octets = builder.build();
    const bool is_tcp = session.client_side.protocol == Protocol::tcp;
    const Buffer plain = is_tcp ? tcp(session.server_side).flags((how & 2) != 0 ? 0x02 : 0x18).payload("x").build()
                                : udp(session.server_side).payload("x").build();
    const auto view = packet::PacketView::parse(plain);
    Buffer with;
    switch (how >> 6) {
      case 0:
      case 1:
        FUZZ_CHECK(packet::insert_inline(*view, {}, octets, 1500, with).has_value());
        return packet(Direction::inbound, with, session);
      case 2:
        FUZZ_CHECK(packet::make_separate(*view, {}, octets, 1500, with).has_value());
        return packet(Direction::inbound, with, std::nullopt);
      default:
        return message(octets);
    }
  }

  void response() {
    const Tuple back = session_of(reader_.u8()).server_side.reversed();
    const bool is_tcp = back.protocol == Protocol::tcp;
    packet(Direction::outbound, is_tcp ? tcp(back).syn_ack().build() : udp(back).payload("y").build(), {});
  }

  void ended() {
    Tuple session = session_of(reader_.u8()).server_side;
    if (reader_.u8() % 8 == 0) session.src.port = 0;
    sessions_.known.erase(session);
    engine_->on_session_end(now_, session);
  }

  void wait() {
    flush();
    const TimePoint end = now_ + std::chrono::milliseconds(reader_.u16() * 4);
    for (int i = 0; i < 1000; ++i) {
      const auto next = engine_->next_timeout();
      if (!next || *next > end) break;
      now_ = std::max(now_, *next);
      engine_->on_timeout(now_);
      flush();
    }
    now_ = end;
    engine_->on_timeout(now_);
  }

  void flush() {
    released_.clear();
    engine_->flush(now_);
    std::size_t verdicts = 0;
    for (const engine::Output& output : engine_->outbox().outputs()) {
      FUZZ_CHECK(output.kind != OutputKind::send_flow);
      const Octets octets = engine_->outbox().octets(output);
      if (output.kind == OutputKind::send_after) {
        note_hello(octets, true);
        continue;
      }
      if (output.kind == OutputKind::send_own) {
        check_own(octets);
        continue;
      }
      FUZZ_CHECK(verdicts < waiting_.size());
      const Waiting& waiting = waiting_[verdicts++];
      FUZZ_CHECK(waiting.number == output.packet.number);
      if (output.kind == OutputKind::replace) check_replaced(waiting, octets);
    }
    FUZZ_CHECK(verdicts == waiting_.size());
    FUZZ_CHECK(engine_->gauges().act_backups <= kMaxBackups);
    FUZZ_CHECK(engine_->gauges().backups - engine_->gauges().act_backups <= kMaxBackups);
    FUZZ_CHECK(engine_->gauges().embryonic <= 2 * kMaxBackups);
    engine_->outbox().clear();
    waiting_.clear();
    packets_.clear();
  }

  void check_replaced(const Waiting& waiting, Octets octets) {
    const auto view = packet::PacketView::parse(octets);
    FUZZ_CHECK(view.has_value());
    const bool has_message = packet::locate(*view, {}).found();
    FUZZ_CHECK(has_message == (waiting.direction == Direction::outbound));
    if (waiting.direction == Direction::outbound) note_hello(octets, false);
    if (waiting.session) promise(*waiting.session);
  }

  void check_own(Octets octets) {
    const auto view = packet::PacketView::parse(octets);
    FUZZ_CHECK(view.has_value());
    if (view->tuple().dst.port != kDefaultPort) {  // a PS in a packet of its own
      FUZZ_CHECK(packet::locate(*view, {}).found());
      return;
    }
    const auto decoded = wire::decode(view->payload());
    FUZZ_CHECK(decoded.has_value());
    if (decoded->message.type == wire::MsgType::NA) promise(decoded->message.tuples());
  }

  void promise(const TuplePair& session) {
    // A port that is used again ends its former session in the burst that stored it.
    if (is_client_side(session) && std::find(released_.begin(), released_.end(), session) != released_.end()) return;
    for (const TuplePair& other : promised_) {
      if (other == session) return;
      FUZZ_CHECK(other.client_side != session.client_side);
      FUZZ_CHECK(other.server_side != session.server_side);
    }
    promised_.push_back(session);
  }

  void check_promises() {
    const auto promised = promised_;
    for (const TuplePair& session : promised) {
      if (is_client_side(session) && (choice_ & 0x80) == 0) continue;  // off: kept, and not answered for
      message(qs(session.server_side.reversed()).build());
      engine_->flush(now_);
      // This flush may have found that the session ended.
      const bool still = std::find(promised_.begin(), promised_.end(), session) != promised_.end();
      FUZZ_CHECK(engine_->outbox().outputs().size() == 1);
      const auto view = packet::PacketView::parse(engine_->outbox().octets(engine_->outbox().outputs()[0]));
      const auto answer = wire::decode(view->payload());
      FUZZ_CHECK(answer.has_value());
      if (still) {
        FUZZ_CHECK(answer->message.type == wire::MsgType::RS);
        FUZZ_CHECK(answer->message.tuples() == session);
      }
      engine_->outbox().clear();
    }
  }

  LocalState state_of(const Tuple& session) const {
    const auto found = sessions_.known.find(session);
    return found == sessions_.known.end() ? LocalState::none : found->second;
  }

  Reader reader_;
  SeededRandom random_;
  struct Greeting {
    Cookie cookie;
    std::uint32_t route;
  };

  std::uint8_t choice_ = 3;
  MemoryStore store_;
  MemoryStore act_store_;
  std::map<std::uint16_t, Greeting> cookies_;  // of the last HS, by own port
  std::set<std::uint32_t> proven_;             // routes by which a gateway's answer may have come
  FakeSessions sessions_;
  FixedPaths paths_;
  TimePoint now_{std::chrono::hours(1)};
  std::unique_ptr<engine::HolderEngine> engine_;
  std::vector<TuplePair> promised_;
  std::vector<TuplePair> released_;  // of this flush
  std::vector<Waiting> waiting_;
  std::deque<Buffer> packets_;  // its elements stay where they are
  std::uint32_t number_ = 0;
};

}  // namespace

int one_input(Octets input) {
  Machine(input).run();
  return 0;
}

}  // namespace asrp::fuzz
