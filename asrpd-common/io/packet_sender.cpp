// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/packet_sender.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "io/fragments.hpp"
#include "io/unique_fd.hpp"

namespace asrp::io {

namespace {

constexpr int kSendBuffer = 64 << 20;  // a burst never waits for a device; what is too much is dropped in the kernel's queues
constexpr std::size_t kIpv4Header = 20;
constexpr std::size_t kIpv6Header = 40;
constexpr std::size_t kMostPerCall = 1024;  // UIO_MAXIOV, sendmmsg's own limit
constexpr std::size_t kFragment = 1280;     // octets; fits every route of IPv6, and of IPv4 in practice

UniqueFd raw_socket(int family, std::uint32_t mark) {
  UniqueFd descriptor(
      ::socket(family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));  // IPPROTO_RAW: the header is ours, both families
  if (!descriptor) return descriptor;
  if (mark != 0 && ::setsockopt(descriptor.get(), SOL_SOCKET, SO_MARK, &mark, sizeof mark) != 0) return {};
  if (::setsockopt(descriptor.get(), SOL_SOCKET, SO_SNDBUFFORCE, &kSendBuffer, sizeof kSendBuffer) != 0)
    ::setsockopt(descriptor.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
  return descriptor;
}

struct Pair {
  std::uint32_t mark;
  UniqueFd v4;
  UniqueFd v6;
};

struct Staged {
  Octets packet;
  int descriptor;  // -1: no socket of that family
  sockaddr_in6 address;
};

/// Room for the source that a packet is routed by.
struct alignas(cmsghdr) Control {
  std::array<std::uint8_t, CMSG_SPACE(sizeof(in6_pktinfo))> octets{};
};

void add_source(Octets packet, msghdr& header, Control& control) {
  control = {};
  header.msg_control = control.octets.data();
  header.msg_controllen = control.octets.size();
  cmsghdr* const part = CMSG_FIRSTHDR(&header);
  if (packet[0] >> 4 == 4) {
    in_pktinfo info{};
    std::memcpy(&info.ipi_spec_dst, packet.data() + 12, sizeof info.ipi_spec_dst);
    *part = {CMSG_LEN(sizeof info), IPPROTO_IP, IP_PKTINFO};
    std::memcpy(CMSG_DATA(part), &info, sizeof info);
    header.msg_controllen = CMSG_SPACE(sizeof info);
  } else {
    in6_pktinfo info{};
    std::memcpy(&info.ipi6_addr, packet.data() + 8, sizeof info.ipi6_addr);
    *part = {CMSG_LEN(sizeof info), IPPROTO_IPV6, IPV6_PKTINFO};
    std::memcpy(CMSG_DATA(part), &info, sizeof info);
  }
}

class RawSender final : public PacketSender {
 public:
  RawSender(std::vector<Pair> pairs, RouteBy route_by) : pairs_(std::move(pairs)), route_by_(route_by) {}

  void stage(Octets packet, std::uint32_t mark) override;
  void flush() override;
  Statistics statistics() const override { return statistics_; }

 private:
  void send_run(std::size_t first, std::size_t last);
  void send_other_way(Staged& staged, msghdr header);
  bool send_fragments(const Staged& staged, msghdr header);
  void count_failure(int error_number) {
    if (error_number == EMSGSIZE) {
      ++statistics_.too_big;
    } else {
      ++statistics_.failed;
      statistics_.last_errno = static_cast<std::uint64_t>(error_number);
    }
  }

  std::vector<Pair> pairs_;
  RouteBy route_by_;
  std::vector<Staged> staged_;
  std::vector<iovec> pieces_;
  std::vector<Control> controls_;
  std::vector<mmsghdr> headers_;
  std::uint32_t fragment_id_ = static_cast<std::uint32_t>(::getpid()) << 8;  // that of the last packet cut without its own
  Statistics statistics_;
};

// The address is only the route to take; the kernel routes again where it translates the destination. `reply`: the way to the
// packet's source instead.
bool fill_address(Octets packet, sockaddr_in6& address, bool reply = false) {
  address = {};
  const unsigned version = packet.empty() ? 0u : packet[0] >> 4;
  if (version == 4 && packet.size() >= kIpv4Header) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    std::memcpy(&v4.sin_addr, packet.data() + (reply ? 12 : 16), 4);
    std::memcpy(&address, &v4, sizeof v4);
    return true;
  }
  if (version == 6 && packet.size() >= kIpv6Header) {
    address.sin6_family = AF_INET6;
    std::memcpy(&address.sin6_addr, packet.data() + (reply ? 8 : 24), 16);
    return true;
  }
  return false;
}

void RawSender::stage(Octets packet, std::uint32_t mark) {
  Staged staged{packet, -1, {}};
  if (!fill_address(packet, staged.address)) return count_failure(EINVAL);
  for (const Pair& pair : pairs_) {
    if (pair.mark != mark) continue;
    staged.descriptor = staged.address.sin6_family == AF_INET6 ? pair.v6.get() : pair.v4.get();
    if (staged.descriptor < 0) return count_failure(EAFNOSUPPORT);
    staged_.push_back(staged);
    return;
  }
  ASRP_ASSERT(false && "a mark that open_raw_sender() was not given");
}

// In order: a run of packets for one socket is one system call.
void RawSender::flush() {
  for (std::size_t first = 0; first < staged_.size();) {
    std::size_t last = first + 1;
    while (last < staged_.size() && staged_[last].descriptor == staged_[first].descriptor && last - first < kMostPerCall)
      ++last;
    send_run(first, last);
    first = last;
  }
  staged_.clear();
}

// A datagram that was reassembled for the queue and is cut again. Connection tracking puts the fragments together once more, so
// they are translated as one, and leave in fragments.
bool RawSender::send_fragments(const Staged& staged, msghdr header) {
  if (++fragment_id_ % 0x10000 == 0) ++fragment_id_;  // 0 in IPv4 asks the kernel for another one each time
  const std::vector<Buffer> fragments = fragments_of(staged.packet, kFragment, fragment_id_);
  for (const Buffer& fragment : fragments) {
    iovec piece{const_cast<std::uint8_t*>(fragment.data()), fragment.size()};
    header.msg_iov = &piece;
    if (::sendmsg(staged.descriptor, &header, MSG_DONTWAIT) < 0) return false;
  }
  if (fragments.empty()) errno = EMSGSIZE;
  return !fragments.empty();
}

// A packet that failed alone, with its errno. Some node has no route to its own service's address, which only the translation
// replaces; then the route to where the packet came from does as well.
void RawSender::send_other_way(Staged& staged, msghdr header) {
  bool sent = false;
  const bool no_route = errno == ENETUNREACH || errno == EHOSTUNREACH;
  if (no_route && fill_address(staged.packet, staged.address, true))
    sent = ::sendmsg(staged.descriptor, &header, MSG_DONTWAIT) >= 0;
  if (!sent && errno == EMSGSIZE) sent = send_fragments(staged, header);
  if (!sent) return count_failure(errno);
  ++statistics_.sent;
}

void RawSender::send_run(std::size_t first, std::size_t last) {
  const std::size_t count = last - first;
  pieces_.resize(std::max(pieces_.size(), count));
  headers_.resize(std::max(headers_.size(), count));
  controls_.resize(headers_.size());
  for (std::size_t i = 0; i < count; ++i) {
    Staged& s = staged_[first + i];
    pieces_[i] = {const_cast<std::uint8_t*>(s.packet.data()), s.packet.size()};
    headers_[i] = {};
    headers_[i].msg_hdr.msg_name = &s.address;
    headers_[i].msg_hdr.msg_namelen = s.address.sin6_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    headers_[i].msg_hdr.msg_iov = &pieces_[i];
    headers_[i].msg_hdr.msg_iovlen = 1;
    if (route_by_ == RouteBy::source_too) add_source(s.packet, headers_[i].msg_hdr, controls_[i]);
  }
  for (std::size_t done = 0; done < count;) {
    const int sent =
        ::sendmmsg(staged_[first].descriptor, headers_.data() + done, static_cast<unsigned>(count - done), MSG_DONTWAIT);
    if (sent > 0) {
      statistics_.sent += static_cast<std::uint64_t>(sent);
      done += static_cast<std::size_t>(sent);
    } else if (errno != EINTR) {
      send_other_way(staged_[first + done], headers_[done].msg_hdr);  // the others have their chance
      ++done;
    }
  }
}

}  // namespace

Result<std::unique_ptr<PacketSender>, IoError> open_raw_sender(std::initializer_list<std::uint32_t> marks, RouteBy route_by) {
  std::vector<Pair> pairs;
  for (const std::uint32_t mark : marks) {
    Pair pair{mark, raw_socket(AF_INET, mark), {}};
    if (!pair.v4)
      return Failure{IoError{"open a raw IPv4 socket", errno,
                             "CAP_NET_RAW and CAP_NET_ADMIN are needed, and AF_INET in the sandbox of the service"}};
    pair.v6 = raw_socket(AF_INET6, mark);
    if (!pair.v6 && errno != EAFNOSUPPORT)
      return Failure{IoError{"open a raw IPv6 socket", errno, "AF_INET6 must be allowed in the sandbox of the service"}};
    pairs.push_back(std::move(pair));
  }
  return std::unique_ptr<PacketSender>(std::make_unique<RawSender>(std::move(pairs), route_by));
}

}  // namespace asrp::io
