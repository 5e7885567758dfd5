// SPDX-License-Identifier: BSD-3-Clause
#include "decode/decoder.hpp"

#include <algorithm>
#include <cstring>

#include "decode/link.hpp"
#include "decode/sighting.hpp"
#include "decode/tunnel.hpp"

namespace asrp::dump {
namespace {

constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;
constexpr std::size_t kTcpHeaderSize = 20;
constexpr std::size_t kUdpHeaderSize = 8;

/// The view of a cut packet counts only if the fixed part of its transport header was captured.
bool has_transport_header(const packet::PacketView& view, std::size_t captured) {
  return captured >= view.transport_offset() + (view.is_tcp() ? kTcpHeaderSize : kUdpHeaderSize);
}

}  // namespace

bool Decoder::knows_link_type(int link_type) { return dump::knows_link_type(link_type); }

const Packet* Decoder::decode(const Frame& frame) {
  ++counts_.frames;
  const LinkResult found = find_ip(frame.octets, options_.link_type);
  switch (found.status) {
    case LinkStatus::ip:
      return decode_ip(found.ip, frame);
    case LinkStatus::not_ip:
      ++counts_.not_ip;
      break;
    case LinkStatus::unknown:
      ++counts_.unknown;
      break;
    case LinkStatus::cut:
      ++counts_.cut;
      break;
  }
  return nullptr;
}

const Packet* Decoder::decode_ip(Octets ip, const Frame& frame) {
  bool is_reassembled = false;
  std::size_t on_wire =
      std::max(frame.wire_size, frame.octets.size()) - static_cast<std::size_t>(ip.data() - frame.octets.data());
  for (unsigned depth = 0;;) {
    const auto parts = ip_parts(ip, on_wire);
    if (!parts) {
      ++(parts.error() == IpError::cut ? counts_.cut : counts_.damaged);
      return nullptr;
    }
    ip = ip.first(std::min(ip.size(), parts->total));
    if (parts->is_fragment) {
      ip = reassembly_.add(ip, *parts, frame);
      if (ip.empty()) {
        ++counts_.fragments;
        return nullptr;
      }
      is_reassembled = true;
      on_wire = ip.size();
      continue;
    }
    if (depth < options_.tunnels) {
      const Octets inner = inner_packet(ip, *parts);
      if (!inner.empty()) {
        on_wire = parts->total - static_cast<std::size_t>(inner.data() - ip.data());
        ip = inner;
        ++depth;
        continue;
      }
    }
    if (!options_.every_packet && !may_claim(ip, *parts)) return nullptr;
    return finish_packet(ip, *parts, frame, is_reassembled);
  }
}

/// A quick look that lets most packets go by: false only if find_sighting() would find nothing.
bool Decoder::may_claim(Octets ip, const IpParts& parts) const {
  const std::size_t at = parts.transport;
  if (parts.protocol == kTcp) {
    if (ip.size() < at + kTcpHeaderSize) return false;
    const std::size_t end = std::min(ip.size(), at + std::size_t{4} * (ip[at + 12] >> 4));
    const std::size_t begin = at + kTcpHeaderSize;
    return end > begin && std::memchr(ip.data() + begin, options_.marker.tcp_kind, end - begin) != nullptr;
  }
  if (parts.protocol != kUdp || ip.size() < at + kUdpHeaderSize) return false;
  const bool has_surplus = load_u16(ip, at + 4) < parts.total - at;
  return has_surplus || load_u16(ip, at) == options_.port || load_u16(ip, at + 2) == options_.port;
}

const Packet* Decoder::finish_packet(Octets ip, const IpParts& parts, const Frame& frame, bool is_reassembled) {
  const std::size_t captured = ip.size();
  packet_.as_captured = ip;
  if (captured < parts.total || parts.is_without_length) {
    padded_.assign(ip.begin(), ip.end());
    padded_.resize(parts.total, 0);
    if (parts.is_without_length) fill_in_length(padded_);
    ip = padded_;
  }
  packet_.number = frame.number;
  packet_.stamp = frame.stamp;
  packet_.ip = ip;
  packet_.captured = captured;
  packet_.reassembled = is_reassembled;
  packet_.frame = frame.octets;
  packet_.frame_size = frame.wire_size;
  packet_.link_type = options_.link_type;
  packet_.earlier = is_reassembled ? std::span<const Frame>(reassembly_.earlier_frames()) : std::span<const Frame>();
  packet_.view.reset();
  packet_.sighting = Sighting{};
  packet_.again = false;
  const auto view = packet::PacketView::parse(ip);
  if (view && has_transport_header(*view, captured)) {
    packet_.view = *view;
    packet_.sighting = find_sighting(*view, captured, options_.marker, options_.port);
  }
  return options_.every_packet || packet_.sighting.present() ? &packet_ : nullptr;
}

const Packet* Decoder::another() {
  using packet::Carriage;
  Sighting& sighting = packet_.sighting;
  const bool in_option = sighting.carriage == Carriage::inline_udp || sighting.carriage == Carriage::separate_udp;
  if (!sighting.present() || !in_option) return nullptr;
  packet_.again = true;
  sighting = find_standalone(*packet_.view, packet_.captured, options_.port);
  return sighting.present() && sighting.claim != Claim::not_asrp ? &packet_ : nullptr;
}

}  // namespace asrp::dump
