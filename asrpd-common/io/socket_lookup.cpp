// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/socket_lookup.hpp"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>

#include "io/attributes.hpp"
#include "runtime/clock.hpp"

namespace asrp::io {

namespace {

using engine::LocalState;

constexpr std::size_t kPerSend = 128;
constexpr std::size_t kRequestSize = NLMSG_ALIGN(sizeof(nlmsghdr) + sizeof(inet_diag_req_v2));
constexpr std::size_t kSocketBuffer = 4u << 20;  // an answer counts for about 1 KiB
// Beyond this many devices only unbound sockets are looked for: a machine of containers has thousands of veth devices, and
// servers bound to one of them live in other namespaces.
constexpr std::size_t kMostInterfaces = 16;

enum TcpState : std::uint8_t {  // as idiag_state
  kSynSent = 2,
  kSynRecv = 3,
  kFinWait2 = 5,
  kTimeWait = 6,
  kClose = 7,
  kListen = 10,
  kNewSynRecv = 12,
  kBoundInactive = 13,
};

LocalState state_of(std::uint8_t tcp_state) {
  switch (tcp_state) {
    case kSynSent:
    case kSynRecv:
    case kNewSynRecv:
      return LocalState::opening;
    case kFinWait2:
    case kTimeWait:
      return LocalState::time_wait;
    case kClose:
    case kListen:  // the kernel's answer where there is no session, but a listener for it
    case kBoundInactive:
      return LocalState::none;
    default:
      return LocalState::live;
  }
}

void write_request(std::uint8_t* at, std::uint32_t sequence, const Tuple& session, std::uint32_t interface) {
  nlmsghdr header{};
  header.nlmsg_len = sizeof header + sizeof(inet_diag_req_v2);
  header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  header.nlmsg_flags = NLM_F_REQUEST;
  header.nlmsg_seq = sequence;
  inet_diag_req_v2 request{};
  request.sdiag_family = session.family() == Family::v4 ? AF_INET : AF_INET6;
  request.sdiag_protocol = IPPROTO_TCP;
  request.idiag_states = ~0u;
  const Octets local = session.dst.address.octets();
  const Octets remote = session.src.address.octets();
  std::memcpy(request.id.idiag_src, local.data(), local.size());
  std::memcpy(request.id.idiag_dst, remote.data(), remote.size());
  request.id.idiag_sport = htons(session.dst.port);
  request.id.idiag_dport = htons(session.src.port);
  request.id.idiag_if = interface;
  request.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  std::memcpy(at, &header, sizeof header);
  std::memcpy(at + sizeof header, &request, sizeof request);
}

}  // namespace

SocketLookup::SocketLookup(NetlinkSocket socket) : socket_(std::move(socket)), send_area_(kPerSend * kRequestSize) {
  socket_.set_receive_buffer(kSocketBuffer);
  socket_.cut_errors();
}

void SocketLookup::look_up(std::span<const Tuple> sessions, std::span<const std::size_t> which, std::span<LocalState> states) {
  questions_.clear();
  unknown_.clear();
  for (const std::size_t index : which) questions_.push_back({index, 0});
  ask(sessions, questions_, states);
  if (unknown_.empty()) return;
  // Sessions of a listener that is bound to a device (SO_BINDTODEVICE, VRF) are found with that device only.
  const std::vector<std::uint32_t>& devices = interfaces();
  if (devices.size() > kMostInterfaces) return;
  for (const std::uint32_t device : devices) {
    questions_.clear();
    for (const std::size_t index : std::exchange(unknown_, {})) questions_.push_back({index, device});
    ask(sessions, questions_, states);
  }
}

void SocketLookup::ask(std::span<const Tuple> sessions, std::span<const Question> questions, std::span<LocalState> states) {
  for (std::size_t first = 0; first < questions.size(); first += kPerSend) {
    const auto some = questions.subspan(first, std::min(kPerSend, questions.size() - first));
    std::size_t filled = 0;
    const std::uint32_t base = sequence_;
    for (const Question& q : some) {
      write_request(send_area_.data() + filled, sequence_++, sessions[q.index], q.interface);
      states[q.index] = LocalState::live;  // until the answer
      filled += kRequestSize;
    }
    if (socket_.send(Octets(send_area_).first(filled)) != 0) continue;
    answers_base_ = base;
    read_answers(some, states);
  }
}

// The kernel works inside send(), so all answers are there. Those that are lost stay `live`.
void SocketLookup::read_answers(std::span<const Question> questions, std::span<LocalState> states) {
  burst_.receive_all(socket_, [&](Octets datagram) {
    for_each_message(datagram, [&](const nlmsghdr& header, Octets payload) {
      const std::uint32_t place = header.nlmsg_seq - answers_base_;
      if (place >= questions.size()) return;
      LocalState& state = states[questions[place].index];
      if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY && payload.size() >= sizeof(inet_diag_msg)) {
        state = state_of(load_native<inet_diag_msg>(payload).idiag_state);
      } else if (header.nlmsg_type == NLMSG_ERROR && load_native<std::int32_t>(payload) == -ENOENT) {
        state = LocalState::none;
        unknown_.push_back(questions[place].index);
      }
    });
  });
}

const std::vector<std::uint32_t>& SocketLookup::interfaces() {
  const auto now = runtime::monotonic_now();
  if (!interfaces_.empty() && now - interfaces_read_ < std::chrono::seconds(1)) return interfaces_;
  interfaces_read_ = now;
  interfaces_.clear();
  if (struct if_nameindex* list = ::if_nameindex(); list != nullptr) {
    for (const struct if_nameindex* i = list; i->if_index != 0; ++i) interfaces_.push_back(i->if_index);
    ::if_freenameindex(list);
  }
  return interfaces_;
}

}  // namespace asrp::io
