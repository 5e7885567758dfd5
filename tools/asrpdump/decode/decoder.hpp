// SPDX-License-Identifier: BSD-3-Clause
// From a frame of a capture to the packet in it: link layer, tunnels, fragments, and what claims to be an ASRP message.
// Owns all scratch memory; bounded, and free of allocations once warm.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asrp/base/limits.hpp"
#include "asrp/packet/carriage.hpp"
#include "decode/reassembly.hpp"
#include "packet.hpp"

namespace asrp::dump {

struct DecoderOptions {
  int link_type = 1;      // DLT_* as libpcap gives it; -1: frames begin at the IP header
  packet::Marker marker;  // kinds and ExID of the ASRP option
  std::uint16_t port = kDefaultPort;
  unsigned tunnels = 1;      // levels of VXLAN, GRE, IPIP, Geneve that are looked into
  bool every_packet = true;  // also packets in which nothing claims to be a message
  ReassemblyLimits reassembly;
};

/// What became of the frames: each one that gave no packet is counted once.
struct DecoderCounts {
  std::uint64_t frames = 0;
  std::uint64_t not_ip = 0;     // ARP and the like: nothing of ours
  std::uint64_t unknown = 0;    // a link type or encapsulation that can't be decoded
  std::uint64_t damaged = 0;    // no IP packet where one should be
  std::uint64_t cut = 0;        // ends in the capture before it is known what it is
  std::uint64_t fragments = 0;  // fragments that completed no datagram
};

class Decoder {
 public:
  explicit Decoder(const DecoderOptions& options) : options_(options), reassembly_(options.reassembly) {}

  /// The packet that `frame` holds or completes. Nothing if it holds none, or only a part of one, or nothing of interest.
  /// The packet, and all that it refers to, lives until the next call, and as long as the frame's octets do.
  const Packet* decode(const Frame& frame);
  /// After decode() gave a packet: the same packet with the message that it holds besides, or nothing. A datagram to ASRP-PORT
  /// may be one itself and have another one in its options.
  const Packet* another();
  /// After the last frame: incomplete datagrams are counted as such.
  void finish() { reassembly_.finish(); }

  [[nodiscard]] const DecoderCounts& counts() const { return counts_; }
  [[nodiscard]] const ReassemblyCounts& reassembly() const { return reassembly_.counts(); }
  /// False if nothing is known of this link type, so that no frame of it can be decoded.
  [[nodiscard]] static bool knows_link_type(int link_type);

 private:
  const Packet* decode_ip(Octets ip, const Frame& frame);
  const Packet* finish_packet(Octets ip, const IpParts& parts, const Frame& frame, bool is_reassembled);
  [[nodiscard]] bool may_claim(Octets ip, const IpParts& parts) const;

  DecoderOptions options_;
  DecoderCounts counts_;
  Reassembly reassembly_;
  Buffer padded_;  // a cut packet, as long as its header says; one whose header says 0, with its length
  Packet packet_;
};

}  // namespace asrp::dump
