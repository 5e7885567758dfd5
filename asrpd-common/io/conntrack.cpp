// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/conntrack.hpp"

#include <fcntl.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>

#include "io/attributes.hpp"
#include "io/conntrack_message.hpp"
#include "io/netlink_socket.hpp"
#include "io/unique_fd.hpp"

namespace asrp::io {

namespace {

constexpr std::size_t kPerSend = 128;             // entries of one system call; beyond about 20 more gains nothing
constexpr std::size_t kReceiveSize = 256 * 1024;  // one datagram of a dump holds up to 32 KiB
constexpr std::size_t kSocketBuffer = 4u << 20;   // an answer to each of kPerSend messages, many times over

std::uint64_t read_number(int file) {
  std::array<char, 32> text{};
  const ssize_t got = file < 0 ? -1 : ::pread(file, text.data(), text.size(), 0);
  std::uint64_t value = 0;
  if (got > 0) std::from_chars(text.data(), text.data() + got, value);
  return value;
}

UniqueFd open_number(const char* name) {
  return UniqueFd(::open((std::string("/proc/sys/net/netfilter/") + name).c_str(), O_RDONLY | O_CLOEXEC));
}

// CONFIRMED always. SEEN_REPLY: packets of one direction alone keep the entry. ASSURED: early drop leaves it alone.
std::uint32_t status_bits(const engine::Flow& flow) {
  std::uint32_t bits = IPS_CONFIRMED;
  if (flow.one_way_suffices || flow.proven) bits |= IPS_SEEN_REPLY;
  if (flow.proven) bits |= IPS_ASSURED;
  return bits;
}

class KernelConntrack final : public Conntrack {
 public:
  KernelConntrack(const ConntrackOptions& options, NetlinkSocket requests, NetlinkSocket dumps)
      : options_(options),
        requests_(std::move(requests)),
        dumps_(std::move(dumps)),
        send_area_(kPerSend * kLongestConntrackMessage),
        receive_area_(kReceiveSize),
        count_(open_number("nf_conntrack_count")),
        maximum_(open_number("nf_conntrack_max")) {}

  /// Whether the kernel answers at all. 0 or errno.
  int probe();

  void install(std::span<const engine::Flow> flows, std::span<engine::InstallResult> results) override;
  std::optional<engine::FlowEntry> find(const Tuple& tuple) override;
  void remove(const Tuple& client_side) override;
  void set_mark(const Tuple& client_side, engine::FlowMark mark) override;
  void for_each_marked(const std::function<void(const engine::FlowEntry&)>& visit) override;
  bool for_each(const std::function<void(const engine::FlowEntry&)>& visit) override;
  void for_each_untranslated(const std::function<void(const engine::FlowEntry&)>& visit) override;
  void for_each_detail(const std::function<void(const Detail&)>& visit) override;
  void end_visits() override { visits_ended_ = true; }
  Fill fill() const override { return {read_number(count_.get()), read_number(maximum_.get())}; }
  Statistics statistics() const override { return statistics_; }

 private:
  void install_some(std::span<const engine::Flow> flows, std::span<engine::InstallResult> results);
  engine::InstallResult judge(int error_number);
  std::uint32_t mark_bits(engine::FlowMark mark) const;
  engine::FlowEntry entry_of(const ConntrackEntry& entry) const;
  template <typename OnError, typename OnEntry>
  bool drain(const OnError& on_error, const OnEntry& on_entry, std::size_t expected = ~std::size_t{0});
  template <typename Visit>
  bool dump(std::uint32_t mark, std::uint32_t mask, const Visit& visit);

  ConntrackOptions options_;
  NetlinkSocket requests_;
  NetlinkSocket dumps_;  // a socket of its own: a visitor may call everything else
  std::atomic<bool> visits_ended_ = false;
  Buffer send_area_;
  Buffer receive_area_;
  UniqueFd count_;
  UniqueFd maximum_;
  std::uint32_t sequence_ = 1;
  Statistics statistics_;
};

// Reads every answer that is there. The kernel works inside send(), so all are. False if some were lost. Where the number of
// answers is known the last system call, which finds nothing, is saved.
template <typename OnError, typename OnEntry>
bool KernelConntrack::drain(const OnError& on_error, const OnEntry& on_entry, std::size_t expected) {
  bool whole = true;
  std::size_t seen = 0;
  while (seen < expected) {
    const ssize_t got = requests_.receive(receive_area_);
    if (got < 0 && errno == ENOBUFS) {
      whole = false;
      continue;
    }
    if (got < 0) break;
    for_each_message(Octets(receive_area_).first(static_cast<std::size_t>(got)), [&](const nlmsghdr& header, Octets payload) {
      ++seen;
      if (header.nlmsg_type == NLMSG_ERROR) {
        if (const int number = -load_native<std::int32_t>(payload); number != 0) on_error(header.nlmsg_seq, number);
      } else if (is_conntrack_entry(header.nlmsg_type)) {
        if (const auto entry = read_entry(payload)) on_entry(*entry);
      }
    });
  }
  return whole;
}

int KernelConntrack::probe() {
  const Endpoint nobody{};
  const std::size_t size = write_get(send_area_.data(), sequence_++, {nobody, nobody, Protocol::udp});
  if (const int failure = requests_.send(Octets(send_area_).first(size)); failure != 0) return failure;
  int answer = 0;
  drain([&](std::uint32_t, int number) { answer = number; }, [](const ConntrackEntry&) {});
  return answer == ENOENT ? 0 : answer;
}

std::uint32_t KernelConntrack::mark_bits(engine::FlowMark mark) const {
  switch (mark) {
    case engine::FlowMark::waiting:
      return options_.waiting_mark;
    case engine::FlowMark::unprotected:
      return options_.unprotected_mark;
    case engine::FlowMark::none:
      break;
  }
  return 0;
}

engine::InstallResult KernelConntrack::judge(int error_number) {
  switch (error_number) {
    case EEXIST:
      ++statistics_.exists;
      return engine::InstallResult::exists;
    case ENOMEM:
    case ENOSPC:  // the chain of that hash is too long
      ++statistics_.full;
      return engine::InstallResult::full;
    default:
      ++statistics_.failed;
      statistics_.last_errno = static_cast<std::uint64_t>(error_number);
      return engine::InstallResult::failed;
  }
}

void KernelConntrack::install(std::span<const engine::Flow> flows, std::span<engine::InstallResult> results) {
  ASRP_ASSERT(flows.size() == results.size());
  for (std::size_t first = 0; first < flows.size(); first += kPerSend) {
    const std::size_t count = std::min(kPerSend, flows.size() - first);
    install_some(flows.subspan(first, count), results.subspan(first, count));
  }
}

void KernelConntrack::install_some(std::span<const engine::Flow> flows, std::span<engine::InstallResult> results) {
  const std::uint32_t base = sequence_;
  std::size_t filled = 0;
  for (const engine::Flow& flow : flows) {
    filled += write_create(send_area_.data() + filled, sequence_++, flow.tuples,
                           {status_bits(flow), options_.creation_timeout, mark_bits(flow.mark), flow.begun_by_server});
  }
  const int failure = requests_.send(Octets(send_area_).first(filled));
  if (failure != 0) {
    for (engine::InstallResult& result : results) result = judge(failure);
    return;
  }
  std::fill(results.begin(), results.end(), engine::InstallResult::ok);
  const bool whole = drain(
      [&](std::uint32_t sequence, int number) {
        if (const std::uint32_t index = sequence - base; index < results.size()) results[index] = judge(number);
      },
      [](const ConntrackEntry&) {});
  for (engine::InstallResult& result : results) {
    if (result != engine::InstallResult::ok) continue;
    if (whole) {
      ++statistics_.installed;
    } else {
      result = judge(ENOBUFS);  // it may be there or not: then it must not be relied on (decision 5)
    }
  }
}

engine::FlowEntry KernelConntrack::entry_of(const ConntrackEntry& entry) const {
  engine::FlowEntry flow;
  flow.tuples = {entry.original, entry.reply.reversed()};
  if ((entry.mark & options_.waiting_mark) != 0) {
    flow.mark = engine::FlowMark::waiting;
  } else if ((entry.mark & options_.unprotected_mark) != 0) {
    flow.mark = engine::FlowMark::unprotected;
  }
  flow.closing = is_closing(entry);
  flow.left = entry.timeout;
  return flow;
}

// The kernel knows an entry by its original tuple and by its reply tuple, as they stand; the reversed ones are asked for in the
// same send.
std::optional<engine::FlowEntry> KernelConntrack::find(const Tuple& tuple) {
  std::size_t filled = write_get(send_area_.data(), sequence_++, tuple);
  filled += write_get(send_area_.data() + filled, sequence_++, tuple.reversed());
  if (requests_.send(Octets(send_area_).first(filled)) != 0) return {};
  std::optional<engine::FlowEntry> found;
  drain([](std::uint32_t, int) {},
        [&](const ConntrackEntry& entry) {
          if (!found) found = entry_of(entry);
        },
        2);
  return found;
}

void KernelConntrack::remove(const Tuple& client_side) {
  const std::size_t size = write_delete(send_area_.data(), sequence_++, client_side);
  int answer = requests_.send(Octets(send_area_).first(size));
  drain([&](std::uint32_t, int number) { answer = number; }, [](const ConntrackEntry&) {});
  if (answer == 0) ++statistics_.removed;
}

void KernelConntrack::set_mark(const Tuple& client_side, engine::FlowMark mark) {
  const std::size_t size = write_mark(send_area_.data(), sequence_++, client_side, mark_bits(mark),
                                      options_.waiting_mark | options_.unprotected_mark);
  static_cast<void>(requests_.send(Octets(send_area_).first(size)));
  // ENOENT: the entry has ended; nothing is left to be marked.
  drain([](std::uint32_t, int) {}, [](const ConntrackEntry&) {});
}

// False if it ended early.
template <typename Visit>
bool KernelConntrack::dump(std::uint32_t mark, std::uint32_t mask, const Visit& visit) {
  std::array<std::uint8_t, kLongestConntrackMessage> request{};
  Buffer area(kReceiveSize);
  const std::size_t size = write_dump(request.data(), sequence_++, mark, mask);
  if (visits_ended_ || dumps_.send(Octets(request).first(size)) != 0) return false;
  bool whole = false;
  for (bool done = false; !done && !visits_ended_;) {
    const ssize_t got = dumps_.receive(area, true);
    if (got < 0 && errno == ENOBUFS) continue;
    if (got < 0) return false;
    for_each_message(Octets(area).first(static_cast<std::size_t>(got)), [&](const nlmsghdr& header, Octets payload) {
      if (header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR) done = true;
      if (header.nlmsg_type == NLMSG_DONE) whole = true;
      if (!is_conntrack_entry(header.nlmsg_type) || visits_ended_) return;
      if (const auto entry = read_entry(payload)) visit(*entry);
    });
  }
  return whole && !visits_ended_;
}

// The kernel's filter is "mark under mask equals": one dump for each bit.
void KernelConntrack::for_each_marked(const std::function<void(const engine::FlowEntry&)>& visit) {
  dump(options_.waiting_mark, options_.waiting_mark, [&](const ConntrackEntry& entry) { visit(entry_of(entry)); });
  dump(options_.unprotected_mark, options_.unprotected_mark | options_.waiting_mark,
       [&](const ConntrackEntry& entry) { visit(entry_of(entry)); });
}

bool KernelConntrack::for_each(const std::function<void(const engine::FlowEntry&)>& visit) {
  return dump(0, 0, [&](const ConntrackEntry& entry) {
    if (is_translated(entry)) visit(entry_of(entry));
  });
}

void KernelConntrack::for_each_untranslated(const std::function<void(const engine::FlowEntry&)>& visit) {
  dump(0, 0, [&](const ConntrackEntry& entry) {
    if (!is_translated(entry)) visit(entry_of(entry));
  });
}

void KernelConntrack::for_each_detail(const std::function<void(const Detail&)>& visit) {
  dump(0, 0, [&](const ConntrackEntry& entry) {
    if (is_translated(entry)) visit({entry_of(entry), state_name(entry), entry.timeout, entry.from_client, entry.from_server});
  });
}

IoError probe_error(int number) {
  if (number == EPERM) return {"use conntrack", number, "CAP_NET_ADMIN is needed in this network namespace"};
  return {"use conntrack", number, "this kernel lacks ctnetlink (CONFIG_NF_CT_NETLINK); load the module nf_conntrack_netlink"};
}

}  // namespace

Result<std::unique_ptr<Conntrack>, IoError> Conntrack::open(const ConntrackOptions& options) {
  auto requests = NetlinkSocket::open(NETLINK_NETFILTER, "open conntrack");
  if (!requests) return Failure{requests.error()};
  auto dumps = NetlinkSocket::open(NETLINK_NETFILTER, "open conntrack");
  if (!dumps) return Failure{dumps.error()};
  requests->set_receive_buffer(kSocketBuffer);
  requests->set_send_buffer(kSocketBuffer);
  requests->cut_errors();
  auto conntrack = std::make_unique<KernelConntrack>(options, std::move(*requests), std::move(*dumps));
  if (const int number = conntrack->probe(); number != 0) return Failure{probe_error(number)};
  return std::unique_ptr<Conntrack>(std::move(conntrack));
}

}  // namespace asrp::io
