// SPDX-License-Identifier: BSD-3-Clause
// The rules of --check: what each is called, which section of the draft it comes from, and what its code gets to see. The rules
// themselves are grouped by what they look at: form, tuples, ns, query, push, flow. docs/asrpdump-check.md lists all.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "report/follow.hpp"

namespace asrp::dump {

struct Rule {
  std::string_view id;
  std::string_view section;
};

namespace rule {
// One packet.
inline constexpr Rule kValid{"valid", "4.3.1"};
inline constexpr Rule kReserved{"reserved", "4.1"};
inline constexpr Rule kCarriage{"carriage", "3.4.1"};
inline constexpr Rule kPort{"port", "3.4.2"};
inline constexpr Rule kConflictFlags{"conflict-flags", "4.3.3"};
inline constexpr Rule kChecksum{"checksum", "4.2.1"};
inline constexpr Rule kMtu{"mtu", "3.4.1"};
// The tuples in a message and the packet that carries it, or the session.
inline constexpr Rule kNsCarrier{"ns-carrier", "4.1.2"};
inline constexpr Rule kPsCarrier{"ps-carrier", "4.3.10"};
inline constexpr Rule kBackupTuples{"backup-tuples", "3.6"};
inline constexpr Rule kMode{"mode", "4.3.10"};
// NS and its answers.
inline constexpr Rule kAckCookie{"ack-cookie", "4.3.2"};
inline constexpr Rule kAckDestination{"ack-destination", "4.3.4"};
inline constexpr Rule kConflictDestination{"conflict-destination", "4.3.5"};
inline constexpr Rule kAckTuples{"ack-tuples", "4.1.6"};
inline constexpr Rule kAckUnasked{"ack-unasked", "4.3.4"};
inline constexpr Rule kAckMissing{"ack-missing", "4.3.3"};
inline constexpr Rule kNsAfterNa{"ns-after-na", "4.3.4"};
inline constexpr Rule kNsNotRepeated{"ns-not-repeated", "4.3.3"};
inline constexpr Rule kSessionData{"session-data", "3.6"};
// QS and its answers.
inline constexpr Rule kQueryPort{"query-port", "4.3.6"};
inline constexpr Rule kQueryRandom{"query-random", "4.3.6"};
inline constexpr Rule kQueryTuple{"query-tuple", "4.1.2"};
inline constexpr Rule kAnswerHeader{"answer-header", "4.3.7"};
inline constexpr Rule kAnswerCookie{"answer-cookie", "4.3.2"};
inline constexpr Rule kAnswerTuple{"answer-tuple", "4.3.6"};
inline constexpr Rule kAnswerUnasked{"answer-unasked", "4.3.6"};
inline constexpr Rule kAnswerMissing{"answer-missing", "4.3.6"};
inline constexpr Rule kAnswerWrong{"answer-wrong", "4.3.6"};
// PS and HS.
inline constexpr Rule kPushCookie{"push-cookie", "4.3.2"};
inline constexpr Rule kPushOrder{"push-order", "3.4.1"};
inline constexpr Rule kHelloCookie{"hello-cookie", "4.3.2"};
inline constexpr Rule kHelloDestination{"hello-destination", "4.3.9"};
inline constexpr Rule kHelloMissing{"hello-missing", "4.3.9"};
inline constexpr Rule kHelloOrder{"hello-order", "3.4.1"};
// The flow, where both sides of the node are in the capture.
inline constexpr Rule kNotRemoved{"not-removed", "4.2.1"};
inline constexpr Rule kSequence{"sequence", "4.2.1"};
inline constexpr Rule kStream{"stream", "4.2.1"};
}  // namespace rule

/// Every rule, in the order above.
extern const std::array<const Rule*, 38> kRules;

enum class Certainty : std::uint8_t {
  possible,  // packets that the capture missed, or that were lost behind it, would explain it
  certain,
};

struct Finding {
  const Rule* rule = nullptr;
  Certainty certainty = Certainty::possible;
  std::vector<std::uint64_t> packets;  // numbers, ascending
  std::string text;
  std::int64_t time = 0;
};

using FindingSink = std::function<void(Finding)>;

/// An NS of the session.
struct SentNs {
  Moment at;
  Cookie cookie;
  IpAddress node;
  TuplePair tuples;
  std::uint64_t session_data = 0;  // digest; 0 if there is none
  bool wants_ack = false;
  bool answered = false;
  bool refused = false;  // by NC
  bool in_syn = false;
};

/// What the rules remember of a session.
struct History : Attachment {
  static constexpr std::size_t kMostNs = 16;     // the latest
  static constexpr std::size_t kMostHellos = 8;  // likewise

  std::vector<SentNs> ns;
  std::uint32_t ns_in_all = 0;
  std::optional<Moment> na;  // the last NA, until the session begins anew
  IpAddress na_node;
  bool told_after_na = false;          // NS after `na`
  std::uint32_t packets_since_ns = 0;  // to the server, behind the node, from a second after the last NS on
  bool told_not_repeated = false;
  bool psv = false;          // an NS went to the server
  bool act = false;          // an NS went to the client
  std::optional<Moment> hs;  // the last HS without an NS yet
  Cookie hs_cookie;
  std::vector<Cookie> hellos;               // of the latest HS, any of which an NS may answer
  std::optional<Seen> hs_separate;          // its packet must have come before
  std::int64_t syn = 0;                     // when a SYN was last seen
  std::array<std::int64_t, 4> flow_seen{};  // when a packet of each side and direction was last seen
  std::optional<Moment> rs;                 // the last RS, and whose it was
  IpAddress rs_holder;
  std::optional<Moment> ps;  // the last PS with an NS's cookie, likewise
  IpAddress ps_holder;

  [[nodiscard]] std::size_t octets() const override {
    return sizeof(*this) + ns.capacity() * sizeof(SentNs) + hellos.capacity() * sizeof(Cookie);
  }
};

/// What the rules remember of the capture, within bounds.
struct Memory {
  struct Ports {
    static constexpr std::size_t kNotByChance = 9;    // queries in a row
    std::array<std::uint64_t, kNotByChance> asked{};  // what these were for; their ports follow a pattern
    std::size_t in_row = 0;
    std::uint16_t last = 0;
    std::int16_t step = 0;
    bool told = false;
  };
  struct PathMtu {
    std::uint32_t octets = 0;
    Moment at;
  };
  static constexpr std::size_t kMostNodes = 1024;
  static constexpr std::size_t kMostPaths = 4096;
  static constexpr std::size_t kMostNs = 512;
  static constexpr std::size_t kMostPairs = 65536;

  std::uint16_t port = 0;                                // ASRP-PORT
  std::unordered_map<std::string, Ports> ports;          // by node
  std::unordered_map<std::uint64_t, PathMtu> path_mtus;  // by flow_hash and direction
  std::vector<SentNs> latest_ns;                         // of all sessions, a ring
  std::size_t next_ns = 0;
  std::unordered_set<std::uint64_t> speakers;  // pairs of addresses with a valid standalone message between them
};

/// What a rule gets to see.
struct Case {
  const Heard& heard;
  History& history;  // of heard.session; an empty one for messages of no session
  Memory& memory;
  const FindingSink& sink;

  [[nodiscard]] const wire::Message& message() const { return *heard.message; }
  [[nodiscard]] const Moment& at() const { return heard.seen.at; }
  void find(const Rule& rule, Certainty certainty, std::initializer_list<std::uint64_t> packets, std::string text) const;
};

/// Nanoseconds within which an answer is expected, and a request is fresh.
inline constexpr std::int64_t kFresh = 1'000'000'000;
/// Likewise, within which no host repeats a SYN.
inline constexpr std::int64_t kSoonest = 200'000'000;

/// "NA 00c0ffee for tcp 192.0.2.1:1>192.0.2.2:2": the message as findings call it.
std::string name_of(const wire::Message& message);
/// The latest NS of the session with this cookie, or nothing.
SentNs* ns_with(History& history, Cookie cookie);
/// True for an NS that is sent to the client: in a packet of the flow, or to its address.
bool goes_to_client(const Case& c);
/// True if an NS of the session may answer an HS with this cookie.
bool has_hello(const History& history, Cookie cookie);
/// True if the capture has the session's only packet to the server so far on both sides of the node. Any further one, also one
/// that was seen in front of the node only, may have brought another NS or HS: another cookie, node, mapping or other data.
/// What was sent before may then be lost behind the capture. It speaks for the node that the capture shows, not for others.
bool has_one_trigger(const Case& c);
/// The same for all nodes: the packet was a SYN, so short a time ago that its client hasn't repeated it.
bool has_one_syn(const Case& c);
/// True for a PS in the SYN-ACK that follows the session's only NS, one in its only SYN.
bool answers_only_ns(const Case& c);
/// The one NS of the last second that was not answered yet, if it is the only one.
SentNs* only_fresh(History& history, std::int64_t now);

// The groups of rules. check_form() and check_tuples() see each sighting of a message, the others each message and packet once.
void check_invalid(const Packet& packet, const Memory& memory, const FindingSink& sink);
/// The packet with the message that it carries, where none is looked for: in a datagram neither of whose ports is ASRP-PORT.
/// Nothing, unless the message belongs to where it is: an NS from its Node-Local-IP to an address of its tuples, a QS or an
/// answer for a session of the capture, RS and RX with the cookie of a query.
std::optional<Packet> find_astray(const Packet& packet, const Memory& memory, Follower& follower);
/// Of such a QS. It asks nobody: the follower doesn't get it.
void check_astray_query(const Packet& packet, const FindingSink& sink);
/// Remembers the addresses of a valid standalone message.
void learn_speakers(const Heard& heard, Memory& memory);
void check_form(const Case& c, const Packet& packet);
void check_tuples(const Case& c);
void check_ns(const Case& c);
void check_ns_at_end(const Session& session, const History& history, const Memory& memory, std::int64_t now,
                     const FindingSink& sink);
void check_query(const Case& c);
void check_query_at_end(const Session& session, std::int64_t now, const FindingSink& sink);
void check_push(const Case& c);
void check_push_at_end(const History& history, std::int64_t now, const FindingSink& sink);
void check_flow(const Case& c);

/// An ICMP error that tells of a path's MTU.
void learn_path(const Packet& icmp, Memory& memory);

}  // namespace asrp::dump
