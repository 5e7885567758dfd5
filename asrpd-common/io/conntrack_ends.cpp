// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/conntrack_ends.hpp"

#include <linux/filter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <fstream>

#include "io/attributes.hpp"
#include "io/conntrack_message.hpp"

namespace asrp::io {
namespace {

constexpr std::size_t kEventBuffer = 16u << 20;  // 95,000 ends within a second fit (kernel-notes 6)
constexpr std::uint8_t kUdp = 17;

// Only UDP's ends are of interest; on a busy web server TCP's would be all the traffic.
bool filter_udp(int descriptor) {
  constexpr std::uint32_t kAttribute = static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_NLATTR);
  constexpr std::uint32_t kNested = static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_NLATTR_NEST);
  constexpr std::uint32_t kFirstAttribute = sizeof(nlmsghdr) + sizeof(nfgenmsg);
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_IMM, kFirstAttribute),
      BPF_STMT(BPF_LDX | BPF_IMM, CTA_TUPLE_ORIG),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kAttribute),  // A: where that attribute is, 0 if it is not
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 8, 0),
      BPF_STMT(BPF_LDX | BPF_IMM, CTA_TUPLE_PROTO),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kNested),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 5, 0),
      BPF_STMT(BPF_LDX | BPF_IMM, CTA_PROTO_NUM),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kNested),
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(BPF_LD | BPF_B | BPF_IND, sizeof(nlattr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kUdp, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0xffffffffu),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  return ::setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

// 1: entries report their end even if they were made before somebody listened. False only where reports are off and stay so.
bool switch_events_on() {
  const char* path = "/proc/sys/net/netfilter/nf_conntrack_events";
  std::ofstream(path) << "1" << std::flush;
  int value = 0;
  std::ifstream(path) >> value;
  return value != 0;
}

class KernelEnds final : public ConntrackEnds {
 public:
  explicit KernelEnds(NetlinkSocket socket) : socket_(std::move(socket)) {}

  int descriptor() const override { return socket_.descriptor(); }

  bool drain(const std::function<void(const TuplePair& ended)>& visit) override {
    return burst_.receive_all(socket_, [&visit](Octets datagram) {
      for_each_message(datagram, [&visit](const nlmsghdr& header, Octets payload) {
        if (!is_conntrack_end(header.nlmsg_type)) return;
        const auto entry = read_entry(payload);
        if (entry && is_translated(*entry)) visit({entry->original, entry->reply.reversed()});
      });
    });
  }

 private:
  NetlinkSocket socket_;
  NetlinkBurst burst_;
};

}  // namespace

Result<NetlinkSocket, IoError> open_conntrack_ends(EndsOf which, const std::string& what) {
  auto socket = NetlinkSocket::open(NETLINK_NETFILTER, what);
  if (!socket) return socket;
  socket->set_receive_buffer(kEventBuffer);
  if (which == EndsOf::udp && !filter_udp(socket->descriptor()))
    return Failure{IoError{what, errno, "the kernel refuses the socket filter"}};
  if (!socket->join(NFNLGRP_CONNTRACK_DESTROY))
    return Failure{IoError{what, errno, "CAP_NET_ADMIN is needed in this network namespace"}};
  if (!switch_events_on())
    return Failure{IoError{what, 0, "net.netfilter.nf_conntrack_events is 0 or missing, and cannot be set to 1 from here"}};
  return socket;
}

Result<std::unique_ptr<ConntrackEnds>, IoError> ConntrackEnds::open(EndsOf which, const std::string& what) {
  auto socket = open_conntrack_ends(which, what);
  if (!socket) return Failure{socket.error()};
  return std::unique_ptr<ConntrackEnds>(std::make_unique<KernelEnds>(std::move(*socket)));
}

}  // namespace asrp::io
