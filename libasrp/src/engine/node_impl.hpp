// SPDX-License-Identifier: BSD-3-Clause
// Inside of the NodeEngine. One file per procedure: node_decide (what to do), node_explain (and why), node_create (new
// sessions), node_install (flush), node_recovery (QS, RS, RX), node_abandon (nothing found), node_syn_ack, node_stray and
// node_known (the taps), node_strip (messages in packets), node_messages (datagrams), node_waiting (NS until NA), node_marked
// (dumps), node_conflict (NC), node_liveness (holders), node_servers (which server, and what is told of them), node_send (what
// goes out). Where the modes differ, those that serve both ask node_side. ACT mode alone: node_act_first and node_act_stray
// (the taps), node_act_decide, node_act_explain, node_act_create, node_act_recover, node_act_clients (what is known of clients'
// holders), node_act_dns (sessions that end early), and node_hello (HS, and packets of known sessions).
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asrp/engine/node_engine.hpp"
#include "asrp/packet/carriage.hpp"
#include "asrp/packet/locate.hpp"
#include "asrp/packet/packet_view.hpp"
#include "asrp/policy/rate_limiter.hpp"
#include "asrp/session/packet_pool.hpp"
#include "asrp/session/pending.hpp"
#include "asrp/session/slot_pool.hpp"
#include "asrp/session/tag_table.hpp"
#include "asrp/session/timer_queue.hpp"
#include "asrp/session/tuple_index.hpp"
#include "asrp/wire/decode.hpp"
#include "engine/node_act_clients.hpp"
#include "engine/node_config.hpp"
#include "engine/node_liveness.hpp"
#include "engine/server_choice.hpp"

namespace asrp::engine {

using Counter = NodeCounter;

/// ICMP errors of our own; hosts and routers limit theirs (RFC 1812 4.3.2.8).
inline constexpr std::uint32_t kProhibitedPerSecond = 100;

struct NodeEngine::Impl {
  Impl(NodeOptions options, FlowTable& flows, Paths& paths, RandomSource& random, EventSink& events);

  // --- values that live for one burst ---------------------------------------------------------------------------------

  /// Octets of a packet until the end of the burst: the caller's, in the outbox's buffer, or a held copy.
  struct PacketRef {
    enum class Where : std::uint8_t { caller, outbox, held } where = Where::caller;
    Octets octets;
    std::size_t start = 0;
    std::size_t size = 0;
    session::PacketPool::Handle held = session::PacketPool::kNone;
  };
  /// A packet that goes on once its session is there.
  struct Item {
    PacketRef packet;
    std::optional<PacketId> verdict;  // taken at the raw tap: accepted, not sent
    bool carries_ns = false;          // a SYN: makes an NS of its own
    std::uint32_t next = session::kNoSlot;
  };
  enum class Origin : std::uint8_t { first_packet, after_query, next_mapping, restored_rs, restored_ps };
  enum class NsPlan : std::uint8_t { none, inline_ready, standalone };
  /// A session to be installed by flush().
  struct Install {
    Flow flow;
    Origin origin = Origin::first_packet;
    const ServiceState* service = nullptr;
    Holder* holder = nullptr;
    RankSet tried = 0;           // servers of the query list that did not do
    std::uint16_t tries = 1;     // mappings tried
    std::uint16_t refusals = 0;  // of them by NC
    bool replaced = false;       // an entry in the way was removed once
    bool done = false;
    bool existing = false;                 // the entry was there before
    FlowMark entry_mark = FlowMark::none;  // of the entry that was there
    bool ack_wanted = false;               // F-NA: a session that does not begin with an explicit first packet
    bool no_inline = false;                // this first packet must not carry the NS
    Counter failure = Counter::count_;     // why not, if set
    NsPlan plan = NsPlan::none;
    std::size_t ns_start = 0;  // the first item with its NS, prepared in the outbox's buffer
    std::size_t ns_size = 0;
    std::uint32_t first_item = session::kNoSlot;
    std::uint32_t last_item = session::kNoSlot;
    std::optional<TimePoint> asked_since;  // restored by RS
    bool begins = false;                   // restored, yet a SYN: its session may be here already

    // ACT mode
    policy::PortRange range;        // of the client
    std::optional<Cookie> hello;    // HS that is answered once the session is there
    std::uint16_t closing_try = 0;  // the first try that met the entry of a closed connection; 0: none has
    bool midstream = false;         // a TCP session whose beginning was not seen here
    bool by_mapping = false;        // this try is the port by which the client's endpoint is known
    bool mapping_failed = false;    // that one was of no use
    bool from_outside = false;      // begun by a packet from outside, to the endpoint that it goes to

    /// No service: it goes where the client wants.
    [[nodiscard]] bool is_act() const { return service == nullptr; }
    [[nodiscard]] bool is_restored() const { return origin == Origin::restored_rs || origin == Origin::restored_ps; }
  };
  /// A packet being looked at.
  struct Incoming {
    PacketId id;
    Tap tap;
    packet::PacketView view;
    bool edited = false;  // `view` lies in scratch_
  };
  /// What a client's packet had in it (ACT mode).
  struct Hello {
    bool broken = false;    // what is left is no packet
    bool separate = false;  // there was nothing else in it
    std::optional<Cookie> cookie;
  };
  enum class TimerKind : std::uint8_t { recovery, waiting, attempt, probe, unprotected, dns };

  // --- node_engine.cpp ------------------------------------------------------------------------------------------------

  void start(TimePoint now);
  void on_packet(TimePoint now, PacketId id, Tap tap, Octets packet);
  void on_timeout(TimePoint now);
  void reconfigure(TimePoint now, NodeOptions options);
  void drop_orphans(TimePoint now);
  void apply_limits();

  // --- node_decide.cpp: what to do, apart from doing it; explain() and the taps share it -------------------------------

  [[nodiscard]] Step decide_syn(TimePoint now, const ServiceState& service, const Tuple& syn) const;
  [[nodiscard]] Step decide_client(TimePoint now, const ServiceState& service, const Tuple& packet, bool begins) const;
  [[nodiscard]] Step decide_server(TimePoint now, const Tuple& packet) const;
  /// What is in flight for a tuple and takes the packet along, if anything.
  [[nodiscard]] std::optional<Step> decide_join(TimePoint now, const Tuple& packet) const;
  /// `create` or `refuse`.
  [[nodiscard]] Step decide_create(const Tuple& packet) const;
  /// `then`, unless nobody can be asked about the packet.
  [[nodiscard]] Step decide_ask(const Tuple& packet, Step then) const;
  /// Whether a first packet whose session is there goes on by that.
  [[nodiscard]] bool goes_on_by(const ServiceState& service, const FlowEntry& entry) const;
  /// A packet of that kind begins a session of the service.
  [[nodiscard]] static bool is_explicit_first(const ServiceState& service, const packet::PacketView& view);
  [[nodiscard]] static bool is_first_datagram(ExplicitFirst kind, Octets payload);
  /// The former owner of a SYN's hash region that is to be asked first, if any.
  [[nodiscard]] std::optional<std::uint16_t> former_to_ask(TimePoint now, const ServiceState& service, const Tuple& syn) const;
  /// In which round each server of a query list is asked: 1, 2, or 0 for never.
  struct Rounds {
    std::array<std::uint8_t, 2 * kMaxCandidates> of{};
    std::size_t first = 0;  // asked in the first one
  };
  [[nodiscard]] static Rounds rounds_of(const ServiceState& service, const policy::QueryList& list);

  // --- node_explain.cpp -----------------------------------------------------------------------------------------------

  [[nodiscard]] Explanation explain(TimePoint now, const Tuple& packet, bool begins) const;
  void explain_client(TimePoint now, const ServiceState& service, Explanation& out) const;
  void explain_choice(TimePoint now, const ServiceState& service, Explanation& out) const;
  void explain_query(TimePoint now, const ServiceState& service, Explanation& out) const;
  [[nodiscard]] Explanation::Candidate describe(TimePoint now, const ServiceState& service, std::uint16_t backend) const;

  // --- node_act_explain.cpp -------------------------------------------------------------------------------------------

  void explain_act(TimePoint now, const Side& side, Explanation& out) const;
  void explain_act_client(TimePoint now, const Side& side, Explanation& out) const;
  void add_asked(TimePoint now, const IpAddress& client, std::string_view reason, Explanation& out) const;

  // --- node_side.cpp: where the modes differ, for what is common to them ------------------------------------------------

  /// Counts a packet that belongs to nothing.
  void count_foreign();
  /// The outside port of its session is chosen here.
  [[nodiscard]] static bool chooses_port(const Install& install);
  /// Whether a first packet's session, which is there, goes on with it.
  [[nodiscard]] bool continues(const Install& install, const FlowEntry& entry) const;
  /// Of full NAT: how many ports are tried for one session.
  [[nodiscard]] static std::uint64_t most_ports(const ServiceState& service);
  /// Another mapping, after the last one was taken; or why there is none.
  [[nodiscard]] Counter next_try(TimePoint now, Install& install);
  /// What a holder tells is about the packet that it was asked for.
  [[nodiscard]] bool answers(const session::Recovery& recovery, const TuplePair& session) const;
  /// Whether a client's packet that is no first one may begin a session once nobody has one.
  [[nodiscard]] bool may_begin_in_midstream(const Tuple& packet) const;
  /// Nobody waits for the answer of this host's holder.
  [[nodiscard]] bool is_gone(TimePoint now, const IpAddress& host) const;
  [[nodiscard]] bool counts_as_gone(const IpAddress& server) const;

  // --- node_act_decide.cpp --------------------------------------------------------------------------------------------

  [[nodiscard]] Step decide_act_syn(TimePoint now, const Tuple& syn) const;
  [[nodiscard]] Step decide_act_create(TimePoint now, const Tuple& packet) const;
  [[nodiscard]] Step decide_act_client(TimePoint now, const Tuple& packet, bool begins) const;
  [[nodiscard]] Step decide_act_lost(TimePoint now, const Tuple& packet) const;
  [[nodiscard]] Step decide_act_outside(TimePoint now, const Tuple& packet, bool begins) const;
  [[nodiscard]] bool act_begins(const packet::PacketView& view) const;
  /// Where a client's packet goes on to; nothing if that is another client's outside endpoint where nothing is mapped.
  [[nodiscard]] std::optional<Endpoint> act_destination(const Tuple& packet) const;
  struct ClientList {
    std::array<IpAddress, kMaxCandidates> clients;
    std::size_t count = 0;
    [[nodiscard]] const IpAddress* begin() const { return clients.data(); }
    [[nodiscard]] const IpAddress* end() const { return clients.data() + count; }
  };
  /// Whether a packet from outside needs no session, by the mapping of the endpoint that it goes to.
  [[nodiscard]] bool act_admits(const Tuple& packet) const;
  /// Whose outside endpoint that is, and whose it was.
  [[nodiscard]] ClientList act_clients_of(const Endpoint& outside) const;
  /// For the memory of clients that have no port free towards a destination.
  [[nodiscard]] static Tuple exhausted_key(const Tuple& packet);

  // --- node_act_create.cpp --------------------------------------------------------------------------------------------

  bool act_map(Install& install, const Tuple& packet, const policy::PortRange& range) const;
  bool act_choose_port(Install& install) const;
  [[nodiscard]] Counter act_next_port(TimePoint now, Install& install);
  /// A client's first packet, of that tuple. `goes_on`: false for a copy that has only brought an HS.
  void act_create(TimePoint now, Incoming& in, const Tuple& packet, const policy::PortRange& range, std::optional<Cookie> hello,
                  bool goes_on);
  void act_settle_held(TimePoint now, session::Recovery& recovery, const policy::PortRange& range);
  void act_create_from_outside(TimePoint now, Incoming& in);
  /// The first packet that is held is a RST.
  bool begins_with_reset(const session::Recovery& recovery);
  static bool is_reset(const packet::PacketView& view) { return view.is_tcp() && (view.tcp_flags() & packet::kTcpRst) != 0; }
  void act_refuse(TimePoint now, Incoming& in, Step why);
  void act_reset(const packet::PacketView& segment);
  /// Tells a client, if it is to be told, and the log that no port is left.
  void tell_exhausted(TimePoint now, Octets packet);

  // --- node_act_first.cpp, node_act_stray.cpp -------------------------------------------------------------------------

  void act_first(TimePoint now, Incoming& in, const Side& side);
  void act_stray_from_client(TimePoint now, Incoming& in, const Side& side);
  void act_stray_with_hello(TimePoint now, Incoming& in, const Side& side, const Hello& hello);
  void act_create_from_stray(TimePoint now, Incoming& in, const Side& side, std::optional<Cookie> hello);
  void act_stray_from_outside(TimePoint now, Incoming& in);
  void act_error_from_client(TimePoint now, Incoming& in, const Tuple& trigger);
  void act_error_from_outside(TimePoint now, Incoming& in, const Tuple& trigger);
  void act_echo(TimePoint now, Incoming& in, const Tuple& echo);
  void act_join_or_ask(TimePoint now, Incoming& in, const Tuple& trigger, Step step, bool icmp);

  // --- node_act_recover.cpp -------------------------------------------------------------------------------------------

  void act_ask(TimePoint now, Incoming& in, session::RecoveryKind kind, const Tuple& trigger, bool icmp);
  void act_not_found(TimePoint now, std::uint32_t slot, const Side& side);
  void act_end_in_silence(TimePoint now, std::uint32_t slot, const Side& side);
  void act_unreachable(TimePoint now, const IpAddress& client);
  /// A client's holder has sent something.
  void act_heard(TimePoint now, const IpAddress& client);

  // --- node_act_dns.cpp -----------------------------------------------------------------------------------------------

  /// Looks after a new session, if it is one of DNS.
  void watch_dns(TimePoint now, const TuplePair& session);
  void on_dns_due(TimePoint now, std::uint32_t slot);
  void schedule_dns(TimePoint now, std::uint32_t slot);

  // --- node_hello.cpp -------------------------------------------------------------------------------------------------

  /// Takes any message out of a client's packet, and looks whether it is an HS.
  Hello take_hello(TimePoint now, Incoming& in);
  void answer_hello(TimePoint now, const TuplePair& session, Cookie cookie);
  /// Answers the HS of a packet whose session is in the table. False: it is not.
  bool answer_known(TimePoint now, const Tuple& packet, Cookie cookie);
  void act_known_from_client(TimePoint now, Incoming& in);
  void act_known_from_outside(TimePoint now, Incoming& in);
  void pass_known(Incoming& in, bool ends);
  /// An NC for an NS that answered an HS. False: it is for none.
  bool on_nc_of_hello(TimePoint now, const Endpoint& from, const wire::Message& message);

  // --- node_first.cpp -------------------------------------------------------------------------------------------------

  void on_first(TimePoint now, Incoming& in);
  void first_from_client(TimePoint now, Incoming& in, const ServiceState& service);
  bool ask_former_owner(TimePoint now, Incoming& in, const ServiceState& service);

  // --- node_create.cpp ------------------------------------------------------------------------------------------------

  /// A session for an explicit first packet from the client's side.
  void create(TimePoint now, Incoming& in, const ServiceState& service);
  /// A session for the packets held by a recovery that found none.
  void create_for_held(TimePoint now, session::Recovery& recovery, const ServiceState& service);
  static void choose_mapping(Install& install);
  /// Where no server takes new sessions: the mapping of the entry that the packet's session has here. False: it has none.
  bool use_entry(Install& install);
  void plan_ns(Install& install);
  /// Whether the NS may travel in this SYN: not if the path seems to swallow SYNs with data.
  void consider_path(TimePoint now, Install& install, const packet::PacketView& syn);
  /// Whom the NS of a session goes to; nullptr if there is no holder, or none that is trusted.
  Holder* holder_of(const ServiceState* service, const TuplePair& session);
  bool prepare_inline(Install& install, Octets packet);
  /// A hash region may have another owner since a moment ago (decision 14).
  bool changed_lately(TimePoint now, const ServiceState& service) const;

  // --- node_servers.cpp -----------------------------------------------------------------------------------------------

  /// Server of `install`, whose client-side tuple is set. False: none can have it.
  bool choose_server(TimePoint now, Install& install);
  bool choose_another(TimePoint now, Install& install);
  void use_server(Install& install, const Backend& backend);
  [[nodiscard]] bool may_begin_again(const ServiceState& service, const Endpoint& server) const;
  void equip_services(NodeConfig* before);
  bool on_server_state(std::string_view pool, std::string_view server, ServerState state);
  bool on_load(TimePoint now, std::string_view pool, std::string_view server, std::uint32_t load);

  // --- node_install.cpp -----------------------------------------------------------------------------------------------

  void flush(TimePoint now);
  void install_pending(TimePoint now);
  void resolve(TimePoint now, Install& install, InstallResult result);
  void resolve_existing(Install& install, const FlowEntry& entry);
  bool replaces_outdated(TimePoint now, Install& install);
  void resolve_port_taken(TimePoint now, Install& install);
  void adopt(Install& install, const FlowEntry& entry);
  void emit(TimePoint now, Install& install);
  void emit_failed(Install& install);
  void emit_item(TimePoint now, Install& install, std::uint32_t item);
  void emit_unchecked(TimePoint now, Install& install, std::uint32_t item);
  void emit_ns(TimePoint now, const Install& install);
  /// Counts the NS that a packet of the session takes along.
  void count_inline_ns(TimePoint now, const TuplePair& tuples);
  void settle(TimePoint now, const Install& install, bool held);
  void release_items(const Install& install);
  bool is_outdated(TimePoint now, const FlowEntry& entry, const TuplePair& told);
  std::uint32_t find_install(const Tuple& tuple) const;
  std::uint32_t add_install(Install&& install);
  void append_item(Install& install, const Item& item);
  PacketRef ref_of(const Incoming& in);
  Octets octets_of(const PacketRef& ref);

  // --- node_company.cpp -----------------------------------------------------------------------------------------------

  [[nodiscard]] bool needs_company(const Install& install) const;
  [[nodiscard]] bool has_to_wait(const Install& install) const;
  void hold_first(TimePoint now, Install& install);
  void pass_attempt(const TuplePair& tuples);
  /// A client's packet of a session whose mapping no holder has confirmed. False: the session is none of those.
  bool go_in_company(TimePoint now, Incoming& in, const ServiceState& service);

  // --- node_syn_ack.cpp -----------------------------------------------------------------------------------------------

  void first_from_server(TimePoint now, Incoming& in);
  [[nodiscard]] bool made_lately(TimePoint now, const TuplePair& session);

  // --- node_stray.cpp, node_known.cpp ---------------------------------------------------------------------------------

  void on_stray(TimePoint now, Incoming& in);
  void stray_from_client(TimePoint now, Incoming& in, const ServiceState& service);
  void stray_from_server(TimePoint now, Incoming& in);
  void stray_icmp(TimePoint now, Incoming& in);
  /// Attaches the packet to what is in flight for its tuple. False: nothing is.
  bool join_in_flight(TimePoint now, Incoming& in, const Tuple& trigger, bool icmp);
  std::uint32_t restore_by_ps(const Incoming& in, const TuplePair& session);
  void acknowledge_by_ps(const TuplePair& session);
  /// A stray packet of a server whose PS, taken out already, proves `session`.
  void go_with_ps(TimePoint now, Incoming& in, const TuplePair& session, bool separate);
  void on_known(TimePoint now, Incoming& in);
  void known_from_client(TimePoint now, Incoming& in, const ServiceState& service);
  void known_from_server(TimePoint now, Incoming& in);

  /// A message found in a packet of a flow.
  struct Found {
    packet::Located located;
    std::size_t size = 0;                  // octets to take out; 0: the option alone
    std::optional<wire::Message> message;  // a valid one
    bool separate = false;
  };
  void known_with_outdated_entry(TimePoint now, Incoming& in, const Found& found, const FlowEntry& entry,
                                 const TuplePair& session);
  /// Looks for a message and counts what is wrong with it. Nothing: there is no option to take out.
  std::optional<Found> find_message(TimePoint now, const packet::PacketView& view);
  /// Takes the message out; the rest is `in.view` from now on. False: the rest does not parse.
  bool strip(Incoming& in, const Found& found);
  /// From the untrusted side: takes any message out unprocessed. False: the packet is consumed or broken.
  bool strip_unwanted(TimePoint now, Incoming& in, Counter reason);
  /// The session that a PS in a server's packet proves, or nothing.
  std::optional<TuplePair> verified_ps(TimePoint now, const Incoming& in, const Found& found);
  /// Counts a PS that tells of another session than the one that is there; its packet must not go on.
  void refuse_contradiction(TimePoint now, const Incoming& in);

  // --- node_recovery.cpp ----------------------------------------------------------------------------------------------

  std::uint32_t find_recovery(const Tuple& tuple) const;
  [[nodiscard]] std::vector<QueryInFlight> queries(std::size_t most) const;
  /// Begins to ask; the packet is held. kNoSlot: not possible, and counted.
  std::uint32_t start_recovery(TimePoint now, session::RecoveryKind kind, const Tuple& trigger, bool may_create);
  void recover_client(TimePoint now, Incoming& in, const ServiceState& service, const Tuple& trigger, bool icmp);
  void recover_server(TimePoint now, Incoming& in, const Tuple& trigger, bool icmp);
  void add_candidate(session::Recovery& recovery, const IpAddress& address);
  bool hold(std::uint32_t slot, Octets packet, bool icmp);
  void ask_round(TimePoint now, std::uint32_t slot, std::size_t upto);
  void send_query(TimePoint now, const session::Recovery& recovery, const session::Candidate& candidate);
  void evaluate(TimePoint now, std::uint32_t slot);
  void evaluate_all(TimePoint now);
  void on_recovery_due(TimePoint now, std::uint32_t slot);
  void schedule_recovery(TimePoint now, std::uint32_t slot);
  void restore(TimePoint now, std::uint32_t slot);
  void join_other_direction(const TuplePair& session);
  void not_found(TimePoint now, std::uint32_t slot);
  void end_in_silence(TimePoint now, std::uint32_t slot);
  void forward_as_is(session::Recovery& recovery);
  void answer_reset(session::Recovery& recovery);
  void drop_held(session::Recovery& recovery, Counter reason);
  void move_held(session::Recovery& recovery, Install& install, bool with_icmp);
  void free_recovery(std::uint32_t slot);

  // --- node_messages.cpp ----------------------------------------------------------------------------------------------

  void on_message(TimePoint now, const Endpoint& from, const IpAddress& to, Octets octets);
  [[nodiscard]] bool expects(Octets message) const;
  [[nodiscard]] Cookie query_cookie(std::uint32_t random) const;
  [[nodiscard]] std::uint32_t recovery_of(const IpAddress& from, const wire::Message& message) const;
  void on_answer(TimePoint now, const Endpoint& from, const wire::Message& message);
  void on_recovered(TimePoint now, std::uint32_t slot, std::size_t candidate, const wire::Message& message);
  void discard(TimePoint now, Counter reason, const Tuple& flow, const IpAddress& peer);
  void count_received(TimePoint now, const wire::Message& message, packet::Carriage carriage, const IpAddress& peer);

  // --- node_waiting.cpp -----------------------------------------------------------------------------------------------

  std::uint32_t find_waiting(const Tuple& client_side) const;
  /// False: too many wait. `put_off`: when its first NS is due; zero if it is on its way.
  bool start_waiting(TimePoint now, const TuplePair& tuples, bool was_unprotected, Duration put_off);
  void on_waiting_due(TimePoint now, std::uint32_t slot);
  void remind(TimePoint now, const Tuple& client_side);
  void acknowledge(std::uint32_t slot);
  void end_other_waiting(const TuplePair& present);
  void free_waiting(std::uint32_t slot);
  void on_na(TimePoint now, const Endpoint& from, const wire::Message& message);
  void send_ns(TimePoint now, const TuplePair& tuples, Cookie cookie, bool ack_wanted);
  void set_unprotected(TimePoint now, const TuplePair& tuples);

  // --- node_marked.cpp ------------------------------------------------------------------------------------------------

  void on_marked_flow(TimePoint now, const FlowEntry& entry);
  [[nodiscard]] bool wants_ns(const FlowEntry& entry) const;
  void resume_waiting(TimePoint now, const FlowEntry& entry);
  void end_listing(TimePoint now);
  void send_slice(TimePoint now);
  void ask_for_backup(TimePoint now, const TuplePair& tuples);

  // --- node_conflict.cpp ----------------------------------------------------------------------------------------------

  std::uint32_t find_attempt(const Tuple& client_side) const;
  /// `held`: the packet has not gone on. False: it was not kept.
  bool keep_attempt(TimePoint now, const Install& install, bool held);
  /// Ends an attempt without its packet: what was held of it is dropped, a copy is not needed any more.
  void drop_attempt(std::uint32_t slot);
  /// Ends an attempt; its packet is the caller's from now on.
  void forget_attempt(std::uint32_t slot);
  void on_nc(TimePoint now, const Endpoint& from, const wire::Message& message);
  void next_mapping(TimePoint now, std::uint32_t attempt, const ServiceState& service);
  void ask_conflicting(TimePoint now, std::uint32_t attempt, const IpAddress& holder);

  // --- node_liveness.cpp ----------------------------------------------------------------------------------------------

  void list_holders(TimePoint now);
  void spread_probes(TimePoint now);
  void schedule_probe(Holder& holder, TimePoint due);
  void on_probe_due(TimePoint now, std::uint32_t slot, TimePoint due);
  void send_probe(TimePoint now, const Holder& holder);
  void holder_answered(TimePoint now, const IpAddress& address);
  void holder_silent(TimePoint now, Holder& holder);
  bool on_probe_answer(TimePoint now, const Endpoint& from, const wire::Message& message);
  [[nodiscard]] bool quotes_our_query(const Unreachable& error) const;
  void on_port_unreachable(TimePoint now, const Unreachable& error);

  // --- node_send.cpp --------------------------------------------------------------------------------------------------

  void send_message(TimePoint now, const Endpoint& from, const Endpoint& to, const wire::Message& message);
  void send_flow(Octets packet);
  void send_flow_held(session::PacketPool::Handle handle);
  void send_flow_range(std::size_t start, std::size_t size);
  void event(TimePoint now, EventKind kind, const Tuple& flow, const TuplePair& session, const IpAddress& peer,
             std::string_view detail, Duration latency = {});
  void count(Counter counter, std::uint64_t n = 1) { counters_.add(counter, n); }

  [[nodiscard]] std::uint64_t hash(const Tuple& tuple) const { return table_hash(normalised(tuple), seed_); }
  /// The same for a SYN that is sent again.
  [[nodiscard]] std::uint64_t syn_tag(const packet::PacketView& syn) const {
    return hash(syn.tuple()) ^ syn.tcp_sequence() * 0x9e3779b97f4a7c15u;
  }
  /// One number for a pair, for the table of what was installed a moment ago.
  [[nodiscard]] std::uint64_t pair_tag(const TuplePair& pair) const {
    return table_hash(pair.client_side, seed_ ^ 0x5bd1e995) ^ table_hash(pair.server_side, seed_);
  }
  /// `told`: by an RS or a PS; else made here.
  void remember(TimePoint now, const TuplePair& pair, bool told);
  /// Takes an entry out of the session table.
  void remove_flow(const TuplePair& pair);

  // --- state ----------------------------------------------------------------------------------------------------------

  std::unique_ptr<NodeConfig> config_;
  FlowTable& flows_;
  Paths& paths_;
  RandomSource& random_;
  EventSink& events_;
  std::uint64_t seed_;
  Counters<NodeCounter> counters_;
  Durations durations_;
  Outbox outbox_;
  bool started_ = false;
  bool pressure_ = false;
  Holders holders_;
  std::map<std::pair<std::string, std::string>, ServerState> not_usable_;  // by pool and server
  std::vector<IpAddress> probes_;                                          // whom a probe timer's slot means
  std::vector<std::uint32_t> free_probes_;

  // in flight
  session::TimerQueue timers_;
  session::PacketPool packets_;
  session::SlotPool<session::Held> held_;
  session::SlotPool<session::Recovery> recoveries_;
  session::TupleIndex recovery_index_;  // by trigger
  session::SlotPool<session::Waiting> waiting_;
  session::TupleIndex waiting_index_;  // by client-side tuple
  session::SlotPool<session::Attempt> attempts_;
  session::TupleIndex attempt_index_;  // by client-side tuple

  /// A session of DNS, and how long its entry had when it was last looked at.
  struct DnsSession {
    TuplePair tuples;
    std::optional<std::uint32_t> left;
    bool looked = false;
  };
  session::SlotPool<DnsSession> dns_;

  // marked entries of the last dump
  bool listing_ = false;  // it is being handed over
  std::uint32_t listing_round_ = 0;
  std::size_t listed_waiting_ = 0;
  std::size_t listed_unprotected_ = 0;    // that want an NS
  std::size_t seen_unprotected_ = 0;      // all
  std::size_t sessions_unprotected_ = 0;  // seen by the last complete dump
  std::vector<TuplePair> unprotected_;    // whose NS are spread over the interval
  std::size_t next_unprotected_ = 0;

  // memories that forget
  struct Installed {
    std::uint64_t pair = 0;  // pair_tag()
    bool told = false;       // by an RS or a PS: the holder knows what came of it since
  };
  session::TagTable<Installed> installed_;           // by the tuple of either side
  session::TagTable<std::uint8_t> seen_syn_;         // SYN with an inline NS
  session::TagTable<std::uint8_t> silent_in_a_row_;  // UDP flows whose last recoveries ended in silence
  policy::RateLimiter second_rounds_;

  // ACT mode
  static constexpr Duration kHelloMemory = std::chrono::milliseconds(200);
  struct AnsweredHello {
    std::uint64_t pair = 0;  // pair_tag()
    Cookie cookie;
  };
  std::optional<ActClients> clients_;                 // once it was on
  session::TagTable<AnsweredHello> answered_hellos_;  // by client-side tuple
  session::TagTable<std::uint8_t> exhausted_;         // clients without a free port, by destination; and those told of
  policy::RateLimiter prohibited_{kProhibitedPerSecond};

  // the burst
  std::vector<Install> installs_;
  std::vector<Item> items_;
  session::TupleIndex burst_index_;  // by either tuple
  std::vector<Flow> batch_;
  std::vector<std::uint32_t> batch_slots_;
  std::vector<InstallResult> results_;
  Buffer scratch_;
  Buffer message_;
};

}  // namespace asrp::engine
