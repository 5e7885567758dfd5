// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/message_socket.hpp"

#include <linux/filter.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "io/icmp_unreachable.hpp"
#include "io/socket_address.hpp"
#include "io/unique_fd.hpp"

namespace asrp::io {

namespace {

constexpr std::size_t kBurst = 64;
// The largest message has 12 + 72 octets and session data of at most 64; what is longer is cut here and fails validation there.
constexpr std::size_t kMessageSize = 2048;
constexpr int kReceiveBuffer = 16 << 20;  // answers of a whole recovery storm: 30,000 a second for half a second
constexpr std::size_t kMostUnreachable = 256;
constexpr std::size_t kMostQuoted = 64;  // the QS that we send have at most 48 octets; a longer message is no QS of ours

struct Control {
  alignas(cmsghdr) std::array<std::uint8_t, 128> octets;
};

void force_receive_buffer(int descriptor) {
  if (::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBuffer, sizeof kReceiveBuffer) != 0)
    ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
}

bool set_on(int descriptor, int level, int option) {
  const int on = 1;
  return ::setsockopt(descriptor, level, option, &on, sizeof on) == 0;
}

// Never shared with a second socket: no SO_REUSEADDR, a second daemon must notice.
UniqueFd bound_socket(int family, std::uint16_t port) {
  UniqueFd descriptor(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!descriptor) return descriptor;
  const bool v6 = family == AF_INET6;
  if (v6 && !set_on(descriptor.get(), IPPROTO_IPV6, IPV6_V6ONLY)) return {};
  if (!set_on(descriptor.get(), v6 ? int{IPPROTO_IPV6} : int{IPPROTO_IP}, v6 ? IPV6_RECVPKTINFO : IP_PKTINFO)) return {};
  force_receive_buffer(descriptor.get());
  const SocketAddress local(Endpoint{IpAddress::any(v6 ? Family::v6 : Family::v4), port});
  if (::bind(descriptor.get(), local.get(), local.size()) != 0) return {};
  return descriptor;
}

// Raw ICMP: our messages leave by raw sockets with chosen source ports, so the kernel reports errors to no UDP socket.
UniqueFd icmp_socket(int family) {
  UniqueFd descriptor(
      ::socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, family == AF_INET6 ? int{IPPROTO_ICMPV6} : int{IPPROTO_ICMP}));
  if (!descriptor) return descriptor;
  if (family == AF_INET6) {
    std::array<std::uint32_t, 8> blocked{};  // struct icmp6_filter: a set bit blocks the type
    blocked.fill(0xffffffffu);
    blocked[ICMPV6_DEST_UNREACH >> 5] &= ~(1u << (ICMPV6_DEST_UNREACH & 31));
    constexpr int kIcmp6Filter = 1;
    ::setsockopt(descriptor.get(), IPPROTO_ICMPV6, kIcmp6Filter, blocked.data(), sizeof blocked);
  } else {
    constexpr int kIcmpFilter = 1;
    const std::uint32_t blocked = ~(1u << ICMP_DEST_UNREACH);
    ::setsockopt(descriptor.get(), SOL_RAW, kIcmpFilter, &blocked, sizeof blocked);
  }
  return descriptor;
}

IpAddress destination_of(const msghdr& header) {
  for (const cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr;
       c = CMSG_NXTHDR(const_cast<msghdr*>(&header), const_cast<cmsghdr*>(c))) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(CMSG_DATA(c));
    if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO)
      return IpAddress::v4(Octets(data + offsetof(in_pktinfo, ipi_addr), 4));
    if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) return IpAddress::v6(Octets(data, 16));
  }
  return {};
}

std::uint64_t dropped_by(const UniqueFd& socket) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> values{};
  socklen_t length = sizeof values;
  if (!socket || ::getsockopt(socket.get(), SOL_SOCKET, SO_MEMINFO, values.data(), &length) != 0) return 0;
  return values[SK_MEMINFO_DROPS];
}

class UdpMessageSocket final : public MessageSocket {
 public:
  UdpMessageSocket(std::uint16_t port, UniqueFd v4, UniqueFd v6, UniqueFd icmp4, UniqueFd icmp6, UniqueFd poller)
      : port_(port),
        v4_(std::move(v4)),
        v6_(std::move(v6)),
        icmp4_(std::move(icmp4)),
        icmp6_(std::move(icmp6)),
        poller_(std::move(poller)),
        area_(kBurst * kMessageSize) {
    messages_.reserve(kBurst);
    unreachable_.reserve(kMostUnreachable);
    quoted_.reserve(kMostUnreachable * kMostQuoted);  // `unreachable_` views it: it never moves
  }

  int descriptor() const override { return poller_.get(); }
  std::span<const ReceivedMessage> receive() override;
  std::span<const engine::Unreachable> unreachable_peers() override;
  std::uint64_t lost() const override { return dropped_by(v4_) + dropped_by(v6_); }

 private:
  /// Which of the four sockets have something: one system call instead of four that mostly find nothing.
  class Ready {
   public:
    void add(int descriptor) { descriptors_[static_cast<std::size_t>(count_++)] = descriptor; }
    [[nodiscard]] bool has(const UniqueFd& socket) const {
      const auto end = descriptors_.begin() + count_;
      return socket && std::find(descriptors_.begin(), end, socket.get()) != end;
    }

   private:
    std::array<int, 4> descriptors_{};
    std::ptrdiff_t count_ = 0;
  };
  Ready poll() const;
  std::size_t receive_from(int descriptor, std::size_t first);
  void drain_icmp(int descriptor);

  std::uint16_t port_;
  UniqueFd v4_;
  UniqueFd v6_;
  UniqueFd icmp4_;
  UniqueFd icmp6_;
  UniqueFd poller_;
  std::optional<Ready> polled_;  // by receive(), for the unreachable_peers() that follows
  bool v6_first_ = false;
  Buffer area_;
  std::array<mmsghdr, kBurst> headers_{};
  std::array<iovec, kBurst> pieces_{};
  std::array<SocketAddress, kBurst> sources_{};
  std::array<Control, kBurst> controls_{};
  std::vector<ReceivedMessage> messages_;
  std::vector<engine::Unreachable> unreachable_;
  Buffer quoted_;  // what they quote
};

UdpMessageSocket::Ready UdpMessageSocket::poll() const {
  Ready ready;
  std::array<epoll_event, 4> events{};
  const int got = ::epoll_wait(poller_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < got; ++i) ready.add(events[static_cast<std::size_t>(i)].data.fd);
  return ready;
}

std::span<const ReceivedMessage> UdpMessageSocket::receive() {
  messages_.clear();
  polled_ = poll();
  v6_first_ = !v6_first_;  // neither family can keep the other out for long
  std::size_t used = 0;
  for (const UniqueFd* socket : {v6_first_ ? &v6_ : &v4_, v6_first_ ? &v4_ : &v6_}) {
    if (polled_->has(*socket)) used = receive_from(socket->get(), used);
  }
  return messages_;
}

// Fills the places from `first` on; returns the first free one.
std::size_t UdpMessageSocket::receive_from(int descriptor, std::size_t first) {
  if (first == kBurst) return first;  // the rest comes with the next call
  for (std::size_t i = first; i < kBurst; ++i) {
    pieces_[i] = {area_.data() + i * kMessageSize, kMessageSize};
    msghdr& header = headers_[i].msg_hdr;
    header = {};
    header.msg_name = sources_[i].get();
    header.msg_namelen = SocketAddress::capacity();
    header.msg_iov = &pieces_[i];
    header.msg_iovlen = 1;
    header.msg_control = controls_[i].octets.data();
    header.msg_controllen = controls_[i].octets.size();
  }
  const int got = ::recvmmsg(descriptor, headers_.data() + first, static_cast<unsigned>(kBurst - first), MSG_DONTWAIT, nullptr);
  if (got <= 0) return first;
  const std::size_t end = first + static_cast<std::size_t>(got);
  for (std::size_t i = first; i < end; ++i)
    messages_.push_back({sources_[i].endpoint(),
                         {destination_of(headers_[i].msg_hdr), port_},
                         Octets(area_).subspan(i * kMessageSize, headers_[i].msg_len)});
  return end;
}

std::span<const engine::Unreachable> UdpMessageSocket::unreachable_peers() {
  unreachable_.clear();
  quoted_.clear();
  const Ready ready = polled_ ? *std::exchange(polled_, std::nullopt) : poll();
  if (ready.has(icmp4_)) drain_icmp(icmp4_.get());
  if (ready.has(icmp6_)) drain_icmp(icmp6_.get());
  return unreachable_;
}

void UdpMessageSocket::drain_icmp(int descriptor) {
  std::array<std::uint8_t, 2048> packet{};
  for (;;) {
    SocketAddress sender;
    socklen_t length = SocketAddress::capacity();
    const ssize_t got = ::recvfrom(descriptor, packet.data(), packet.size(), MSG_DONTWAIT, sender.get(), &length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    auto error = unreachable_peer(Octets(packet).first(static_cast<std::size_t>(got)), sender.endpoint().address, port_);
    if (!error || unreachable_.size() >= kMostUnreachable || error->message.size() > kMostQuoted) continue;
    const std::size_t at = quoted_.size();
    quoted_.insert(quoted_.end(), error->message.begin(), error->message.end());
    error->message = Octets(quoted_).subspan(at);
    unreachable_.push_back(*error);
  }
}

}  // namespace

Result<std::unique_ptr<MessageSocket>, IoError> open_message_socket(std::uint16_t port, PeerErrors errors) {
  const std::string what = "bind UDP port " + std::to_string(port);
  const auto failure = [&](int number) {
    const char* advice = number == EADDRINUSE ? "another program, or a second daemon in this network namespace, has the port"
                                              : "check the sandbox of the service";
    return Failure{IoError{what, number, advice}};
  };
  UniqueFd v4 = bound_socket(AF_INET, port);
  if (!v4) return failure(errno);
  UniqueFd v6 = bound_socket(AF_INET6, port);
  if (!v6 && errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL) return failure(errno);
  const bool watch = errors == PeerErrors::watch;
  UniqueFd icmp4 = watch ? icmp_socket(AF_INET) : UniqueFd{};
  if (watch && !icmp4) return Failure{IoError{"open a raw ICMP socket", errno, "CAP_NET_RAW is needed"}};
  UniqueFd icmp6 = watch && v6 ? icmp_socket(AF_INET6) : UniqueFd{};
  UniqueFd poller = poll_together({v4.get(), v6.get(), icmp4.get(), icmp6.get()});
  if (!poller) return Failure{IoError{"make an epoll descriptor", errno, {}}};
  return std::unique_ptr<MessageSocket>(std::make_unique<UdpMessageSocket>(port, std::move(v4), std::move(v6), std::move(icmp4),
                                                                           std::move(icmp6), std::move(poller)));
}

}  // namespace asrp::io
