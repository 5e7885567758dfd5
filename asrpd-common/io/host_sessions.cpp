// SPDX-License-Identifier: GPL-2.0-or-later
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <vector>

#include "io/attributes.hpp"
#include "io/conntrack_ends.hpp"
#include "io/conntrack_message.hpp"
#include "io/local_sessions.hpp"
#include "io/netlink_socket.hpp"
#include "io/socket_lookup.hpp"

namespace asrp::io {

namespace {

using engine::LocalState;

constexpr std::size_t kEventBuffer = 16u << 20;  // 95,000 sockets that close within a second fit (kernel-notes 6)
constexpr std::size_t kPerSend = 64;

class KernelSessions final : public HostSessions {
 public:
  KernelSessions(NetlinkSocket lookups, NetlinkSocket ends, std::optional<NetlinkSocket> flows,
                 std::optional<NetlinkSocket> flow_ends)
      : tcp_(std::move(lookups)), ends_(std::move(ends)), flows_(std::move(flows)), flow_ends_(std::move(flow_ends)) {
    descriptors_.push_back(ends_.descriptor());
    if (flow_ends_) descriptors_.push_back(flow_ends_->descriptor());
  }

  void look_up(std::span<const Tuple> sessions, std::span<LocalState> states) override;
  std::span<const int> descriptors() const override { return descriptors_; }
  Notices drain() override;

 private:
  void look_up_flows(std::span<const Tuple> sessions, std::span<LocalState> states);
  void ask_flows(std::span<const Tuple> sessions, std::span<const std::size_t> which, std::span<LocalState> states);
  bool drain(NetlinkSocket& socket);
  void take(const nlmsghdr& header, Octets payload);

  SocketLookup tcp_;
  NetlinkSocket ends_;
  std::optional<NetlinkSocket> flows_;
  std::optional<NetlinkSocket> flow_ends_;
  std::vector<int> descriptors_;
  std::vector<std::size_t> tcp_places_;
  std::vector<std::size_t> udp_places_;
  std::vector<Tuple> ended_;
  Buffer send_area_ = Buffer(2 * kPerSend * kLongestConntrackMessage);
  NetlinkBurst burst_;
  std::uint32_t sequence_ = 1;
};

void KernelSessions::look_up(std::span<const Tuple> sessions, std::span<LocalState> states) {
  ASRP_ASSERT(sessions.size() == states.size());
  tcp_places_.clear();
  udp_places_.clear();
  for (std::size_t i = 0; i < sessions.size(); ++i)
    (sessions[i].protocol == Protocol::tcp ? tcp_places_ : udp_places_).push_back(i);
  if (!tcp_places_.empty()) tcp_.look_up(sessions, tcp_places_, states);
  if (!udp_places_.empty()) look_up_flows(sessions, states);
}

void KernelSessions::look_up_flows(std::span<const Tuple> sessions, std::span<LocalState> states) {
  for (const std::size_t place : udp_places_) states[place] = LocalState::none;
  if (!flows_) return;
  for (std::size_t first = 0; first < udp_places_.size(); first += kPerSend)
    ask_flows(sessions, std::span(udp_places_).subspan(first, std::min(kPerSend, udp_places_.size() - first)), states);
}

// Both orientations of each in one send: sequence numbers 2n and 2n+1.
void KernelSessions::ask_flows(std::span<const Tuple> sessions, std::span<const std::size_t> which,
                               std::span<LocalState> states) {
  const std::uint32_t base = sequence_;
  std::size_t filled = 0;
  for (const std::size_t place : which) {
    filled += write_get(send_area_.data() + filled, sequence_++, sessions[place]);
    filled += write_get(send_area_.data() + filled, sequence_++, sessions[place].reversed());
  }
  std::size_t answers = 0;
  if (flows_->send(Octets(send_area_).first(filled)) == 0) {
    burst_.receive_all(*flows_, [&](Octets datagram) {
      for_each_message(datagram, [&](const nlmsghdr& header, Octets payload) {
        const std::uint32_t place = (header.nlmsg_seq - base) / 2;
        if (place >= which.size()) return;
        ++answers;
        if (!is_conntrack_entry(header.nlmsg_type)) return;
        const auto entry = read_entry(payload);
        const bool is_answered = !entry || (entry->status & IPS_SEEN_REPLY) != 0;
        states[which[place]] = is_answered ? LocalState::live : LocalState::opening;
      });
    });
  }
  // An answer that is lost must not look like "no flow".
  if (answers != 2 * which.size())
    for (const std::size_t place : which) states[place] = LocalState::live;
}

HostSessions::Notices KernelSessions::drain() {
  ended_.clear();
  bool lost = drain(ends_);
  if (flow_ends_) lost = drain(*flow_ends_) || lost;
  return {ended_, lost};
}

bool KernelSessions::drain(NetlinkSocket& socket) {
  return !burst_.receive_all(socket, [this](Octets datagram) {
    for_each_message(datagram, [this](const nlmsghdr& header, Octets payload) { take(header, payload); });
  });
}

void KernelSessions::take(const nlmsghdr& header, Octets payload) {
  if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY && payload.size() >= sizeof(inet_diag_msg)) {
    const auto socket = load_native<inet_diag_msg>(payload);
    const auto address = [&](const std::uint32_t(&words)[4]) {
      const Octets octets(reinterpret_cast<const std::uint8_t*>(words), 16);
      return socket.idiag_family == AF_INET ? IpAddress::v4(octets.first(4)) : IpAddress::v6(octets).unmapped();
    };
    Endpoint local{address(socket.id.idiag_src), ntohs(socket.id.idiag_sport)};
    const Endpoint remote{address(socket.id.idiag_dst), ntohs(socket.id.idiag_dport)};
    // After a reset a dual-stack socket says [::] for its own address: one family in a tuple.
    if (local.address.is_unspecified()) local.address = IpAddress::any(remote.address.family());
    if (!remote.address.is_unspecified()) ended_.push_back({remote, local, Protocol::tcp});  // else a listener
  } else if (is_conntrack_end(header.nlmsg_type)) {
    const auto entry = read_entry(payload);
    if (entry && entry->original.protocol == Protocol::udp) ended_.push_back(entry->original);
  }
}

Result<NetlinkSocket, IoError> open_ends() {
  auto socket = NetlinkSocket::open(NETLINK_SOCK_DIAG, "follow the end of sockets");
  if (!socket) return socket;
  if (!socket->join(SKNLGRP_INET_TCP_DESTROY) || !socket->join(SKNLGRP_INET6_TCP_DESTROY)) {
    const char* advice = errno == EPERM ? "CAP_NET_ADMIN is needed in this network namespace"
                                        : "this kernel lacks inet_diag (CONFIG_INET_DIAG, CONFIG_INET_TCP_DIAG)";
    return Failure{IoError{"follow the end of sockets", errno, advice}};
  }
  socket->set_receive_buffer(kEventBuffer);
  return socket;
}

}  // namespace

Result<std::unique_ptr<HostSessions>, IoError> HostSessions::open(bool follow_udp) {
  auto lookups = NetlinkSocket::open(NETLINK_SOCK_DIAG, "look up sockets");
  if (!lookups) return Failure{lookups.error()};
  auto ends = open_ends();
  if (!ends) return Failure{ends.error()};
  std::optional<NetlinkSocket> flows;
  std::optional<NetlinkSocket> flow_ends;
  if (follow_udp) {
    auto requests = NetlinkSocket::open(NETLINK_NETFILTER, "look up UDP flows");
    if (!requests) return Failure{requests.error()};
    requests->set_receive_buffer(kEventBuffer / 4);
    requests->cut_errors();
    auto events = open_conntrack_ends(EndsOf::udp, "follow the end of UDP flows");
    if (!events) return Failure{events.error()};
    flows = std::move(*requests);
    flow_ends = std::move(*events);
  }
  return std::unique_ptr<HostSessions>(
      std::make_unique<KernelSessions>(std::move(*lookups), std::move(*ends), std::move(flows), std::move(flow_ends)));
}

}  // namespace asrp::io
