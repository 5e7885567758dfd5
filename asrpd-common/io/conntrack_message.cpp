// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/conntrack_message.hpp"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tcp.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <sys/socket.h>

#include <array>

#include "asrp/packet/echo.hpp"
#include "io/attributes.hpp"

namespace asrp::io {

namespace {

constexpr std::uint8_t kTcpSynSent = 1;  // enum tcp_conntrack, as ctnetlink has it
constexpr std::uint8_t kTcpEstablished = 3;
constexpr std::uint8_t kTcpLastAck = 6;
constexpr std::uint8_t kTcpTimeWait = 7;
constexpr std::uint8_t kTcpClose = 8;

nlmsghdr* start(std::uint8_t* at, int type, int flags, std::uint32_t sequence, int family) {
  nlmsghdr* message = mnl_nlmsg_put_header(at);
  message->nlmsg_type = static_cast<std::uint16_t>(NFNL_SUBSYS_CTNETLINK << 8 | type);
  message->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  message->nlmsg_seq = sequence;
  auto* general = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(nfgenmsg)));
  general->nfgen_family = static_cast<std::uint8_t>(family);
  general->version = NFNETLINK_V0;
  general->res_id = 0;
  return message;
}

int family_number(const Tuple& tuple) { return tuple.family() == Family::v4 ? AF_INET : AF_INET6; }

void put_address(nlmsghdr* message, int v4_type, int v6_type, const IpAddress& address) {
  const Octets octets = address.octets();
  mnl_attr_put(message, static_cast<std::uint16_t>(address.is_v4() ? v4_type : v6_type), octets.size(), octets.data());
}

/// How conntrack names an echo request and its answer.
struct EchoNames {
  std::uint16_t identifier, type, code;  // attributes
  std::uint8_t request, reply;           // values of the type
};

constexpr EchoNames echo_names(Protocol protocol) {
  if (protocol == Protocol::icmp) return {CTA_PROTO_ICMP_ID, CTA_PROTO_ICMP_TYPE, CTA_PROTO_ICMP_CODE, 8, 0};
  return {CTA_PROTO_ICMPV6_ID, CTA_PROTO_ICMPV6_TYPE, CTA_PROTO_ICMPV6_CODE, 128, 129};
}

/// Both have the identifier of the one who asks; which of them it is the type says.
void put_echo(nlmsghdr* message, const Tuple& tuple) {
  const EchoNames names = echo_names(tuple.protocol);
  const bool asks = tuple.dst.port == 0;
  mnl_attr_put_u16(message, names.identifier, htons(asks ? tuple.src.port : tuple.dst.port));
  mnl_attr_put_u8(message, names.type, asks ? names.request : names.reply);
  mnl_attr_put_u8(message, names.code, 0);
}

void put_tuple(nlmsghdr* message, std::uint16_t type, const Tuple& tuple) {
  nlattr* whole = mnl_attr_nest_start(message, type);
  nlattr* ip = mnl_attr_nest_start(message, CTA_TUPLE_IP);
  put_address(message, CTA_IP_V4_SRC, CTA_IP_V6_SRC, tuple.src.address);
  put_address(message, CTA_IP_V4_DST, CTA_IP_V6_DST, tuple.dst.address);
  mnl_attr_nest_end(message, ip);
  nlattr* protocol = mnl_attr_nest_start(message, CTA_TUPLE_PROTO);
  mnl_attr_put_u8(message, CTA_PROTO_NUM, static_cast<std::uint8_t>(tuple.protocol));
  if (packet::is_icmp(tuple.protocol)) {
    put_echo(message, tuple);
  } else {
    mnl_attr_put_u16(message, CTA_PROTO_SRC_PORT, htons(tuple.src.port));
    mnl_attr_put_u16(message, CTA_PROTO_DST_PORT, htons(tuple.dst.port));
  }
  mnl_attr_nest_end(message, protocol);
  mnl_attr_nest_end(message, whole);
}

// Always with the port: without one the kernel makes an entry with port 0 (kernel-notes 12).
void put_translation(nlmsghdr* message, std::uint16_t type, const Endpoint& to) {
  nlattr* nat = mnl_attr_nest_start(message, type);
  put_address(message, CTA_NAT_V4_MINIP, CTA_NAT_V6_MINIP, to.address);
  put_address(message, CTA_NAT_V4_MAXIP, CTA_NAT_V6_MAXIP, to.address);
  nlattr* port = mnl_attr_nest_start(message, CTA_NAT_PROTO);
  mnl_attr_put_u16(message, CTA_PROTONAT_PORT_MIN, htons(to.port));
  mnl_attr_put_u16(message, CTA_PROTONAT_PORT_MAX, htons(to.port));
  mnl_attr_nest_end(message, port);
  mnl_attr_nest_end(message, nat);
}

void put_tcp_state(nlmsghdr* message, std::uint8_t state) {
  constexpr nf_ct_tcp_flags kLiberal{IP_CT_TCP_FLAG_BE_LIBERAL, IP_CT_TCP_FLAG_BE_LIBERAL};
  nlattr* information = mnl_attr_nest_start(message, CTA_PROTOINFO);
  nlattr* tcp = mnl_attr_nest_start(message, CTA_PROTOINFO_TCP);
  mnl_attr_put_u8(message, CTA_PROTOINFO_TCP_STATE, state);
  mnl_attr_put(message, CTA_PROTOINFO_TCP_FLAGS_ORIGINAL, sizeof kLiberal, &kLiberal);
  mnl_attr_put(message, CTA_PROTOINFO_TCP_FLAGS_REPLY, sizeof kLiberal, &kLiberal);
  mnl_attr_nest_end(message, tcp);
  mnl_attr_nest_end(message, information);
}

std::size_t length_of(const nlmsghdr* message) { return NLMSG_ALIGN(message->nlmsg_len); }

struct Parts {
  IpAddress src;
  IpAddress dst;
  int addresses = 0;
  std::uint16_t sport = 0;
  std::uint16_t dport = 0;
  std::uint8_t protocol = 0;
  // ICMP and ICMPv6, which have attributes of their own.
  std::uint16_t identifier = 0;
  std::uint8_t type = 0;
};

void read_ip(Octets attributes, Parts& parts) {
  for_each_attribute(attributes, [&](int type, Octets value) {
    const bool v4 = type == CTA_IP_V4_SRC || type == CTA_IP_V4_DST;
    const bool source = type == CTA_IP_V4_SRC || type == CTA_IP_V6_SRC;
    if (type < CTA_IP_V4_SRC || type > CTA_IP_V6_DST || value.size() != (v4 ? 4u : 16u)) return;
    (source ? parts.src : parts.dst) = v4 ? IpAddress::v4(value) : IpAddress::v6(value);
    ++parts.addresses;
  });
}

void read_protocol(Octets attributes, Parts& parts) {
  for_each_attribute(attributes, [&](int type, Octets value) {
    if (type == CTA_PROTO_NUM) parts.protocol = get_u8(value);
    if (type == CTA_PROTO_SRC_PORT) parts.sport = get_u16(value);
    if (type == CTA_PROTO_DST_PORT) parts.dport = get_u16(value);
    if (type == CTA_PROTO_ICMP_ID || type == CTA_PROTO_ICMPV6_ID) parts.identifier = get_u16(value);
    if (type == CTA_PROTO_ICMP_TYPE || type == CTA_PROTO_ICMPV6_TYPE) parts.type = get_u8(value);
  });
}

/// Nothing if it is neither an echo request nor an answer to one.
std::optional<Tuple> echo_tuple(const Parts& parts) {
  const auto protocol = static_cast<Protocol>(parts.protocol);
  const EchoNames names = echo_names(protocol);
  if (parts.type == names.request) return Tuple{{parts.src, parts.identifier}, {parts.dst, 0}, protocol};
  if (parts.type == names.reply) return Tuple{{parts.src, 0}, {parts.dst, parts.identifier}, protocol};
  return {};
}

std::optional<Tuple> read_tuple(Octets attributes) {
  Parts parts;
  for_each_attribute(attributes, [&](int type, Octets value) {
    if (type == CTA_TUPLE_IP) read_ip(value, parts);
    if (type == CTA_TUPLE_PROTO) read_protocol(value, parts);
  });
  const auto protocol = static_cast<Protocol>(parts.protocol);
  if (parts.addresses != 2) return {};
  if (packet::is_icmp(protocol)) return echo_tuple(parts);
  if (protocol != Protocol::tcp && protocol != Protocol::udp) return {};
  return Tuple{{parts.src, parts.sport}, {parts.dst, parts.dport}, protocol};
}

Traffic read_traffic(Octets attributes) {
  Traffic traffic;
  for_each_attribute(attributes, [&](int type, Octets value) {
    if (type == CTA_COUNTERS_PACKETS) traffic.packets = get_u64(value);
    if (type == CTA_COUNTERS_BYTES) traffic.octets = get_u64(value);
  });
  return traffic;
}

std::uint8_t read_tcp_state(Octets attributes) {
  std::uint8_t state = 0;
  for_each_attribute(attributes, [&](int outer, Octets inner) {
    if (outer != CTA_PROTOINFO_TCP) return;
    for_each_attribute(inner, [&](int type, Octets value) {
      if (type == CTA_PROTOINFO_TCP_STATE) state = get_u8(value);
    });
  });
  return state;
}

}  // namespace

std::size_t write_create(std::uint8_t* at, std::uint32_t sequence, const TuplePair& tuples, const EntryFields& fields) {
  const Tuple& original = tuples.client_side;
  nlmsghdr* message = start(at, IPCTNL_MSG_CT_NEW, NLM_F_CREATE | NLM_F_EXCL, sequence, family_number(original));
  put_tuple(message, CTA_TUPLE_ORIG, original);
  // The kernel derives the translated reply from the NAT attributes; given here, it would translate nothing.
  put_tuple(message, CTA_TUPLE_REPLY, original.reversed());
  put_translation(message, CTA_NAT_SRC, tuples.server_side.src);
  // To the kernel an echo's identifier is the port of either side, and what is given last counts: here it stays as it is.
  const bool echo = packet::is_icmp(original.protocol);
  put_translation(message, CTA_NAT_DST,
                  echo ? Endpoint{tuples.server_side.dst.address, original.src.port} : tuples.server_side.dst);
  mnl_attr_put_u32(message, CTA_STATUS, htonl(fields.status));
  mnl_attr_put_u32(message, CTA_TIMEOUT, htonl(fields.timeout));
  if (fields.mark != 0) mnl_attr_put_u32(message, CTA_MARK, htonl(fields.mark));
  if (original.protocol == Protocol::tcp) put_tcp_state(message, fields.begun_by_reply ? kTcpSynSent : kTcpEstablished);
  return length_of(message);
}

std::size_t write_get(std::uint8_t* at, std::uint32_t sequence, const Tuple& tuple) {
  nlmsghdr* message = start(at, IPCTNL_MSG_CT_GET, 0, sequence, family_number(tuple));
  put_tuple(message, CTA_TUPLE_ORIG, tuple);
  return length_of(message);
}

std::size_t write_delete(std::uint8_t* at, std::uint32_t sequence, const Tuple& tuple) {
  nlmsghdr* message = start(at, IPCTNL_MSG_CT_DELETE, 0, sequence, family_number(tuple));
  put_tuple(message, CTA_TUPLE_ORIG, tuple);
  return length_of(message);
}

std::size_t write_mark(std::uint8_t* at, std::uint32_t sequence, const Tuple& tuple, std::uint32_t mark, std::uint32_t mask) {
  nlmsghdr* message = start(at, IPCTNL_MSG_CT_NEW, 0, sequence, family_number(tuple));
  put_tuple(message, CTA_TUPLE_ORIG, tuple);
  mnl_attr_put_u32(message, CTA_MARK, htonl(mark));
  mnl_attr_put_u32(message, CTA_MARK_MASK, htonl(mask));
  return length_of(message);
}

std::size_t write_dump(std::uint8_t* at, std::uint32_t sequence, std::uint32_t mark, std::uint32_t mask) {
  nlmsghdr* message = start(at, IPCTNL_MSG_CT_GET, NLM_F_DUMP, sequence, AF_UNSPEC);
  if (mask != 0) {
    mnl_attr_put_u32(message, CTA_MARK, htonl(mark));
    mnl_attr_put_u32(message, CTA_MARK_MASK, htonl(mask));
  }
  return length_of(message);
}

std::optional<ConntrackEntry> read_entry(Octets payload) {
  if (payload.size() < sizeof(nfgenmsg)) return {};
  ConntrackEntry entry;
  std::optional<Tuple> original;
  std::optional<Tuple> reply;
  for_each_attribute(payload.subspan(sizeof(nfgenmsg)), [&](int type, Octets value) {
    if (type == CTA_TUPLE_ORIG) original = read_tuple(value);
    if (type == CTA_TUPLE_REPLY) reply = read_tuple(value);
    if (type == CTA_MARK) entry.mark = get_u32(value);
    if (type == CTA_STATUS) entry.status = get_u32(value);
    if (type == CTA_TIMEOUT) entry.timeout = get_u32(value);
    if (type == CTA_COUNTERS_ORIG) entry.from_client = read_traffic(value);
    if (type == CTA_COUNTERS_REPLY) entry.from_server = read_traffic(value);
    if (type == CTA_PROTOINFO) entry.tcp_state = read_tcp_state(value);
  });
  if (!original || !reply) return {};
  entry.original = *original;
  entry.reply = *reply;
  return entry;
}

bool is_conntrack_entry(std::uint16_t message_type) { return message_type == (NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW); }
bool is_conntrack_end(std::uint16_t message_type) {
  return message_type == (NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_DELETE);
}

bool is_closing(const ConntrackEntry& entry) {
  return entry.original.protocol == Protocol::tcp &&
         (entry.tcp_state == kTcpLastAck || entry.tcp_state == kTcpTimeWait || entry.tcp_state == kTcpClose);
}

std::string_view state_name(const ConntrackEntry& entry) {
  // enum tcp_conntrack
  static constexpr std::array<std::string_view, 10> kTcp = {"NONE",       "SYN_SENT", "SYN_RECV",  "ESTABLISHED", "FIN_WAIT",
                                                            "CLOSE_WAIT", "LAST_ACK", "TIME_WAIT", "CLOSE",       "SYN_SENT2"};
  if (entry.original.protocol == Protocol::tcp) return entry.tcp_state < kTcp.size() ? kTcp[entry.tcp_state] : "UNKNOWN";
  if ((entry.status & IPS_ASSURED) != 0) return "ASSURED";
  return (entry.status & IPS_SEEN_REPLY) != 0 ? "REPLIED" : "UNREPLIED";
}

bool is_translated(const ConntrackEntry& entry) { return (entry.status & (IPS_SRC_NAT | IPS_DST_NAT)) != 0; }

}  // namespace asrp::io
