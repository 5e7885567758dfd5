// SPDX-License-Identifier: BSD-3-Clause
// The holder's counters. The list is complete: what is not counted here does not happen silently.
#pragma once

#include <cstdint>

#include "asrp/engine/counters.hpp"

// name in code, name for people, help
#define ASRP_HOLDER_COUNTERS(X)                                                                                              \
  X(packets_inbound, "packets.inbound", "packets that came in through the queue")                                            \
  X(packets_outbound, "packets.outbound", "packets that went out through the queue")                                         \
  X(packets_untouched, "packets.untouched", "inbound packets passed as they were: no message of ours in them")               \
  X(packets_forwarded, "packets.forwarded", "inbound packets for another host or network namespace, passed as they were")    \
  X(packets_unreadable, "packets.unreadable", "packets with malformed or unknown headers")                                   \
  X(packets_stripped, "packets.stripped", "packets handed on without their message")                                         \
  X(packets_consumed, "packets.consumed", "separate packets: message taken, packet discarded")                               \
  X(packets_unprotected, "packets.unprotected", "packets handed on although their backup could not be stored")               \
  X(packets_dropped_full, "packets.dropped_full", "packets dropped because their backup could not be stored")                \
  X(packets_dropped_conflict, "packets.dropped_conflict", "packets dropped with the NC that answered their NS")              \
  X(packets_dropped_message, "packets.dropped_message", "TCP segments dropped: a message of unknown extent in their data")   \
  X(packets_dropped_start, "packets.dropped_start", "packets with a message dropped before the store was loaded")            \
  X(messages_standalone, "messages.standalone", "datagrams to ASRP-PORT")                                                    \
  X(received_ns, "messages.received.NS", "NS received")                                                                      \
  X(received_na, "messages.received.NA", "NA received: never for a holder")                                                  \
  X(received_qs, "messages.received.QS", "QS received")                                                                      \
  X(received_rs, "messages.received.RS", "RS received: never for a holder")                                                  \
  X(received_rx, "messages.received.RX", "RX received: never for a holder")                                                  \
  X(received_hs, "messages.received.HS", "HS received: never for a holder")                                                  \
  X(received_ps, "messages.received.PS", "PS received: never for a holder")                                                  \
  X(received_nc, "messages.received.NC", "NC received: never for a holder")                                                  \
  X(sent_na, "messages.sent.NA", "NA sent")                                                                                  \
  X(sent_nc, "messages.sent.NC", "NC sent")                                                                                  \
  X(sent_rs, "messages.sent.RS", "RS sent")                                                                                  \
  X(sent_rx, "messages.sent.RX", "RX sent")                                                                                  \
  X(sent_ps, "messages.sent.PS", "PS sent")                                                                                  \
  X(discarded_truncated, "messages.discarded.truncated", "messages shorter than they say")                                   \
  X(discarded_version, "messages.discarded.version", "messages of an unknown version")                                       \
  X(discarded_type, "messages.discarded.type", "messages of an unknown type")                                                \
  X(discarded_sttype, "messages.discarded.sttype", "messages whose tuples do not fit their type")                            \
  X(discarded_length, "messages.discarded.length", "messages whose Length is wrong")                                         \
  X(discarded_option, "messages.discarded.option", "packets with a malformed option area or our option twice")               \
  X(discarded_ocs, "messages.discarded.ocs", "datagrams with a wrong option checksum")                                       \
  X(discarded_unexpected, "messages.discarded.unexpected", "valid messages that this holder does not take in this carriage") \
  X(discarded_sender, "messages.discarded.sender", "standalone messages from none of the configured nodes")                  \
  X(discarded_address, "messages.discarded.address", "NS whose server-side destination is not this host")                    \
  X(discarded_tuple, "messages.discarded.tuple", "inline NS that names another flow than that of its packet")                \
  X(discarded_protocol, "messages.discarded.protocol", "NS for a protocol other than TCP and UDP")                           \
  X(discarded_unspecified, "messages.discarded.unspecified", "NS with a zero address or port in a tuple")                    \
  X(discarded_session_data, "messages.discarded.session_data", "NS with more Session-Data than is stored")                   \
  X(discarded_start, "messages.discarded.start", "messages that came before the store was loaded")                           \
  X(discarded_hello, "messages.discarded.hello", "NS for a session of this host as client that answer no HS of its own")     \
  X(discarded_full, "messages.discarded.full", "NS that could not be stored")                                                \
  X(unanswered_address, "messages.unanswered.address", "answers without a usable address to send them to or from")           \
  X(unanswered_size, "messages.unanswered.size", "answers that no datagram holds")                                           \
  X(backups_loaded, "backups.loaded", "backups found in the store at the start")                                             \
  X(backups_damaged, "backups.damaged", "records of the store that could not be used, erased")                               \
  X(backups_stored, "backups.stored", "backups stored")                                                                      \
  X(backups_refreshed, "backups.refreshed", "NS of a session that was stored already")                                       \
  X(backups_unsaved, "backups.unsaved", "backups lost again because the store failed to commit")                             \
  X(released_ended, "backups.released.ended", "backups released: the local session ended")                                   \
  X(released_never_seen, "backups.released.never_seen", "backups released: no local session ever appeared")                  \
  X(released_evicted, "backups.released.evicted", "embryonic backups released to make room for newer ones")                  \
  X(released_gave_way, "backups.released.gave_way", "backups of ended UDP flows released early: the store was full")         \
  X(released_replaced, "backups.released.replaced", "backups released: the session was gone when a new one needed a tuple")  \
  X(conflicts_client, "conflicts.client_side", "NS refused for a conflict on the client side (F-CC)")                        \
  X(conflicts_server, "conflicts.server_side", "NS refused for a conflict on the server side")                               \
  X(conflicts_unknown, "conflicts.unknown_session", "SYN refused: a session without a backup has the server-side tuple")     \
  X(store_full, "store.full", "NS refused: as many backups as allowed, or the store refused the record")                     \
  X(store_commit_failed, "store.commit_failed", "commits of the store that failed")                                          \
  X(push_inline, "push.inline", "PS put into packets")                                                                       \
  X(push_separate, "push.separate", "PS sent in a packet of its own before its packet")                                      \
  X(push_impossible, "push.impossible", "PS that neither fitted nor could be sent separately")                               \
  X(push_unwanted, "push.unwanted", "first responses that need no PS")                                                       \
  X(push_no_backup, "push.no_backup", "first responses of sessions without a backup")                                        \
  X(sent_hs, "messages.sent.HS", "HS sent")                                                                                  \
  X(hello_inline, "hello.inline", "HS put into packets")                                                                     \
  X(hello_separate, "hello.separate", "HS sent in a packet of their own behind their packet")                                \
  X(hello_impossible, "hello.impossible", "HS that neither fitted nor could be sent separately")                             \
  X(hello_answered, "hello.answered", "NS that answer an HS")                                                                \
  X(hello_unanswered, "hello.unanswered", "HS without an NS within a second")                                                \
  X(hello_given_up, "hello.given_up", "packets without HS: their session has used up its tries")                             \
  X(hello_absent, "hello.absent", "packets without HS: no gateway answers on their route")                                   \
  X(hello_fast_open, "hello.fast_open", "SYN without HS: they use TCP Fast Open or carry data")                              \
  X(hello_rate, "hello.rate", "packets without HS: the rate of HS was reached")                                              \
  X(hello_no_room, "hello.no_room", "packets without HS: too many are outstanding")                                          \
  X(routes_proven, "hello.route_proven", "times that a route was found to have a gateway that answers")                      \
  X(routes_absent, "hello.route_absent", "times that a route was found to have none")                                        \
  X(sessions_looked_up, "sessions.looked_up", "look-ups of local sessions")                                                  \
  X(notices, "sessions.notices", "notices of ended sessions that name a backup")                                             \
  X(notices_foreign, "sessions.notices_foreign", "notices of ended sessions without a backup")                               \
  X(notices_partial, "sessions.notices_partial", "notices that lack a port or an address: all backups are looked at")        \
  X(notices_early, "sessions.notices_early", "notices that may be about an earlier session of the same tuple: ignored")      \
  X(notices_lost, "sessions.notices_lost", "times that notices were lost")                                                   \
  X(reconciliations, "sessions.reconciliations", "times that all backups were looked at")

namespace asrp::engine {

enum class HolderCounter : std::uint16_t {
#define ASRP_X(code, name, help) code,
  ASRP_HOLDER_COUNTERS(ASRP_X)
#undef ASRP_X
      count_
};

CounterInfo info(HolderCounter counter);

}  // namespace asrp::engine
