// SPDX-License-Identifier: BSD-3-Clause
// The network node of the draft, PSV and ACT mode, as a function of its inputs: no socket, no clock, no thread, no callback
// into it.
//
// One ordinary story: a TCP SYN arrives at a node (Tap::first). on_packet() chooses server and mapping, prepares a flow and the
// NS. flush() installs all flows of the burst, and for each that is there puts the accept with the NS inserted into the outbox.
// A mid-stream segment without session (Tap::stray) is kept, its original dropped, QS go out; the RS comes in by on_message();
// flush() installs the flow and the kept packet is sent (OutputKind::send_flow). docs/architecture.md tells the others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "asrp/base/bytes.hpp"
#include "asrp/base/random.hpp"
#include "asrp/base/time.hpp"
#include "asrp/engine/counters.hpp"
#include "asrp/engine/event.hpp"
#include "asrp/engine/explanation.hpp"
#include "asrp/engine/flow_table.hpp"
#include "asrp/engine/histogram.hpp"
#include "asrp/engine/node_counters.hpp"
#include "asrp/engine/node_options.hpp"
#include "asrp/engine/output.hpp"
#include "asrp/engine/unreachable.hpp"

namespace asrp::engine {

/// Where the kernel took the packet from; the node's rules have one queue for each.
enum class Tap : std::uint8_t {
  first,  // raw PREROUTING: a SYN to a service or of a client of ours, a server's SYN/ACK with a message; conntrack has not
          // seen it: accept goes on with it
  stray,  // mangle PREROUTING, conntrack NEW or INVALID: an untranslated conntrack is attached; only drop and send_flow are
          // right
  known,  // mangle PREROUTING, a known session's packet with an ASRP option, or whose entry is marked `waiting`
};

/// A recovery in flight, for listings.
struct QueryInFlight {
  enum class Kind : std::uint8_t { client, server, conflict };  // whose packet it is for, or the NC that began it
  enum class Answer : std::uint8_t { not_asked, silent, no_session, session };
  struct Asked {
    IpAddress address;
    Answer answer = Answer::silent;
  };
  Tuple flow;
  Kind kind = Kind::client;
  TimePoint started;
  std::size_t repeats = 0;
  std::size_t held_packets = 0;
  std::vector<Asked> asked;  // the query list, in its order
};

class NodeEngine final {
 public:
  /// `flows`, `paths`, `random` and `events` must outlive the engine.
  NodeEngine(NodeOptions options, FlowTable& flows, Paths& paths, RandomSource& random, EventSink& events);
  ~NodeEngine();

  // Inputs. Time never goes backwards. Not thread-safe.

  /// One queued packet; gets exactly one verdict in the outbox by the next flush(). `packet` must stay valid until then.
  void on_packet(TimePoint now, PacketId id, Tap tap, Octets packet);
  /// A datagram to ASRP-PORT of one of our addresses.
  void on_message(TimePoint now, const Endpoint& from, const IpAddress& to, Octets message);
  /// Whether an NA or NC is about a session that waits here for one: of several engines behind one address, the one that it is
  /// for.
  [[nodiscard]] bool expects(Octets message) const;
  /// Nobody listens on ASRP-PORT of a host. Has an effect only if it quotes a QS of ours that is outstanding.
  void on_port_unreachable(TimePoint now, const Unreachable& error);
  /// An entry that a dump found with mark `waiting` or `unprotected`: rebuilds what is in flight after a restart, and repeats
  /// the NS of unprotected sessions. The driver dumps once per NodeTiming::unprotected_interval and hands the entries over in
  /// as many bursts as it likes; what is sent for the unprotected ones is spread over that interval, from the end of the dump
  /// on.
  void on_marked_flow(TimePoint now, const FlowEntry& entry);
  /// All entries of a dump have been handed over.
  void on_marked_flows_end(TimePoint now);
  /// Whatever is due. Harmless if early.
  void on_timeout(TimePoint now);
  /// New options; what is in flight stays unless its service or server is gone.
  void reconfigure(TimePoint now, NodeOptions options);
  /// A server may have new sessions, or not any more. Holds for all services of that pool, and stays over a reconfigure() as
  /// long as the server is configured; a server that nobody spoke of is usable. False: there is no such server.
  bool on_server_state(TimePoint now, std::string_view pool, std::string_view server, ServerState state);
  /// A server has reported its load, of 0xffffffff: for the policies that go by it. False: there is no such server.
  bool on_load(TimePoint now, std::string_view pool, std::string_view server, std::uint32_t load);
  /// The session table is nearly full: new sessions of unproven first packets are refused until it is told otherwise
  /// (decision 5). Sessions that an RS or a PS brings are not.
  void set_table_pressure(bool pressure);
  /// Ends the burst: installs flows, decides verdicts. Call after the inputs of a burst and before reading the outbox.
  void flush(TimePoint now);

  // Outputs.
  Outbox& outbox();
  /// When on_timeout() wants to be called next.
  [[nodiscard]] std::optional<TimePoint> next_timeout() const;

  /// What on_packet() would do with a packet of this tuple now, and why, by the same decisions; changes nothing. `begins`: a
  /// packet that begins a session by its kind, a SYN or a datagram that the service's ExplicitFirst takes for one. Looks into
  /// the session table. Not for packets that carry a message, and not for ICMP errors.
  [[nodiscard]] Explanation explain(TimePoint now, const Tuple& packet, bool begins) const;

  [[nodiscard]] const Counters<NodeCounter>& counters() const;
  [[nodiscard]] const NodeOptions& options() const;
  /// In flight now: recoveries, held packets, waiting sessions; for gauges and tests.
  struct Gauges {
    std::size_t recoveries, held_packets, held_octets, waiting, attempts, holders_gone;
    /// Sessions without a backup, as the last complete dump of marked entries found them.
    std::size_t unprotected;
    /// Of engines that share a node's work. Each looks for itself which holders are gone: they are the same, and not added.
    Gauges& operator+=(const Gauges& other);
  };
  [[nodiscard]] Gauges gauges() const;
  [[nodiscard]] HolderSight holder_sight(const IpAddress& host) const;
  /// How long recoveries took from their first packet on, by what came of them.
  struct Durations {
    RecoveryHistogram restored, no_session, silence;
    Durations& operator+=(const Durations& other);
  };
  [[nodiscard]] const Durations& durations() const;
  /// Recoveries in flight, `most` of them at most, in no order.
  [[nodiscard]] std::vector<QueryInFlight> queries(std::size_t most) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace asrp::engine
