// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/netlink_socket.hpp"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace asrp::io {
namespace {

constexpr std::size_t kDatagrams = 64;
constexpr std::size_t kDatagramSize = 2048;  // a socket's end with its tcp_info, a conntrack event: below 600

}  // namespace

Result<NetlinkSocket, IoError> NetlinkSocket::open(int protocol, const std::string& what) {
  UniqueFd descriptor(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!descriptor) {
    const int number = errno;
    const char* advice = number == EPROTONOSUPPORT
                             ? "this kernel lacks the netlink family (load the module or use another kernel)"
                             : "check the sandbox of the service: it must allow AF_NETLINK";
    return Failure{IoError{what, number, advice}};
  }
  sockaddr_nl local{};
  local.nl_family = AF_NETLINK;
  if (::bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0)
    return Failure{IoError{what, errno, "the netlink socket cannot be bound"}};
  return NetlinkSocket(std::move(descriptor));
}

std::size_t NetlinkSocket::set_receive_buffer(std::size_t octets) {
  const int wanted = static_cast<int>(octets);
  if (::setsockopt(descriptor(), SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof wanted) != 0)
    ::setsockopt(descriptor(), SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
  int given = 0;
  socklen_t length = sizeof given;
  ::getsockopt(descriptor(), SOL_SOCKET, SO_RCVBUF, &given, &length);
  return static_cast<std::size_t>(given);
}

void NetlinkSocket::set_send_buffer(std::size_t octets) {
  const int wanted = static_cast<int>(octets);
  if (::setsockopt(descriptor(), SOL_SOCKET, SO_SNDBUFFORCE, &wanted, sizeof wanted) != 0)
    ::setsockopt(descriptor(), SOL_SOCKET, SO_SNDBUF, &wanted, sizeof wanted);
}

void NetlinkSocket::cut_errors() {
  const int on = 1;
  ::setsockopt(descriptor(), SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
}

bool NetlinkSocket::join(unsigned group) {
  return ::setsockopt(descriptor(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) == 0;
}

int NetlinkSocket::send(Octets message) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  for (;;) {
    const ssize_t sent =
        ::sendto(descriptor(), message.data(), message.size(), 0, reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel);
    if (sent >= 0) return 0;
    if (errno != EINTR) return errno;
  }
}

ssize_t NetlinkSocket::receive(MutableOctets buffer, bool wait) {
  for (;;) {
    const ssize_t got = ::recv(descriptor(), buffer.data(), buffer.size(), wait ? 0 : MSG_DONTWAIT);
    if (got >= 0 || errno != EINTR) return got;
  }
}

struct NetlinkBurst::Area {
  Buffer octets = Buffer(kDatagrams * kDatagramSize);
  std::array<iovec, kDatagrams> pieces{};
  std::array<mmsghdr, kDatagrams> headers{};
};

NetlinkBurst::NetlinkBurst() : area_(std::make_unique<Area>()) {
  for (std::size_t i = 0; i < kDatagrams; ++i) {
    area_->pieces[i] = {area_->octets.data() + i * kDatagramSize, kDatagramSize};
    area_->headers[i].msg_hdr.msg_iov = &area_->pieces[i];
    area_->headers[i].msg_hdr.msg_iovlen = 1;
  }
}

NetlinkBurst::~NetlinkBurst() = default;

bool NetlinkBurst::receive_all(NetlinkSocket& socket, const std::function<void(Octets datagram)>& visit) {
  bool whole = true;
  for (;;) {
    const int got = ::recvmmsg(socket.descriptor(), area_->headers.data(), kDatagrams, MSG_DONTWAIT, nullptr);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == ENOBUFS) {
      whole = false;
      continue;
    }
    if (got <= 0) return whole;
    const auto count = static_cast<std::size_t>(got);
    for (std::size_t i = 0; i < count; ++i) {
      visit(Octets(area_->octets).subspan(i * kDatagramSize, area_->headers[i].msg_len));
    }
    if (count < kDatagrams) return whole;
  }
}

}  // namespace asrp::io
