// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/nfqueue.hpp"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "io/attributes.hpp"
#include "io/netlink_socket.hpp"
#include "io/nfqueue_quirks.hpp"

namespace asrp::io {

namespace {

// The payload attribute's length has 16 bits: the kernel never hands over more than 65,531 octets of a packet.
constexpr std::uint32_t kCopyRange = 0xffff;
// A message with the longest payload and all other attributes.
constexpr std::size_t kMessageSize = 0x10000 + 1024;
// Verdicts of one system call. Bounded so that the kernel need not find a very long piece of memory.
constexpr std::size_t kSendSize = 256 * 1024;
constexpr std::size_t kVerdictOverhead = 64;

struct Staged {
  engine::PacketId id;
  Verdict verdict;
  Octets replacement;
  std::uint32_t mark;
};

std::uint32_t verdict_number(Verdict verdict) { return verdict == Verdict::accept ? NF_ACCEPT : NF_DROP; }

nlmsghdr* put_header(std::uint8_t* at, std::uint16_t type, std::uint16_t flags, std::uint16_t queue) {
  nlmsghdr* message = mnl_nlmsg_put_header(at);
  message->nlmsg_type = static_cast<std::uint16_t>(NFNL_SUBSYS_QUEUE << 8 | type);
  message->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  auto* general = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(nfgenmsg)));
  general->nfgen_family = AF_UNSPEC;
  general->version = NFNETLINK_V0;
  general->res_id = htons(queue);
  return message;
}

void put_verdict(nlmsghdr* message, std::uint32_t number, Verdict verdict, std::uint32_t mark) {
  const nfqnl_msg_verdict_hdr header{htonl(verdict_number(verdict)), htonl(number)};
  mnl_attr_put(message, NFQA_VERDICT_HDR, sizeof header, &header);
  if (mark != 0) mnl_attr_put_u32(message, NFQA_MARK, htonl(mark));
}

class NfQueue final : public PacketQueue {
 public:
  NfQueue(NetlinkSocket socket, std::size_t burst, std::size_t receive_buffer)
      : socket_(std::move(socket)),
        receive_buffer_(receive_buffer),
        // Plain new: pages that no long packet has touched cost address space only.
        receive_area_(new std::uint8_t[burst * kMessageSize]),
        headers_(burst),
        pieces_(burst),
        send_area_(kSendSize) {
    packets_.reserve(burst);
    staged_.reserve(burst);
    for (std::size_t i = 0; i < burst; ++i) {
      pieces_[i] = {receive_area_.get() + i * kMessageSize, kMessageSize};
      headers_[i].msg_hdr.msg_iov = &pieces_[i];
      headers_[i].msg_hdr.msg_iovlen = 1;
    }
  }

  Result<Done, IoError> bind(std::uint16_t number, const NfQueueOptions& options);

  int descriptor() const override { return socket_.descriptor(); }
  std::span<const QueuedPacket> receive() override;
  void stage_verdict(engine::PacketId id, Verdict verdict, Octets replacement, std::uint32_t mark) override {
    staged_.push_back({id, verdict, replacement, mark});
  }
  void send_verdicts() override;
  Statistics statistics() const override;
  std::size_t receive_buffer() const override { return receive_buffer_; }

 private:
  int configure(std::uint16_t number, const std::function<void(nlmsghdr*)>& attributes);
  void parse(Octets datagram);
  void parse_packet(Octets payload);
  bool send_as_batch();
  void send_packed();
  void send_range(std::size_t first, std::size_t last, std::size_t octets);
  std::size_t put(std::uint8_t* at, const Staged& staged);
  void settle(std::uint16_t queue, std::uint32_t count);

  NetlinkSocket socket_;
  std::size_t receive_buffer_;
  std::unique_ptr<std::uint8_t[]> receive_area_;
  std::vector<mmsghdr> headers_;
  std::vector<iovec> pieces_;
  Buffer send_area_;
  std::vector<Buffer> early_;    // came while later queues were bound
  std::vector<Buffer> parsing_;  // the same, handed out
  std::vector<QueuedPacket> packets_;
  std::vector<Staged> staged_;
  std::map<std::uint16_t, std::uint32_t> outstanding_;  // packets by bound queue that wait for a verdict; few queues
  Statistics statistics_;
};

// One configuration message with its answer. A message of its own per setting: the kernel refuses a message whole, and a queue
// without a copy mode drops everything.
int NfQueue::configure(std::uint16_t number, const std::function<void(nlmsghdr*)>& attributes) {
  std::array<std::uint8_t, 256> request{};
  nlmsghdr* message = put_header(request.data(), NFQNL_MSG_CONFIG, NLM_F_ACK, number);
  attributes(message);
  if (const int failure = socket_.send(Octets(request).first(message->nlmsg_len)); failure != 0) return failure;
  for (;;) {
    const MutableOctets area(receive_area_.get(), kMessageSize);
    const ssize_t got = socket_.receive(area, true);
    if (got < 0 && errno == ENOBUFS) continue;
    if (got < 0) return errno;
    int answer = -1;
    for_each_message(Octets(area).first(static_cast<std::size_t>(got)), [&](const nlmsghdr& header, Octets payload) {
      if (header.nlmsg_type == NLMSG_ERROR) answer = -load_native<std::int32_t>(payload);
    });
    if (answer >= 0) return answer;
    early_.emplace_back(area.begin(), area.begin() + got);  // a packet of a queue bound before: it gets its verdict too
  }
}

Result<Done, IoError> NfQueue::bind(std::uint16_t number, const NfQueueOptions& options) {
  const auto step = [&](const char* what, const std::function<void(nlmsghdr*)>& attributes) -> Result<Done, IoError> {
    if (const int failure = configure(number, attributes); failure != 0)
      return Failure{IoError{std::string(what) + " NFQUEUE " + std::to_string(number), failure, bind_advice(number, failure)}};
    return Done{};
  };
  if (auto done = step("bind",
                       [](nlmsghdr* m) {
                         const nfqnl_msg_config_cmd command{NFQNL_CFG_CMD_BIND, 0, htons(AF_UNSPEC)};
                         mnl_attr_put(m, NFQA_CFG_CMD, sizeof command, &command);
                       });
      !done)
    return done;
  if (auto done =
          step("set the length of", [&](nlmsghdr* m) { mnl_attr_put_u32(m, NFQA_CFG_QUEUE_MAXLEN, htonl(options.length)); });
      !done)
    return done;
  if (options.fail_open) {
    auto done = step("set fail-open of", [](nlmsghdr* m) {
      mnl_attr_put_u32(m, NFQA_CFG_FLAGS, htonl(NFQA_CFG_F_FAIL_OPEN));
      mnl_attr_put_u32(m, NFQA_CFG_MASK, htonl(NFQA_CFG_F_FAIL_OPEN));
    });
    if (!done) return done;
  }
  outstanding_[number] = 0;
  // The copy mode last: it lets packets in.
  return step("set the copy mode of", [](nlmsghdr* m) {
    nfqnl_msg_config_params parameters{};
    parameters.copy_range = htonl(kCopyRange);
    parameters.copy_mode = NFQNL_COPY_PACKET;
    mnl_attr_put(m, NFQA_CFG_PARAMS, sizeof parameters, &parameters);
  });
}

std::span<const QueuedPacket> NfQueue::receive() {
  packets_.clear();
  parsing_ = std::exchange(early_, {});
  for (const Buffer& datagram : parsing_) parse(datagram);
  while (packets_.empty()) {
    const int got =
        ::recvmmsg(socket_.descriptor(), headers_.data(), static_cast<unsigned>(headers_.size()), MSG_DONTWAIT, nullptr);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno != ENOBUFS) break;
      ++statistics_.overruns;  // packets were lost in the kernel; those that follow are whole
      continue;
    }
    for (int i = 0; i < got; ++i) {
      const auto index = static_cast<std::size_t>(i);
      parse(Octets(receive_area_.get() + index * kMessageSize, headers_[index].msg_len));
    }
  }
  if (!packets_.empty()) ++statistics_.bursts;
  statistics_.received += packets_.size();
  return packets_;
}

void NfQueue::parse(Octets datagram) {
  for_each_message(datagram, [this](const nlmsghdr& header, Octets payload) {
    if (header.nlmsg_type == NLMSG_ERROR) {
      if (load_native<std::int32_t>(payload) != 0) ++statistics_.verdict_errors;
    } else if (header.nlmsg_type == (NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_PACKET) && payload.size() >= sizeof(nfgenmsg)) {
      parse_packet(payload);
    }
  });
}

void NfQueue::parse_packet(Octets payload) {
  QueuedPacket packet;
  bool has_number = false;
  packet.id.queue = ntohs(load_native<nfgenmsg>(payload).res_id);
  for_each_attribute(payload.subspan(sizeof(nfgenmsg)), [&](int type, Octets value) {
    switch (type) {
      case NFQA_PACKET_HDR:
        packet.id.number = get_u32(value);
        has_number = value.size() >= 4;
        break;
      case NFQA_MARK:
        packet.mark = get_u32(value);
        break;
      case NFQA_CAP_LEN:
        packet.wire_size = get_u32(value);
        break;
      case NFQA_PAYLOAD:
        packet.octets = value;
        break;
      default:
        break;
    }
  });
  if (!has_number) return;
  // NFQA_CAP_LEN is there only if the copy was cut.
  packet.wire_size = std::max(packet.wire_size, packet.octets.size());
  if (packet.wire_size > packet.octets.size()) ++statistics_.cut;
  ++outstanding_[packet.id.queue];
  packets_.push_back(packet);
}

void NfQueue::settle(std::uint16_t queue, std::uint32_t count) {
  std::uint32_t& waiting = outstanding_[queue];
  waiting -= std::min(waiting, count);
}

void NfQueue::send_verdicts() {
  if (staged_.empty()) return;
  if (!send_as_batch()) send_packed();
  staged_.clear();
}

// One message for all, if they are alike and all that the queue waits for: the kernel applies it to every packet up to a
// number.
bool NfQueue::send_as_batch() {
  const Staged& first = staged_.front();
  std::uint32_t highest = first.id.number;
  if (staged_.size() < 2 || outstanding_[first.id.queue] != staged_.size()) return false;
  for (const Staged& s : staged_) {
    if (s.id.queue != first.id.queue || s.verdict != first.verdict || s.mark != first.mark || !s.replacement.empty())
      return false;
    if (static_cast<std::int32_t>(s.id.number - highest) > 0) highest = s.id.number;
  }
  nlmsghdr* message = put_header(send_area_.data(), NFQNL_MSG_VERDICT_BATCH, 0, first.id.queue);
  put_verdict(message, highest, first.verdict, first.mark);
  if (socket_.send(Octets(send_area_).first(message->nlmsg_len)) != 0) return false;
  settle(first.id.queue, static_cast<std::uint32_t>(staged_.size()));
  return true;
}

// The payload attribute's length is 4 + the packet's: padding follows, but is never counted. libmnl does so.
std::size_t NfQueue::put(std::uint8_t* at, const Staged& staged) {
  nlmsghdr* message = put_header(at, NFQNL_MSG_VERDICT, 0, staged.id.queue);
  put_verdict(message, staged.id.number, staged.verdict, staged.mark);
  if (!staged.replacement.empty() && staged.verdict == Verdict::accept)
    mnl_attr_put(message, NFQA_PAYLOAD, staged.replacement.size(), staged.replacement.data());
  return NLMSG_ALIGN(message->nlmsg_len);
}

void NfQueue::send_packed() {
  std::size_t filled = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < staged_.size(); ++i) {
    Staged& s = staged_[i];
    if (s.replacement.size() > kCopyRange - NLA_HDRLEN) {  // fits no attribute: what must not go on unchanged is dropped
      ++statistics_.verdict_errors;
      s = {s.id, Verdict::drop, {}, 0};
    }
    if (filled + s.replacement.size() + kVerdictOverhead > send_area_.size()) {
      send_range(first, i, filled);
      first = i;
      filled = 0;
    }
    filled += put(send_area_.data() + filled, s);
  }
  send_range(first, staged_.size(), filled);
}

void NfQueue::send_range(std::size_t first, std::size_t last, std::size_t octets) {
  const bool sent = socket_.send(Octets(send_area_).first(octets)) == 0;
  for (std::size_t i = first; i < last; ++i) {
    // No memory for the burst: one by one, so that no packet stays in the queue for ever.
    if (!sent) {
      const std::size_t size = put(send_area_.data(), staged_[i]);
      if (socket_.send(Octets(send_area_).first(size)) != 0) ++statistics_.verdict_errors;
    }
    settle(staged_[i].id.queue, 1);
  }
}

// A line of the kernel's list: number, port, waiting, copy mode, copy range, dropped, lost, last number, 1.
PacketQueue::Statistics NfQueue::statistics() const {
  Statistics all = statistics_;
  std::ifstream list("/proc/self/net/netfilter/nfnetlink_queue");
  for (std::string line; std::getline(list, line);) {
    std::istringstream columns(line);
    std::array<std::uint64_t, 7> value{};
    for (std::uint64_t& v : value) columns >> v;
    if (!columns || !outstanding_.contains(static_cast<std::uint16_t>(value[0]))) continue;
    all.dropped += value[5];
    all.lost += value[6];
  }
  return all;
}

}  // namespace

Result<std::unique_ptr<PacketQueue>, IoError> open_nfqueue(const NfQueueOptions& options) {
  ASRP_ASSERT(!options.numbers.empty() && options.burst > 0);
  auto socket = NetlinkSocket::open(NETLINK_NETFILTER, "open NFQUEUE " + std::to_string(options.numbers.front()));
  if (!socket) return Failure{socket.error()};
  // The kernel tells twice what it gives: as much again is for its own book-keeping.
  const std::size_t receive_buffer = socket->set_receive_buffer(options.receive_buffer) / 2;
  socket->set_send_buffer(2 * kSendSize);
  auto queue = std::make_unique<NfQueue>(std::move(*socket), options.burst, receive_buffer);
  for (const std::uint16_t number : options.numbers)
    if (auto done = queue->bind(number, options); !done) return Failure{done.error()};
  return std::unique_ptr<PacketQueue>(std::move(queue));
}

}  // namespace asrp::io
