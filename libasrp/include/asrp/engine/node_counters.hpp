// SPDX-License-Identifier: BSD-3-Clause
// The node's counters. The list is complete: what is not counted here does not happen silently.
#pragma once

#include <cstdint>

#include "asrp/engine/counters.hpp"

// name in code, name for people, help
#define ASRP_NODE_COUNTERS(X)                                                                                             \
  X(packets_first, "packets.first", "packets taken at the raw tap")                                                       \
  X(packets_stray, "packets.stray", "packets without a session")                                                          \
  X(packets_known, "packets.known", "packets of known sessions on the slow path")                                         \
  X(packets_held, "packets.held", "packets held for a recovery")                                                          \
  X(packets_sent, "packets.sent", "packets of flows sent on by the engine")                                               \
  X(packets_consumed, "packets.consumed", "separate packets whose message was taken")                                     \
  X(packets_stripped, "packets.stripped", "packets from which a message was removed")                                     \
  X(packets_forwarded, "packets.forwarded", "packets of a server forwarded as they are, without a session")               \
  X(resets_sent, "packets.resets", "RST sent for segments without a session")                                             \
  X(unreachable_sent, "packets.unreachable", "ACT: ICMP errors sent to clients without a free port")                      \
  X(sessions_created, "sessions.created", "new sessions")                                                                 \
  X(sessions_outside_list, "sessions.outside_list", "new sessions at a server outside the query list")                    \
  X(sessions_all_down, "sessions.all_down", "new sessions at a server held for down: all are")                            \
  X(sessions_again, "sessions.again", "first packets whose session exists")                                               \
  X(sessions_replaced, "sessions.replaced", "entries removed for a new session: closing, or their server is gone")        \
  X(sessions_outdated, "sessions.outdated", "entries of ended sessions removed because the holder knows a newer one")     \
  X(sessions_restored_rs, "sessions.restored_rs", "sessions restored by RS")                                              \
  X(sessions_restored_ps, "sessions.restored_ps", "sessions restored by PS")                                              \
  X(sessions_restored_again, "sessions.restored_again", "RS or PS for a session that is there already")                   \
  X(sessions_acknowledged, "sessions.acknowledged", "waiting sessions acknowledged by NA or PS")                          \
  X(sessions_unprotected, "sessions.unprotected", "sessions that go on without a backup")                                 \
  X(sessions_midstream, "sessions.midstream", "ACT: TCP sessions begun in mid-stream because nobody has a backup")        \
  X(sessions_admitted, "sessions.admitted", "ACT: sessions begun from outside, to an endpoint that takes them")           \
  X(sessions_port_reused, "sessions.port_reused", "ACT: entries of closed connections replaced for want of ports")        \
  X(sessions_dns_ended, "sessions.dns_ended", "ACT: sessions of DNS ended after their answer, for their ports")           \
  X(conflicts_local, "conflicts.local", "mappings taken by another session of this node")                                 \
  X(conflicts_server_side, "conflicts.server_side", "mappings refused by NC")                                             \
  X(conflicts_client_side, "conflicts.client_side", "NC with F-CC")                                                       \
  X(conflicts_kept, "conflicts.kept", "ACT: NC for sessions whose packets have left, which stay")                         \
  X(hellos_answered, "hellos.answered", "ACT: HS answered with NS")                                                       \
  X(hellos_no_session, "hellos.no_session", "ACT: HS without a session, not answered")                                    \
  X(hellos_limited, "hellos.limited", "ACT: HS not answered: over the rate")                                              \
  X(recoveries_started, "recoveries.started", "recoveries begun")                                                         \
  X(recoveries_no_session, "recoveries.no_session", "recoveries that ended with RX from every candidate")                 \
  X(recoveries_silence, "recoveries.silence", "recoveries that ended in silence")                                         \
  X(recoveries_second_round, "recoveries.second_round", "second rounds of queries")                                       \
  X(recoveries_budget, "recoveries.budget", "second rounds left out: over the rate")                                      \
  X(recoveries_list_cut, "recoveries.list_cut", "query lists longer than one round")                                      \
  X(recoveries_gave_up_silence, "recoveries.created_after_silence", "UDP sessions created after three silent recoveries") \
  X(drops_malformed, "drops.malformed", "packets that do not parse")                                                      \
  X(drops_no_service, "drops.no_service", "packets that belong to no service")                                            \
  X(drops_no_range, "drops.no_range", "ACT: packets of no configured client, or to an outside port that is nobody's")     \
  X(drops_exhausted, "drops.exhausted", "ACT: first packets of clients all of whose ports are taken")                     \
  X(drops_outside_syn, "drops.outside_syn", "ACT: connections begun from outside")                                        \
  X(drops_no_holder, "drops.no_holder", "ACT: packets from outside without a session, to clients without a holder")       \
  X(drops_outside_rate, "drops.outside_rate", "ACT: packets from outside beyond the queries per second of their client")  \
  X(drops_no_backend, "drops.no_backend", "new sessions without a usable server")                                         \
  X(drops_refused, "drops.refused", "unproven first packets refused because the table is nearly full")                    \
  X(drops_table_full, "drops.table_full", "packets whose session found no room")                                          \
  X(drops_install, "drops.install", "packets whose session could not be installed")                                       \
  X(drops_mapping, "drops.mapping", "packets for whose session every mapping tried was taken")                            \
  X(drops_unchecked, "drops.unchecked", "packets that ended because no holder had confirmed their full-NAT mapping")      \
  X(drops_conflict, "drops.conflict", "packets whose RS or PS contradicts a live entry")                                  \
  X(drops_no_session, "drops.no_session", "packets dropped after RX from every candidate")                                \
  X(drops_silence, "drops.silence", "packets dropped because a recovery ended in silence")                                \
  X(drops_session_limit, "drops.session_limit", "packets beyond the held packets of one session")                         \
  X(drops_held_limit, "drops.held_limit", "packets beyond the held packets or octets in all")                             \
  X(drops_recoveries_limit, "drops.recoveries_limit", "packets beyond the recoveries in flight")                          \
  X(drops_ttl, "drops.ttl", "packets whose TTL ended here")                                                               \
  X(drops_no_local_address, "drops.no_local_address", "packets whose recovery has no address to ask from")                \
  X(drops_reconfigured, "drops.reconfigured", "held packets whose service or server was removed")                         \
  X(drops_icmp, "drops.icmp", "ICMP errors about no session")                                                             \
  X(sent_ns_inline_tcp, "messages_sent.ns.inline-tcp", "NS in TCP segments")                                              \
  X(sent_ns_inline_udp, "messages_sent.ns.inline-udp", "NS in UDP options")                                               \
  X(sent_ns_standalone, "messages_sent.ns.standalone", "NS in datagrams of their own")                                    \
  X(sent_qs_standalone, "messages_sent.qs.standalone", "QS, repeats included")                                            \
  X(sent_probes, "messages_sent.qs.probe", "QS that ask only whether a holder is there")                                  \
  X(received_ns, "messages_received.ns", "NS received")                                                                   \
  X(received_na, "messages_received.na", "NA received")                                                                   \
  X(received_qs, "messages_received.qs", "QS received")                                                                   \
  X(received_rs, "messages_received.rs", "RS received")                                                                   \
  X(received_rx, "messages_received.rx", "RX received")                                                                   \
  X(received_hs, "messages_received.hs", "HS received")                                                                   \
  X(received_ps, "messages_received.ps", "PS received")                                                                   \
  X(received_nc, "messages_received.nc", "NC received")                                                                   \
  X(discarded_truncated, "messages_discarded.truncated", "messages shorter than they say")                                \
  X(discarded_version, "messages_discarded.version", "messages of an unknown version")                                    \
  X(discarded_type, "messages_discarded.type", "messages of an unknown type")                                             \
  X(discarded_sttype, "messages_discarded.sttype", "messages whose STType does not fit the type")                         \
  X(discarded_length, "messages_discarded.length", "messages whose Length is wrong")                                      \
  X(discarded_option, "messages_discarded.option", "malformed option areas, or the option twice")                         \
  X(discarded_ocs, "messages_discarded.ocs", "UDP option checksums that do not verify")                                   \
  X(discarded_unexpected, "messages_discarded.unexpected", "messages of a type that a node does not take there")          \
  X(discarded_client, "messages_discarded.client", "messages from the client's side")                                     \
  X(discarded_outside, "messages_discarded.outside", "ACT: messages from outside, where nobody may send any")             \
  X(discarded_not_local, "messages_discarded.not_local", "datagrams to an address that is not this node's own")           \
  X(discarded_unmatched, "messages_discarded.unmatched", "answers to nothing outstanding")                                \
  X(discarded_repeated, "messages_discarded.repeated", "answers of a candidate that had answered")                        \
  X(discarded_address, "messages_discarded.address", "answers from an address that was not asked")                        \
  X(discarded_cookie, "messages_discarded.cookie", "messages with a wrong cookie")                                        \
  X(discarded_port, "messages_discarded.port", "RS and RX that do not reuse the port of the QS")                          \
  X(discarded_protocol, "messages_discarded.protocol", "answers of another protocol than the request")                    \
  X(discarded_tuple, "messages_discarded.tuple", "messages whose tuples are not those of the request or packet")          \
  X(discarded_illegitimate, "messages_discarded.illegitimate", "sessions that this cluster can't have")                   \
  X(discarded_elsewhere, "messages_discarded.elsewhere", "RS that name a session at another server than the one asked")   \
  X(discarded_unreachable, "messages_discarded.unreachable", "ICMP port unreachable that quotes no QS outstanding")       \
  X(discarded_entry, "messages_discarded.entry", "sessions that contradict a live entry")                                 \
  X(discarded_disagree, "messages_discarded.disagree", "RS of candidates behind the one that was used")                   \
  X(inline_mtu, "inline_unfit.mtu", "first packets too large for an inline NS")                                           \
  X(inline_option_room, "inline_unfit.option_room", "SYN without room for the option")                                    \
  X(inline_protected, "inline_unfit.protected", "segments or datagrams that must not be edited")                          \
  X(inline_other, "inline_unfit.other", "first packets that can't carry an NS for another reason")                        \
  X(inline_avoided, "inline_unfit.avoided", "SYN to servers towards which SYN with data vanish")                          \
  X(inline_suspected, "inline_unfit.suspected", "SYN with inline NS that were repeated unanswered")                       \
  X(limit_waiting, "limits.waiting", "sessions that could not wait for their NA: too many do")                            \
  X(limit_unprotected, "limits.unprotected", "unprotected sessions without an NS in a minute: too many are")              \
  X(limit_attempts, "limits.attempts", "first packets not kept for an NC: too many are")                                  \
  X(clients_no_holder, "clients.no_holder", "ACT: clients that turned out to have no holder")                             \
  X(clients_holder, "clients.holder", "ACT: clients without a holder that had one after all")                             \
  X(holders_alive, "holders.alive", "holders that began to answer")                                                       \
  X(holders_gone, "holders.gone", "holders that ceased to answer")

namespace asrp::engine {

enum class NodeCounter : std::uint16_t {
#define ASRP_X(code, name, help) code,
  ASRP_NODE_COUNTERS(ASRP_X)
#undef ASRP_X
      count_
};

CounterInfo info(NodeCounter counter);

}  // namespace asrp::engine
