// SPDX-License-Identifier: BSD-3-Clause
// Packets of all shapes from one seed: both families and transports, all residues of lengths, IP options and extension headers,
// TCP options, surplus areas. All have right checksums; not all take a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include "support/builders.hpp"

namespace asrp::test {

class RandomPackets {
 public:
  explicit RandomPackets(std::uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool chance(std::size_t one_in) { return below(one_in) == 0; }

  Buffer octets(std::size_t n) {
    Buffer out(n);
    for (std::uint8_t& octet : out) octet = static_cast<std::uint8_t>(random_());
    return out;
  }

  /// A TCP or UDP packet.
  Buffer next() {
    const Tuple tuple = random_tuple();
    return chance(2) ? next_tcp(tuple) : next_udp(tuple);
  }

  Buffer next_tcp(const Tuple& tuple) {
    static constexpr std::uint8_t kFlags[] = {0x02, 0x12, 0x10, 0x18, 0x11, 0x19, 0x04, 0x14, 0x38};
    TcpBuilder packet = tcp(tuple);
    packet.flags(kFlags[below(std::size(kFlags))]).seq(word()).ack(word()).window(half());
    packet.options(tcp_options()).payload(octets(data_size()));
    return dressed(packet).build();
  }

  Buffer next_udp(const Tuple& tuple) {
    UdpBuilder packet = udp(tuple);
    packet.payload(octets(data_size()));
    if (chance(3)) packet.options(udp_options());
    if (tuple.family() == Family::v4 && chance(8)) packet.no_checksum();
    return dressed(packet).build();
  }

  /// Octets that claim to be nothing: surgery does not look at what it carries.
  Buffer message() { return octets(12 + below(chance(10) ? 300 : 90)); }

  Tuple random_tuple() {
    const bool is_v4 = chance(2);
    const auto ip = [&] { return is_v4 ? IpAddress::v4(octets(4)) : IpAddress::v6(octets(16)); };
    return {{ip(), half()}, {ip(), half()}, Protocol::tcp};
  }

 private:
  std::uint32_t word() { return static_cast<std::uint32_t>(random_()); }
  std::uint16_t half() { return static_cast<std::uint16_t>(random_()); }
  std::size_t data_size() { return chance(6) ? 0 : chance(8) ? below(1400) : below(80); }

  template <typename Builder>
  Builder& dressed(Builder& packet) {
    packet.ttl(static_cast<std::uint8_t>(1 + below(255))).identification(half()).dont_fragment(chance(2));
    for (std::size_t words = chance(4) ? below(11) : 0; words > 0; --words) packet.more_ip_options("94040000");
    if (chance(5)) packet.extension(0, "00010400000000");
    if (chance(5)) packet.extension(60, "010104000000000104000000000000");
    return packet;
  }

  Buffer tcp_options() {
    static constexpr const char* kOptions[] = {
        "020405b4", "0101080a0000000100000002", "04020101", "0101050a0000000100000002", "01030307", "fd04beef"};
    Buffer out;
    for (std::size_t n = below(5); n > 0; --n) {
      const Buffer option = hex(kOptions[below(std::size(kOptions))]);
      if (out.size() + option.size() <= 40) out.insert(out.end(), option.begin(), option.end());
    }
    if (out.size() <= 36 && chance(6)) {
      const Buffer junk = hex("00adbeef");  // EOL, and what a careless sender left behind it
      out.insert(out.end(), junk.begin(), junk.end());
    }
    return out;
  }

  Buffer udp_options() {
    static constexpr const char* kOptions[] = {"040405dc", "080a0000000100000000", "01", "7f06beef0001",
                                               "4103ff",   "0606aabbccdd"};
    Buffer out;
    for (std::size_t n = below(5); n > 0; --n) {
      const Buffer option = hex(kOptions[below(std::size(kOptions))]);
      out.insert(out.end(), option.begin(), option.end());
    }
    if (chance(3)) out.insert(out.end(), below(5), 0);
    return out;
  }

  std::mt19937 random_;
};

}  // namespace asrp::test
