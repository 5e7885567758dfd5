// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include "io/attributes.hpp"
#include "io/local_sessions.hpp"
#include "io/netlink_socket.hpp"

namespace asrp::io {

namespace {

constexpr std::size_t kReceiveSize = 64 * 1024;

// 127/8 and ::1. Other addresses on lo are the host's own: a service address is often put there.
bool is_loopback(const IpAddress& address) {
  return address.is_v4() ? address.octets()[0] == 127 : address == *IpAddress::parse("::1");
}

class KernelAddresses final : public LocalAddresses {
 public:
  KernelAddresses(NetlinkSocket notices, NetlinkSocket requests)
      : notices_(std::move(notices)), requests_(std::move(requests)), area_(kReceiveSize) {}

  int descriptor() const override { return notices_.descriptor(); }

  std::span<const IpAddress> refresh() override {
    while (notices_.receive(area_) >= 0 || errno == ENOBUFS) {
    }
    addresses_.clear();
    request();
    for (bool done = false; !done;) {
      const ssize_t got = requests_.receive(area_, true);
      if (got < 0 && errno == ENOBUFS) continue;
      if (got < 0) break;
      for_each_message(Octets(area_).first(static_cast<std::size_t>(got)), [&](const nlmsghdr& header, Octets payload) {
        if (header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR) done = true;
        if (header.nlmsg_type == RTM_NEWADDR && payload.size() >= sizeof(ifaddrmsg)) take(payload);
      });
    }
    return addresses_;
  }

 private:
  void request() {
    struct {
      nlmsghdr header;
      ifaddrmsg body;
    } message{};
    message.header.nlmsg_len = sizeof message;
    message.header.nlmsg_type = RTM_GETADDR;
    message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    message.body.ifa_family = AF_UNSPEC;
    static_cast<void>(requests_.send({reinterpret_cast<const std::uint8_t*>(&message), sizeof message}));
  }

  void take(Octets payload) {
    const auto body = load_native<ifaddrmsg>(payload);
    const std::size_t size = body.ifa_family == AF_INET ? 4 : 16;
    if (body.ifa_family != AF_INET && body.ifa_family != AF_INET6) return;
    Octets found;
    for_each_attribute(payload.subspan(sizeof(ifaddrmsg)), [&](int type, Octets value) {
      if (value.size() != size) return;
      // On a point-to-point link IFA_ADDRESS is the other end; IPv6 mostly has no IFA_LOCAL.
      if (type == IFA_LOCAL || (type == IFA_ADDRESS && found.empty())) found = value;
    });
    if (found.empty()) return;
    const IpAddress address = size == 4 ? IpAddress::v4(found) : IpAddress::v6(found);
    if (!is_loopback(address)) addresses_.push_back(address);
  }

  NetlinkSocket notices_;
  NetlinkSocket requests_;
  Buffer area_;
  std::vector<IpAddress> addresses_;
};

}  // namespace

Result<std::unique_ptr<LocalAddresses>, IoError> LocalAddresses::open() {
  auto notices = NetlinkSocket::open(NETLINK_ROUTE, "read this host's addresses");
  if (!notices) return Failure{notices.error()};
  auto requests = NetlinkSocket::open(NETLINK_ROUTE, "read this host's addresses");
  if (!requests) return Failure{requests.error()};
  // Groups of families that the kernel lacks cannot be joined; then there are no such addresses.
  static_cast<void>(notices->join(RTNLGRP_IPV4_IFADDR));
  static_cast<void>(notices->join(RTNLGRP_IPV6_IFADDR));
  return std::unique_ptr<LocalAddresses>(std::make_unique<KernelAddresses>(std::move(*notices), std::move(*requests)));
}

}  // namespace asrp::io
