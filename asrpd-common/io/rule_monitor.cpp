// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include <array>
#include <cerrno>

#include "io/netlink_socket.hpp"
#include "io/rule_set.hpp"

namespace asrp::io {

namespace {

class NftablesMonitor final : public RuleMonitor {
 public:
  explicit NftablesMonitor(NetlinkSocket socket) : socket_(std::move(socket)) {}

  int descriptor() const override { return socket_.descriptor(); }

  bool drain() override {
    bool any = false;
    for (;;) {
      if (socket_.receive(buffer_) >= 0) {
        any = true;
      } else if (errno == ENOBUFS) {
        any = true;  // some notices are lost: all the more reason to look
      } else {
        return any;
      }
    }
  }

 private:
  NetlinkSocket socket_;
  std::array<std::uint8_t, 8192> buffer_{};  // the notices' content is of no interest; longer ones are cut
};

}  // namespace

Result<std::unique_ptr<RuleMonitor>, IoError> RuleMonitor::open() {
  const std::string what = "watch for changed rules";
  auto socket = NetlinkSocket::open(NETLINK_NETFILTER, what);
  if (!socket) return Failure{socket.error()};
  if (!socket->join(NFNLGRP_NFTABLES))
    return Failure{
        IoError{what, errno, "this kernel tells nothing of rule changes (nf_tables); they are looked at by time only"}};
  return std::unique_ptr<RuleMonitor>(std::make_unique<NftablesMonitor>(std::move(*socket)));
}

}  // namespace asrp::io
