// SPDX-License-Identifier: BSD-3-Clause
// Packets and messages for tests, in one sentence each:
//   tcp("203.0.113.7:50000", "198.51.100.1:80").syn().seq(1000).options("020405b4").build()
//   udp("[2001:db8::7]:5000", "[2001:db8::1]:53").payload("ping").build()
//   icmp_error("192.0.2.9", "203.0.113.7").too_big(1400).quoting(packet).build()
//   ns(pair).cookie(0xc0ffee).node("192.0.2.10").wants_ack().build()
// Lengths and checksums are right unless a call says otherwise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asrp/base/address.hpp"
#include "asrp/base/bytes.hpp"
#include "asrp/base/tuple.hpp"
#include "asrp/wire/encode.hpp"
#include "asrp/wire/message.hpp"
#include "support/reference.hpp"

namespace asrp::test {

// --- values ---------------------------------------------------------------------------------------------------------

inline Buffer hex(std::string_view text) {
  Buffer out;
  if (!from_hex(text, out)) throw std::invalid_argument("no hexadecimal: " + std::string(text));
  return out;
}

inline Buffer octets_of(std::string_view text) { return Buffer(text.begin(), text.end()); }

/// `n` octets that differ from their neighbours, the same ones each time.
inline Buffer pattern(std::size_t n) {
  Buffer out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(i * 7 + (i >> 8) + 1);
  return out;
}

inline IpAddress address(std::string_view text) {
  const auto parsed = IpAddress::parse(text);
  if (!parsed) throw std::invalid_argument("no address: " + std::string(text));
  return *parsed;
}

inline Endpoint endpoint(std::string_view text) {
  const auto parsed = Endpoint::parse(text);
  if (!parsed) throw std::invalid_argument("no endpoint: " + std::string(text));
  return *parsed;
}

inline Tuple tcp_tuple(std::string_view src, std::string_view dst) { return {endpoint(src), endpoint(dst), Protocol::tcp}; }
inline Tuple udp_tuple(std::string_view src, std::string_view dst) { return {endpoint(src), endpoint(dst), Protocol::udp}; }

// --- packets --------------------------------------------------------------------------------------------------------

/// What all packets have: the IP header. `Self` is the builder that derives from it.
template <typename Self>
class IpBuilder {
 public:
  Self& ttl(std::uint8_t value) { return ttl_ = value, self(); }
  Self& dont_fragment(bool value = true) { return dont_fragment_ = value, self(); }
  Self& identification(std::uint16_t value) { return identification_ = value, self(); }
  /// IPv4: raw options, a multiple of four octets.
  Self& ip_options(std::string_view text) { return ip_options_ = hex(text), self(); }
  /// IPv4: four or more octets behind the options that are there.
  Self& more_ip_options(std::string_view text) {
    const Buffer more = hex(text);
    return ip_options_.insert(ip_options_.end(), more.begin(), more.end()), self();
  }
  /// IPv6: appends an extension header; `after_next_header` is all of it behind the Next Header octet.
  Self& extension(std::uint8_t kind, std::string_view after_next_header) {
    return extensions_.emplace_back(kind, hex(after_next_header)), self();
  }
  /// A transport checksum that is off by one.
  Self& bad_checksum() { return bad_checksum_ = true, self(); }

 protected:
  IpBuilder(IpAddress src, IpAddress dst) : src_(src), dst_(dst) {
    if (src.family() != dst.family()) throw std::invalid_argument("two families");
  }

  /// The packet, with the checksum at `checksum_at` of the transport part filled in over its first `covered` octets.
  [[nodiscard]] Buffer finish(std::uint8_t protocol, Buffer transport, std::size_t checksum_at, std::size_t covered) const {
    Buffer packet = src_.is_v4() ? header_v4(protocol, transport.size()) : header_v6(protocol, transport.size());
    const std::size_t at = packet.size();
    packet.insert(packet.end(), transport.begin(), transport.end());
    if (checksum_at != kNoChecksum) store_checksum(packet, at, checksum_at, covered, protocol);
    return packet;
  }

  [[nodiscard]] bool is_v4() const { return src_.is_v4(); }

  static constexpr std::size_t kNoChecksum = static_cast<std::size_t>(-1);

 private:
  Self& self() { return static_cast<Self&>(*this); }

  [[nodiscard]] Buffer header_v4(std::uint8_t protocol, std::size_t payload) const {
    const std::size_t size = 20 + ip_options_.size();
    Buffer header;
    ByteWriter out(header);
    out.u8(static_cast<std::uint8_t>(0x40 | size / 4));
    out.u8(0);
    out.u16(static_cast<std::uint16_t>(size + payload));
    out.u16(identification_);
    out.u16(dont_fragment_ ? 0x4000 : 0);
    out.u8(ttl_);
    out.u8(protocol);
    out.u16(0);
    out.octets(src_.octets());
    out.octets(dst_.octets());
    out.octets(ip_options_);
    store_u16(header, 10, static_cast<std::uint16_t>(~slow_sum(header)));
    return header;
  }

  [[nodiscard]] Buffer header_v6(std::uint8_t protocol, std::size_t payload) const {
    std::size_t chain = 0;
    for (const auto& extension : extensions_) chain += 1 + extension.second.size();
    Buffer header;
    ByteWriter out(header);
    out.u32(0x60000000);
    out.u16(static_cast<std::uint16_t>(chain + payload));
    out.u8(extensions_.empty() ? protocol : extensions_.front().first);
    out.u8(ttl_);
    out.octets(src_.octets());
    out.octets(dst_.octets());
    for (std::size_t i = 0; i < extensions_.size(); ++i) {
      out.u8(i + 1 < extensions_.size() ? extensions_[i + 1].first : protocol);
      out.octets(extensions_[i].second);
    }
    return header;
  }

  void store_checksum(Buffer& packet, std::size_t at, std::size_t field, std::size_t covered, std::uint8_t protocol) const {
    store_u16(packet, at + field, 0);
    const bool has_pseudo_header = protocol != 1;
    const std::uint32_t sum =
        has_pseudo_header ? slow_transport_sum(packet, at, covered, protocol) : slow_sum(Octets(packet).subspan(at, covered));
    auto checksum = static_cast<std::uint16_t>(~sum);
    if (protocol == 17 && checksum == 0) checksum = 0xffff;
    store_u16(packet, at + field, static_cast<std::uint16_t>(bad_checksum_ ? checksum ^ 1 : checksum));
  }

  IpAddress src_;
  IpAddress dst_;
  std::uint8_t ttl_ = 64;
  bool dont_fragment_ = true;
  std::uint16_t identification_ = 0x1234;
  bool bad_checksum_ = false;
  Buffer ip_options_;
  std::vector<std::pair<std::uint8_t, Buffer>> extensions_;
};

class TcpBuilder : public IpBuilder<TcpBuilder> {
 public:
  TcpBuilder(const Endpoint& src, const Endpoint& dst)
      : IpBuilder(src.address, dst.address), src_port_(src.port), dst_port_(dst.port) {}

  TcpBuilder& flags(std::uint8_t value) { return flags_ = value, *this; }
  TcpBuilder& syn() { return flags(0x02); }
  TcpBuilder& syn_ack() { return flags(0x12); }
  TcpBuilder& push() { return flags(0x18); }
  TcpBuilder& fin() { return flags(0x11); }
  TcpBuilder& rst() { return flags(0x04); }
  TcpBuilder& seq(std::uint32_t value) { return seq_ = value, *this; }
  TcpBuilder& ack(std::uint32_t value) { return ack_ = value, *this; }
  TcpBuilder& window(std::uint16_t value) { return window_ = value, *this; }
  /// Raw options, a multiple of four octets.
  TcpBuilder& options(std::string_view text) { return options_ = hex(text), *this; }
  TcpBuilder& options(Buffer raw) { return options_ = std::move(raw), *this; }
  TcpBuilder& payload(std::string_view text) { return payload_ = octets_of(text), *this; }
  TcpBuilder& payload(Buffer octets) { return payload_ = std::move(octets), *this; }
  TcpBuilder& data(std::size_t n) { return payload_ = pattern(n), *this; }

  [[nodiscard]] Buffer build() const {
    Buffer segment;
    ByteWriter out(segment);
    out.u16(src_port_);
    out.u16(dst_port_);
    out.u32(seq_);
    out.u32(ack_);
    out.u8(static_cast<std::uint8_t>((20 + options_.size()) / 4 << 4));
    out.u8(flags_);
    out.u16(window_);
    out.u32(0);  // checksum, urgent pointer
    out.octets(options_);
    out.octets(payload_);
    const std::size_t size = segment.size();
    return finish(6, std::move(segment), 16, size);
  }

 private:
  std::uint16_t src_port_;
  std::uint16_t dst_port_;
  std::uint8_t flags_ = 0x10;
  std::uint32_t seq_ = 1000;
  std::uint32_t ack_ = 2000;
  std::uint16_t window_ = 64240;
  Buffer options_;
  Buffer payload_;
};

class UdpBuilder : public IpBuilder<UdpBuilder> {
 public:
  UdpBuilder(const Endpoint& src, const Endpoint& dst)
      : IpBuilder(src.address, dst.address), src_port_(src.port), dst_port_(dst.port) {}

  UdpBuilder& payload(std::string_view text) { return payload_ = octets_of(text), *this; }
  UdpBuilder& payload(Buffer octets) { return payload_ = std::move(octets), *this; }
  UdpBuilder& data(std::size_t n) { return payload_ = pattern(n), *this; }
  UdpBuilder& no_checksum() { return no_checksum_ = true, *this; }
  /// Raw octets behind UDP Length.
  UdpBuilder& surplus(std::string_view text) { return surplus_ = hex(text), *this; }
  UdpBuilder& surplus(Buffer octets) { return surplus_ = std::move(octets), *this; }
  /// A surplus area with these options: pad octet if needed, right OCS. Needs payload() first.
  UdpBuilder& options(Buffer raw) {
    const std::size_t pad = payload_.size() % 2;
    surplus_.assign(pad + 2, 0);
    surplus_.insert(surplus_.end(), raw.begin(), raw.end());
    const std::uint32_t sum = slow_sum(Octets(surplus_).subspan(pad), static_cast<std::uint32_t>(surplus_.size()));
    const auto ocs = static_cast<std::uint16_t>(~sum);
    store_u16(surplus_, pad, ocs == 0 ? 0xffff : ocs);
    return *this;
  }
  UdpBuilder& options(std::string_view text) { return options(hex(text)); }

  [[nodiscard]] Buffer build() const {
    Buffer datagram;
    ByteWriter out(datagram);
    out.u16(src_port_);
    out.u16(dst_port_);
    out.u16(static_cast<std::uint16_t>(8 + payload_.size()));
    out.u16(0);
    out.octets(payload_);
    out.octets(surplus_);
    return finish(17, std::move(datagram), no_checksum_ ? kNoChecksum : 6, 8 + payload_.size());
  }

 private:
  std::uint16_t src_port_;
  std::uint16_t dst_port_;
  bool no_checksum_ = false;
  Buffer payload_;
  Buffer surplus_;
};

/// ICMP or ICMPv6, by the addresses' family. Default: host unreachable (3/1), ICMPv6 no route (1/0).
class IcmpErrorBuilder : public IpBuilder<IcmpErrorBuilder> {
 public:
  IcmpErrorBuilder(IpAddress src, IpAddress dst) : IpBuilder(src, dst), type_(src.is_v4() ? 3 : 1), code_(src.is_v4()) {}

  IcmpErrorBuilder& type(std::uint8_t type, std::uint8_t code) { return type_ = type, code_ = code, *this; }
  IcmpErrorBuilder& port_unreachable() { return is_v4() ? type(3, 3) : type(1, 4); }
  IcmpErrorBuilder& too_big(std::uint16_t mtu) { return rest_ = mtu, is_v4() ? type(3, 4) : type(2, 0); }
  /// At most `at_most` octets of `packet` behind the ICMP header.
  IcmpErrorBuilder& quoting(Octets packet, std::size_t at_most = 1232) {
    const Octets cut = packet.first(std::min(packet.size(), at_most));
    return quoted_.assign(cut.begin(), cut.end()), *this;
  }

  [[nodiscard]] Buffer build() const {
    Buffer message;
    ByteWriter out(message);
    out.u8(type_);
    out.u8(code_);
    out.u16(0);
    out.u32(rest_);
    out.octets(quoted_);
    const std::size_t size = message.size();
    return finish(is_v4() ? 1 : 58, std::move(message), 2, size);
  }

 private:
  std::uint8_t type_;
  std::uint8_t code_;
  std::uint32_t rest_ = 0;
  Buffer quoted_;
};

inline TcpBuilder tcp(const Endpoint& src, const Endpoint& dst) { return {src, dst}; }
inline TcpBuilder tcp(std::string_view src, std::string_view dst) { return {endpoint(src), endpoint(dst)}; }
inline TcpBuilder tcp(const Tuple& tuple) { return {tuple.src, tuple.dst}; }
inline UdpBuilder udp(const Endpoint& src, const Endpoint& dst) { return {src, dst}; }
inline UdpBuilder udp(std::string_view src, std::string_view dst) { return {endpoint(src), endpoint(dst)}; }
inline UdpBuilder udp(const Tuple& tuple) { return {tuple.src, tuple.dst}; }
inline IcmpErrorBuilder icmp_error(IpAddress src, IpAddress dst) { return {src, dst}; }
inline IcmpErrorBuilder icmp_error(std::string_view src, std::string_view dst) { return {address(src), address(dst)}; }

// --- messages -------------------------------------------------------------------------------------------------------

class MessageBuilder {
 public:
  explicit MessageBuilder(wire::Message message) : message_(message) {}

  MessageBuilder& cookie(std::uint32_t value) { return message_.cookie = Cookie{value}, *this; }
  MessageBuilder& protocol(Protocol value) { return message_.protocol = value, *this; }
  MessageBuilder& node(std::string_view text) { return message_.node_local_ip = address(text), *this; }
  MessageBuilder& wants_ack() { return add_flag(wire::kFlagNa); }
  MessageBuilder& client_side_conflict() { return add_flag(wire::kFlagCc); }
  MessageBuilder& session_data(std::string_view text) { return data_ = hex(text), *this; }
  MessageBuilder& session_data(Buffer octets) { return data_ = std::move(octets), *this; }

  /// Its Session-Data is a view of this builder.
  [[nodiscard]] wire::Message message() const& {
    wire::Message message = message_;
    if (!data_.empty()) message.session_data = data_;
    return message;
  }
  [[nodiscard]] Buffer build() const {
    Buffer out;
    wire::encode(message(), out);
    return out;
  }

 private:
  MessageBuilder& add_flag(std::uint8_t flag) {
    return message_.flags = static_cast<std::uint8_t>(message_.flags | flag), *this;
  }

  wire::Message message_;
  Buffer data_;
};

inline MessageBuilder with_tuples(wire::MsgType type, const TuplePair& pair) {
  return MessageBuilder(wire::with_tuples(type, pair, Cookie{}, {}));
}
inline MessageBuilder ns(const TuplePair& pair) { return with_tuples(wire::MsgType::NS, pair); }
inline MessageBuilder na(const TuplePair& pair) { return with_tuples(wire::MsgType::NA, pair); }
inline MessageBuilder rs(const TuplePair& pair) { return with_tuples(wire::MsgType::RS, pair); }
inline MessageBuilder ps(const TuplePair& pair) { return with_tuples(wire::MsgType::PS, pair); }
inline MessageBuilder nc(const TuplePair& pair) { return with_tuples(wire::MsgType::NC, pair); }
inline MessageBuilder qs(const Tuple& tuple) { return MessageBuilder(wire::query_session(tuple, Cookie{})); }
inline MessageBuilder rx(const Tuple& tuple) {
  return MessageBuilder(wire::recovery_no_session(wire::query_session(tuple, Cookie{})));
}
inline MessageBuilder hs(Protocol protocol) { return MessageBuilder(wire::hello_session(protocol, Cookie{})); }

}  // namespace asrp::test
