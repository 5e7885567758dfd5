// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/marked_flows.hpp"

#include <linux/netlink.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "io/attributes.hpp"
#include "io/conntrack_message.hpp"
#include "io/netlink_socket.hpp"

namespace asrp::io {

namespace {

constexpr std::size_t kPerSend = 64;
constexpr std::size_t kReceiveSize = 64 * 1024;  // one datagram of a dump holds up to 32 KiB

class KernelMarkedFlows final : public MarkedFlows {
 public:
  KernelMarkedFlows(std::uint32_t mark, NetlinkSocket dumps, NetlinkSocket requests)
      : mark_(mark), dumps_(std::move(dumps)), requests_(std::move(requests)) {}

  int descriptor() const override { return dumps_.descriptor(); }
  void begin() override;
  std::span<const Tuple> next() override;
  void clear(std::span<const Tuple> flows) override;

 private:
  void take(const nlmsghdr& header, Octets payload);

  std::uint32_t mark_;
  NetlinkSocket dumps_;
  NetlinkSocket requests_;
  bool reading_ = false;
  bool again_ = false;
  std::uint32_t sequence_ = 1;
  std::vector<Tuple> piece_;
  Buffer receive_area_ = Buffer(kReceiveSize);
  Buffer send_area_ = Buffer(kPerSend * kLongestConntrackMessage);
};

void KernelMarkedFlows::begin() {
  again_ = reading_;
  if (reading_) return;
  std::array<std::uint8_t, kLongestConntrackMessage> request{};
  const std::size_t size = write_dump(request.data(), sequence_++, mark_, mark_);
  reading_ = dumps_.send(Octets(request).first(size)) == 0;
}

std::span<const Tuple> KernelMarkedFlows::next() {
  piece_.clear();
  const ssize_t got = dumps_.receive(receive_area_);
  if (got > 0) {
    for_each_message(Octets(receive_area_).first(static_cast<std::size_t>(got)),
                     [this](const nlmsghdr& header, Octets payload) { take(header, payload); });
  }
  if (!reading_ && std::exchange(again_, false)) begin();
  return piece_;
}

void KernelMarkedFlows::take(const nlmsghdr& header, Octets payload) {
  if (header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR) reading_ = false;
  if (!is_conntrack_entry(header.nlmsg_type)) return;
  const auto entry = read_entry(payload);
  if (!entry || is_closing(*entry)) return;
  const Protocol protocol = entry->original.protocol;
  if (protocol == Protocol::tcp || protocol == Protocol::udp) piece_.push_back(entry->original);
}

void KernelMarkedFlows::clear(std::span<const Tuple> flows) {
  for (std::size_t first = 0; first < flows.size(); first += kPerSend) {
    std::size_t filled = 0;
    for (const Tuple& flow : flows.subspan(first, std::min(kPerSend, flows.size() - first)))
      filled += write_mark(send_area_.data() + filled, sequence_++, flow, 0, mark_);
    static_cast<void>(requests_.send(Octets(send_area_).first(filled)));
    while (requests_.receive(receive_area_) >= 0 || errno == ENOBUFS) {
    }  // ENOENT: nothing is left to be marked
  }
}

}  // namespace

Result<std::unique_ptr<MarkedFlows>, IoError> MarkedFlows::open(std::uint32_t mark) {
  auto dumps = NetlinkSocket::open(NETLINK_NETFILTER, "read marked flows");
  if (!dumps) return Failure{dumps.error()};
  auto requests = NetlinkSocket::open(NETLINK_NETFILTER, "unmark flows");
  if (!requests) return Failure{requests.error()};
  requests->cut_errors();
  return std::unique_ptr<MarkedFlows>(std::make_unique<KernelMarkedFlows>(mark, std::move(*dumps), std::move(*requests)));
}

}  // namespace asrp::io
