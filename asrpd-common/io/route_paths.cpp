// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/route_paths.hpp"

#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <unordered_map>
#include <vector>

#include "io/attributes.hpp"
#include "io/netlink_socket.hpp"
#include "runtime/clock.hpp"

namespace asrp::io {

namespace {

constexpr std::size_t kUnknown = 1500;
constexpr auto kLifetime = std::chrono::seconds(1);
// Journeys that are remembered. More at once only cost a question (about 3 us) each: all are forgotten.
constexpr std::size_t kMostJourneys = 16384;

/// What the kernel goes by. No source: it chooses one.
struct Journey {
  IpAddress source;
  IpAddress destination;
  friend bool operator==(const Journey&, const Journey&) = default;
};

struct JourneyHash {
  std::size_t operator()(const Journey& journey) const {
    std::size_t hash = 0xcbf29ce484222325u;
    for (const IpAddress& address : {journey.source, journey.destination})
      for (const std::uint8_t octet : address.octets()) hash = (hash ^ octet) * 0x100000001b3u;
    return hash;
  }
};

Journey to(const IpAddress& destination) { return {IpAddress::any(destination.family()), destination}; }

// Ways that are remembered; with more all get new numbers.
constexpr std::size_t kMostWays = 256;
constexpr std::array kGroups = {RTNLGRP_LINK,       RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
                                RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE,   RTNLGRP_IPV6_RULE};

/// How packets leave. Two networks may look the same here: watch() tells them apart in time.
struct Way {
  std::uint32_t device = 0;
  Buffer gateway;
  Buffer source;
  friend bool operator==(const Way&, const Way&) = default;
};

class KernelRoutes final : public RoutePaths {
 public:
  explicit KernelRoutes(NetlinkSocket socket) : socket_(std::move(socket)) {}

  std::size_t mtu_towards(const IpAddress& destination) override { return known(to(destination)).mtu; }
  std::uint32_t route_of(const IpAddress& source, const IpAddress& destination) override {
    return known({source, destination}).route;
  }
  Result<Done, IoError> watch() override;
  int descriptor() const override { return notices_ ? notices_->descriptor() : -1; }
  void refresh() override;

 private:
  struct Known {
    std::size_t mtu = kUnknown;
    std::uint32_t route = 0;
    TimePoint read{};
  };
  struct Numbered {
    std::uint32_t number;
    Way way;
    Journey sample;  // one that goes this way
  };
  struct Answer {
    Way way;
    std::size_t mtu = 0;
  };

  const Known& known(const Journey& journey);
  Answer ask_route(const Journey& journey);
  std::uint32_t number_of(const Way& way, const Journey& sample);
  std::size_t device_mtu(std::uint32_t index, TimePoint now);
  void take(const nlmsghdr& header, Octets payload);
  void forget(std::uint32_t device);
  template <typename Visit>
  void ask(Octets request, std::uint16_t answer_type, const Visit& visit);

  NetlinkSocket socket_;
  std::optional<NetlinkSocket> notices_;
  std::unordered_map<Journey, Known, JourneyHash> journeys_;
  std::unordered_map<std::uint32_t, Known> devices_;
  std::vector<Numbered> ways_;
  std::uint32_t last_number_ = 0;
  std::array<std::uint8_t, 16384> area_{};
};

const KernelRoutes::Known& KernelRoutes::known(const Journey& journey) {
  const auto now = runtime::monotonic_now();
  if (const auto found = journeys_.find(journey); found != journeys_.end() && now - found->second.read < kLifetime)
    return found->second;
  if (journeys_.size() >= kMostJourneys) journeys_.clear();
  const Answer answer = ask_route(journey);
  Known& entry = journeys_[journey];
  entry = {kUnknown, 0, now};
  if (answer.way.device == 0) return entry;
  const std::size_t link = device_mtu(answer.way.device, now);
  entry.mtu = answer.mtu != 0 ? std::min(answer.mtu, link) : link;
  entry.route = number_of(answer.way, journey);
  return entry;
}

std::uint32_t KernelRoutes::number_of(const Way& way, const Journey& sample) {
  for (const Numbered& each : ways_) {
    if (each.way == way) return each.number;
  }
  if (ways_.size() >= kMostWays) ways_.clear();
  ways_.push_back({++last_number_, way, sample});
  return last_number_;
}

Result<Done, IoError> KernelRoutes::watch() {
  auto notices = NetlinkSocket::open(NETLINK_ROUTE, "follow changes of routes");
  if (!notices) return Failure{notices.error()};
  // Groups of families that the kernel lacks cannot be joined; then there are no such routes.
  for (const auto group : kGroups) static_cast<void>(notices->join(group));
  notices_ = std::move(*notices);
  return Done{};
}

// Something that goes, or a link that loses its carrier, ends the ways through its device: what comes back may be another
// network with the same addresses. Of what comes it is enough to ask whether it leads packets elsewhere: addresses and routes
// are announced again whenever their lifetime is.
void KernelRoutes::refresh() {
  bool has_changed = false;
  for (ssize_t got = 0; (got = notices_->receive(area_)) >= 0 || errno == ENOBUFS;) {
    has_changed = true;
    if (got < 0) {
      ways_.clear();
      continue;
    }
    for_each_message(Octets(area_).first(static_cast<std::size_t>(got)),
                     [&](const nlmsghdr& header, Octets payload) { take(header, payload); });
  }
  if (!has_changed) return;
  journeys_.clear();
  std::erase_if(ways_, [&](const Numbered& each) { return ask_route(each.sample).way != each.way; });
}

void KernelRoutes::take(const nlmsghdr& header, Octets payload) {
  if (header.nlmsg_type == RTM_DELROUTE && payload.size() >= sizeof(rtmsg)) {
    std::uint32_t device = 0;
    for_each_attribute(payload.subspan(sizeof(rtmsg)), [&](int type, Octets value) {
      if (type == RTA_OIF) device = load_native<std::uint32_t>(value);
    });
    forget(device);
  } else if (header.nlmsg_type == RTM_DELADDR && payload.size() >= sizeof(ifaddrmsg)) {
    forget(load_native<ifaddrmsg>(payload).ifa_index);
  } else if ((header.nlmsg_type == RTM_DELLINK || header.nlmsg_type == RTM_NEWLINK) && payload.size() >= sizeof(ifinfomsg)) {
    const auto link = load_native<ifinfomsg>(payload);
    const bool is_up = header.nlmsg_type == RTM_NEWLINK && (link.ifi_flags & IFF_LOWER_UP) != 0;
    if (!is_up) forget(static_cast<std::uint32_t>(link.ifi_index));
  }
}

/// 0: all, since nobody knows which.
void KernelRoutes::forget(std::uint32_t device) {
  std::erase_if(ways_, [&](const Numbered& each) { return device == 0 || each.way.device == device; });
}

template <typename Body>
std::size_t write_header(std::uint8_t* at, std::uint16_t type, const Body& body, std::size_t extra) {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + sizeof body + extra);
  header.nlmsg_type = type;
  header.nlmsg_flags = NLM_F_REQUEST;
  std::memcpy(at, &header, sizeof header);
  std::memcpy(at + sizeof header, &body, sizeof body);
  return sizeof header + sizeof body;
}

// The kernel answers inside send(): what is not there then is an error.
template <typename Visit>
void KernelRoutes::ask(Octets request, std::uint16_t answer_type, const Visit& visit) {
  if (socket_.send(request) != 0) return;
  for (ssize_t got = 0; (got = socket_.receive(area_)) >= 0 || errno == ENOBUFS;) {
    if (got < 0) continue;
    for_each_message(Octets(area_).first(static_cast<std::size_t>(got)), [&](const nlmsghdr& header, Octets payload) {
      if (header.nlmsg_type == answer_type) visit(payload);
    });
  }
}

KernelRoutes::Answer KernelRoutes::ask_route(const Journey& journey) {
  const bool has_source = !journey.source.is_unspecified();
  const Octets source = journey.source.octets();
  const Octets destination = journey.destination.octets();
  std::array<std::uint8_t, 128> request{};
  rtmsg body{};
  body.rtm_family = journey.destination.is_v4() ? AF_INET : AF_INET6;
  body.rtm_dst_len = static_cast<std::uint8_t>(destination.size() * 8);
  body.rtm_src_len = static_cast<std::uint8_t>(has_source ? source.size() * 8 : 0);
  const std::size_t extra = (has_source ? 2 : 1) * (sizeof(nlattr) + destination.size());
  std::size_t at = write_header(request.data(), RTM_GETROUTE, body, extra);
  const auto add = [&](std::uint16_t type, Octets address) {
    const nlattr attribute{static_cast<std::uint16_t>(sizeof attribute + address.size()), type};
    std::memcpy(request.data() + at, &attribute, sizeof attribute);
    std::memcpy(request.data() + at + sizeof attribute, address.data(), address.size());
    at += attribute.nla_len;
  };
  add(RTA_DST, destination);
  if (has_source) add(RTA_SRC, source);

  Answer answer;
  ask(Octets(request).first(at), RTM_NEWROUTE, [&](Octets payload) {
    if (payload.size() < sizeof(rtmsg)) return;
    for_each_attribute(payload.subspan(sizeof(rtmsg)), [&](int type, Octets value) {
      if (type == RTA_OIF) answer.way.device = load_native<std::uint32_t>(value);
      if (type == RTA_GATEWAY || type == RTA_VIA) answer.way.gateway.assign(value.begin(), value.end());
      if (type == RTA_PREFSRC) answer.way.source.assign(value.begin(), value.end());
      if (type != RTA_METRICS) return;
      for_each_attribute(value, [&](int metric, Octets number) {
        if (metric == RTAX_MTU) answer.mtu = load_native<std::uint32_t>(number);
      });
    });
  });
  // Of a source that it was given the kernel does not always tell.
  if (has_source) answer.way.source.assign(source.begin(), source.end());
  return answer;
}

std::size_t KernelRoutes::device_mtu(std::uint32_t index, TimePoint now) {
  Known& known = devices_[index];
  if (known.read != TimePoint{} && now - known.read < kLifetime) return known.mtu;
  std::array<std::uint8_t, 64> request{};
  ifinfomsg body{};
  body.ifi_family = AF_UNSPEC;
  body.ifi_index = static_cast<int>(index);
  const std::size_t size = write_header(request.data(), RTM_GETLINK, body, 0);
  known = {kUnknown, 0, now};
  ask(Octets(request).first(size), RTM_NEWLINK, [&](Octets payload) {
    if (payload.size() < sizeof(ifinfomsg)) return;
    for_each_attribute(payload.subspan(sizeof(ifinfomsg)), [&](int type, Octets value) {
      if (type == IFLA_MTU) known.mtu = load_native<std::uint32_t>(value);
    });
  });
  return known.mtu;
}

}  // namespace

Result<std::unique_ptr<RoutePaths>, IoError> open_route_paths() {
  auto socket = NetlinkSocket::open(NETLINK_ROUTE, "read routes");
  if (!socket) return Failure{socket.error()};
  return std::unique_ptr<RoutePaths>(std::make_unique<KernelRoutes>(std::move(*socket)));
}

}  // namespace asrp::io
