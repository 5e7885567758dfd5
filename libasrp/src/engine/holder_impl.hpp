// SPDX-License-Identifier: BSD-3-Clause
// The inside of HolderEngine, shared by its files:
//   holder_engine.cpp   the facade; the order of things in a burst
//   holder_inbound.cpp  what a packet or a datagram is: reading, validation, what is taken
//   holder_backup.cpp   NS: conflicts, storing, NA and NC
//   holder_answer.cpp   QS: RS and RX; sending
//   holder_push.cpp     PS into outgoing packets
//   holder_hello.cpp    HS for outgoing packets, and what answers them; holder_hello_again.cpp repeats them
//   holder_life.cpp     how long a backup lives
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "asrp/engine/holder_engine.hpp"
#include "asrp/packet/locate.hpp"
#include "asrp/packet/packet_view.hpp"
#include "asrp/policy/rate_limiter.hpp"
#include "asrp/wire/decode.hpp"
#include "asrp/wire/message.hpp"
#include "engine/hello_table.hpp"
#include "engine/holder_book.hpp"
#include "engine/route_evidence.hpp"

namespace asrp::engine {

/// One input of a burst and what is to come of it. All of them wait for flush(), in order: what is stored must be committed
/// before anybody is told, and packets of a flow must not overtake each other.
struct HolderInput {
  enum class Kind : std::uint8_t {
    pass,   // a packet to accept as it is
    drop,   // a packet to drop
    strip,  // a packet to hand on without its message, or to consume if it is a separate one
    store,  // an NS: inline, separate or standalone
    query,  // a QS
    push,   // an outgoing packet
  };
  enum class Outcome : std::uint8_t { none, stored, conflict, full };

  Kind kind = Kind::pass;
  Outcome outcome = Outcome::none;
  bool has_packet = false;
  bool is_separate = false;
  bool is_taken = false;      // a session without a backup has its server-side tuple
  bool is_from_node = false;  // standalone: of whose sessions it may speak
  bool is_from_gateway = false;
  bool data_is_held = false;  // message.session_data lies in held_octets_, at `held_offset`
  packet::Carriage carriage = packet::Carriage::standalone;
  Book* book = nullptr;  // of an NS
  PacketId id;
  std::optional<packet::PacketView> view;
  packet::Located located;
  std::size_t message_size = 0;
  std::size_t held_offset = 0;
  wire::Message message;                // as received
  std::optional<wire::Message> answer;  // NA or NC
  Endpoint from;                        // standalone only
  Endpoint to;
};

/// Set on a packet that takes its flow off the outgoing queue; the rules save it to the connmark (decision 22).
inline constexpr std::uint32_t kMarkDone = 0x1;

/// HS of a session whose route has a gateway that answers.
inline constexpr unsigned kTriesProven = 8;

struct HolderEngine::Impl {
  using Kind = HolderInput::Kind;
  using Outcome = HolderInput::Outcome;

  /// Why a session is looked up, and so what the result means.
  enum class Why : std::uint8_t {
    load,
    notice,
    first_look,
    last_look,
    ending,
    lingering,
    reconcile,
    evict,
    room,
    conflict,
    taken
  };
  struct Look {
    Book* book;
    std::uint32_t slot;  // `taken`: place of the input
    Why why;
  };

  Impl(HolderOptions o, session::RecordStore& store, LocalSessions& local, Paths& p, RandomSource& r, EventSink& sink,
       session::RecordStore* act_store);

  // holder_engine.cpp
  void use_options(HolderOptions o);
  void flush(TimePoint now);
  void deliver(TimePoint now, HolderInput& input);
  void deliver_without_message(const HolderInput& input);
  void commit(TimePoint now, Book& book);
  [[nodiscard]] std::optional<TimePoint> next_timeout() const;
  [[nodiscard]] bool is_local(const IpAddress& address) const;
  Book& psv() { return books.front(); }
  void count(HolderCounter c, std::uint64_t n = 1) { counters.add(c, n); }

  // holder_inbound.cpp
  void read_inbound(TimePoint now, HolderInput& input, Octets packet);
  void read_message(TimePoint now, HolderInput& input);
  void read_standalone(TimePoint now, const Endpoint& from, const Endpoint& to, Octets octets);
  bool accepts(TimePoint now, HolderInput& input);
  bool is_of_client(const wire::Message& ns);
  void refuse(TimePoint now, const HolderInput& input, HolderCounter reason);
  void count_received(TimePoint now, const HolderInput& input, const IpAddress& peer);

  // holder_backup.cpp
  void want_conflict_looks();
  void want_conflict_look(Book& book, const Tuple& tuple, const TuplePair& wanted);
  void want_taken_look(std::uint32_t place);
  void take_backup(TimePoint now, HolderInput& input);
  bool give_way(TimePoint now, HolderInput& input, std::uint32_t slot, const TuplePair& older, std::uint8_t side_flag);
  void refuse_taken(TimePoint now, HolderInput& input);
  void refresh(TimePoint now, HolderInput& input, std::uint32_t slot);
  void store(TimePoint now, HolderInput& input, bool replaces);
  void accept_backup(HolderInput& input);
  bool make_room(TimePoint now, Book& book);
  bool make_embryonic_room(TimePoint now, Book& book);
  void drop_rolled_back(TimePoint now, Book& book);

  // holder_answer.cpp
  void answer_query(TimePoint now, const HolderInput& input);
  bool answer_from(TimePoint now, Book& book, const HolderInput& input, const Endpoint& from, const Endpoint& to);
  void send_answer(TimePoint now, const HolderInput& input);
  bool send_standalone(TimePoint now, const wire::Message& message, const Endpoint& from, const Endpoint& to);

  // holder_push.cpp
  void push(TimePoint now, const HolderInput& input);
  [[nodiscard]] bool wants_push(const TuplePair& session) const;
  [[nodiscard]] bool has_predecessor(const Book& book, std::uint32_t slot) const;

  // holder_hello.cpp
  Book* act();
  bool is_client_packet(const packet::PacketView& view);
  [[nodiscard]] bool is_greeted(const Tuple& flow) const;
  bool is_backed(TimePoint now, const packet::PacketView& view);
  void forget_hello(const Hello& hello);
  void greet(TimePoint now, const HolderInput& input);
  void send_hello(TimePoint now, const HolderInput& input, const Hello& hello, bool is_proven);
  void note_hello(Hello& hello, std::uint32_t route, TimePoint now);
  bool answers_hello(TimePoint now, const HolderInput& input);
  bool take_sweep(TimePoint now);
  bool may_ask(const Tuple& flow);
  void settle_hello(TimePoint now, const Tuple& flow);
  void watch_hellos(TimePoint now);
  // holder_hello_again.cpp
  void keep_for_again(const HolderInput& input, Hello& hello);
  void ask_again(TimePoint now);

  // holder_life.cpp
  void load(TimePoint now);
  void load(TimePoint now, Book& book);
  void on_session_end(TimePoint now, const Tuple& ended);
  void on_session_end(TimePoint now, Book& book, std::uint32_t slot, const Tuple& ended);
  void begin_reconciliation(TimePoint now, Book& book);
  void maintain(TimePoint now);
  void want_looks(TimePoint now, Book& book);
  void want_look(TimePoint now, Book& book, std::uint32_t slot, Why why);
  void want_due_looks(TimePoint now, Book& book);
  void want_eviction_looks(TimePoint now, Book& book);
  void want_room_looks(TimePoint now, Book& book);
  void want_reconcile_looks(TimePoint now, Book& book);
  void look_up();
  void apply(TimePoint now, const Look& look, LocalState state, const Tuple& session);
  void apply_opening(TimePoint now, const Look& look);
  void apply_none(TimePoint now, const Look& look, const Tuple& session);
  void ended(TimePoint now, Book& book, std::uint32_t slot, const Tuple& session);
  void release(TimePoint now, Book& book, std::uint32_t slot, HolderCounter reason, std::string_view detail);
  void begin_life(TimePoint now, Book& book, std::uint32_t slot, bool ambiguous);
  [[nodiscard]] Duration linger_of(const Book& book, const Tuple& session) const;

  HolderOptions options;
  std::vector<IpAddress> local_ips;  // sorted; in force
  std::vector<IpAddress> host_ips;   // as the driver told
  std::deque<Book> books;            // that of PSV first
  LocalSessions& sessions;
  Paths& paths;
  EventSink& events;
  RandomSource& randomness;
  HelloTable hellos;
  RouteEvidence evidence;
  policy::RateLimiter hello_rate;
  std::vector<std::uint32_t> unanswered_routes;  // scratch
  std::vector<Tuple> repeatable;                 // scratch
  std::optional<TimePoint> sweep_due;
  std::optional<TimePoint> last_sweep;
  Counters<HolderCounter> counters;
  Outbox outbox;
  bool ready = false;

  std::vector<HolderInput> inputs;  // of this burst
  Buffer held_octets;               // Session-Data of its standalone messages
  Buffer message_octets;            // scratch: an encoded message

  // Look-ups: wanted, then done in one call.
  std::vector<Look> looks;
  std::vector<Tuple> look_tuples;
  std::vector<LocalState> look_states;
  std::vector<std::uint32_t> due_slots;  // scratch
  TimePoint last_input{};
};

}  // namespace asrp::engine
