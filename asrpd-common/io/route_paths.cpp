// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/route_paths.hpp"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <unordered_map>

#include "io/attributes.hpp"
#include "io/netlink_socket.hpp"
#include "runtime/clock.hpp"

namespace asrp::io {

namespace {

constexpr std::size_t kUnknown = 1500;
constexpr auto kLifetime = std::chrono::seconds(1);
// Destinations that are remembered. More at once only cost a question (about 3 us) each: all are forgotten.
constexpr std::size_t kMostDestinations = 16384;

struct AddressHash {
  std::size_t operator()(const IpAddress& address) const {
    std::size_t hash = 0xcbf29ce484222325u;
    for (const std::uint8_t octet : address.octets()) hash = (hash ^ octet) * 0x100000001b3u;
    return hash;
  }
};

class RoutePaths final : public engine::Paths {
 public:
  explicit RoutePaths(NetlinkSocket socket) : socket_(std::move(socket)) {}

  std::size_t mtu_towards(const IpAddress& destination) override {
    const auto now = runtime::monotonic_now();
    if (const auto known = destinations_.find(destination);
        known != destinations_.end() && now - known->second.read < kLifetime)
      return known->second.mtu;
    if (destinations_.size() >= kMostDestinations) destinations_.clear();
    const std::size_t mtu = ask_route(destination, now);
    destinations_[destination] = {mtu, now};
    return mtu;
  }

 private:
  struct Known {
    std::size_t mtu = kUnknown;
    TimePoint read{};
  };

  std::size_t ask_route(const IpAddress& destination, TimePoint now);
  std::size_t device_mtu(std::uint32_t index, TimePoint now);
  template <typename Visit>
  void ask(Octets request, std::uint16_t answer_type, const Visit& visit);

  NetlinkSocket socket_;
  std::unordered_map<IpAddress, Known, AddressHash> destinations_;
  std::unordered_map<std::uint32_t, Known> devices_;
  std::array<std::uint8_t, 16384> area_{};
};

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
void RoutePaths::ask(Octets request, std::uint16_t answer_type, const Visit& visit) {
  if (socket_.send(request) != 0) return;
  for (ssize_t got = 0; (got = socket_.receive(area_)) >= 0 || errno == ENOBUFS;) {
    if (got < 0) continue;
    for_each_message(Octets(area_).first(static_cast<std::size_t>(got)), [&](const nlmsghdr& header, Octets payload) {
      if (header.nlmsg_type == answer_type) visit(payload);
    });
  }
}

std::size_t RoutePaths::ask_route(const IpAddress& destination, TimePoint now) {
  const Octets octets = destination.octets();
  std::array<std::uint8_t, 128> request{};
  rtmsg body{};
  body.rtm_family = destination.is_v4() ? AF_INET : AF_INET6;
  body.rtm_dst_len = static_cast<std::uint8_t>(octets.size() * 8);
  const std::size_t extra = sizeof(nlattr) + octets.size();
  const std::size_t at = write_header(request.data(), RTM_GETROUTE, body, extra);
  const nlattr attribute{static_cast<std::uint16_t>(extra), RTA_DST};
  std::memcpy(request.data() + at, &attribute, sizeof attribute);
  std::memcpy(request.data() + at + sizeof attribute, octets.data(), octets.size());

  std::uint32_t device = 0;
  std::uint32_t route_mtu = 0;
  ask(Octets(request).first(at + extra), RTM_NEWROUTE, [&](Octets payload) {
    if (payload.size() < sizeof(rtmsg)) return;
    for_each_attribute(payload.subspan(sizeof(rtmsg)), [&](int type, Octets value) {
      if (type == RTA_OIF) device = load_native<std::uint32_t>(value);
      if (type != RTA_METRICS) return;
      for_each_attribute(value, [&](int metric, Octets number) {
        if (metric == RTAX_MTU) route_mtu = load_native<std::uint32_t>(number);
      });
    });
  });
  if (device == 0) return kUnknown;
  const std::size_t link = device_mtu(device, now);
  return route_mtu != 0 ? std::min<std::size_t>(route_mtu, link) : link;
}

std::size_t RoutePaths::device_mtu(std::uint32_t index, TimePoint now) {
  Known& known = devices_[index];
  if (known.read != TimePoint{} && now - known.read < kLifetime) return known.mtu;
  std::array<std::uint8_t, 64> request{};
  ifinfomsg body{};
  body.ifi_family = AF_UNSPEC;
  body.ifi_index = static_cast<int>(index);
  const std::size_t size = write_header(request.data(), RTM_GETLINK, body, 0);
  known = {kUnknown, now};
  ask(Octets(request).first(size), RTM_NEWLINK, [&](Octets payload) {
    if (payload.size() < sizeof(ifinfomsg)) return;
    for_each_attribute(payload.subspan(sizeof(ifinfomsg)), [&](int type, Octets value) {
      if (type == IFLA_MTU) known.mtu = load_native<std::uint32_t>(value);
    });
  });
  return known.mtu;
}

}  // namespace

Result<std::unique_ptr<engine::Paths>, IoError> open_route_paths() {
  auto socket = NetlinkSocket::open(NETLINK_ROUTE, "read routes");
  if (!socket) return Failure{socket.error()};
  return std::unique_ptr<engine::Paths>(std::make_unique<RoutePaths>(std::move(*socket)));
}

}  // namespace asrp::io
