// SPDX-License-Identifier: BSD-3-Clause
// The backup holder of the draft, sans IO. Takes NS out of packets, stores, answers QS, pushes PS.
//
// One ordinary story: a SYN with an inline NS comes in. on_packet(inbound) validates, looks for conflicts, stores; flush()
// commits the store, and only then is the stripped packet's verdict in the outbox (decision 15). The SYN/ACK passes
// on_packet(outbound) and gets a PS if configured. A QS comes in by on_message() and is answered with RS or RX.
//
// As a client (ACT mode) the host begins: its SYN passes on_packet(outbound), and an HS follows it (OutputKind::send_after).
// The gateway's NS comes by on_message() and is stored if it answers that HS; the rest is as above.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "asrp/base/bytes.hpp"
#include "asrp/base/random.hpp"
#include "asrp/base/time.hpp"
#include "asrp/engine/counters.hpp"
#include "asrp/engine/event.hpp"
#include "asrp/engine/flow_table.hpp"
#include "asrp/engine/holder_counters.hpp"
#include "asrp/engine/holder_options.hpp"
#include "asrp/engine/output.hpp"
#include "asrp/session/backup.hpp"
#include "asrp/session/record_store.hpp"

namespace asrp::engine {

/// What the host knows of a local session.
enum class LocalState : std::uint8_t {
  none,
  live,       // a TCP socket or a tracked UDP flow, whose end will be reported
  time_wait,  // TCP in TIME-WAIT, or in FIN-WAIT-2: what is left of it ends without a report
  opening,    // TCP in SYN-RECV, which may end without a report; a UDP flow that nothing here has answered yet
};

/// The host's sockets (TCP) and tracked flows (UDP).
class LocalSessions {
 public:
  virtual ~LocalSessions() = default;
  /// State of each; in `sessions` the peer is the source, this host the destination. Batched: one system call per burst.
  virtual void look_up(std::span<const Tuple> sessions, std::span<LocalState> states) = 0;
};

enum class Direction : std::uint8_t { inbound, outbound };

/// What this host is in a session, and so in which of two separate tables its backup is (decision 21).
enum class Role : std::uint8_t {
  psv,  // the server: ST2 ends here
  act,  // the client: ST1 begins here
};

class HolderEngine final {
 public:
  /// All references must outlive the engine. Loads nothing: call load() before the first packet. `act_store`: for the backups
  /// of sessions in which this host is the client; without it there are none.
  HolderEngine(HolderOptions options, session::RecordStore& store, LocalSessions& sessions, Paths& paths, RandomSource& random,
               EventSink& events, session::RecordStore* act_store = nullptr);
  ~HolderEngine();

  /// Builds the indexes from the stores, and drops what has no local session any more (decision 15). Until it returned true the
  /// engine answers nothing. Call once.
  bool load(TimePoint now);

  // Inputs. Time never goes backwards. Not thread-safe.

  /// One queued packet; gets exactly one verdict by the next flush(), in the order of the packets. `packet` must stay valid
  /// until then. Outbound, a verdict with mark 0x1 says that the flow needs the queue no more.
  void on_packet(TimePoint now, PacketId id, Direction direction, Octets packet);
  /// A datagram to ASRP-PORT of this host.
  void on_message(TimePoint now, const Endpoint& from, const Endpoint& to, Octets message);
  /// A socket or a tracked UDP flow ended: an occasion to look (decisions 18, 19). `session`: peer, then this host.
  /// Ports or addresses that the notice lacks are 0.
  void on_session_end(TimePoint now, const Tuple& session);
  /// Notices were lost (ENOBUFS): look at all.
  void on_notices_lost(TimePoint now);
  void on_timeout(TimePoint now);
  void reconfigure(TimePoint now, HolderOptions options);
  /// The host's addresses now.
  void on_local_addresses(std::span<const IpAddress> addresses);
  /// Ends the burst: looks at what is due, commits the store, then decides verdicts and answers. Call it after on_timeout() and
  /// the notices too: what they released is committed here.
  void flush(TimePoint now);

  Outbox& outbox();
  /// True when a route has become one whose gateway answers, and not more often than once in ten seconds: flows that a verdict
  /// with mark 0x1 has taken off the queue may come back to it, those of which may_ask() is true.
  bool take_sweep(TimePoint now);
  /// Whether an HS may still get a backup for a flow, as this host sends it.
  [[nodiscard]] bool may_ask(const Tuple& flow);
  [[nodiscard]] std::optional<TimePoint> next_timeout() const;
  [[nodiscard]] const Counters<HolderCounter>& counters() const;
  [[nodiscard]] const HolderOptions& options() const;
  struct Gauges {
    std::size_t backups, embryonic, index_octets;  // of both roles
    std::size_t act_backups;                       // those of sessions in which this host is the client
    std::size_t hellos;                            // sessions that have sent an HS and have no backup, or have it lately
    std::size_t routes_unknown, routes_absent, routes_proven;  // whether a gateway answers HS on them
  };
  [[nodiscard]] Gauges gauges() const;
  /// For listings: the backup of this role with this number, if there is one. All have numbers below backup_limit().
  [[nodiscard]] std::optional<session::Backup> backup(Role role, std::uint32_t number) const;
  [[nodiscard]] std::uint32_t backup_limit(Role role) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace asrp::engine
