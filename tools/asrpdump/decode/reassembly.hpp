// SPDX-License-Identifier: BSD-3-Clause
// IP fragments to datagrams (RFC 791, RFC 8200 4.5, RFC 5722), within bounds: a capture may hold anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asrp/base/address.hpp"
#include "asrp/base/bytes.hpp"
#include "decode/ip.hpp"
#include "packet.hpp"

namespace asrp::dump {

struct ReassemblyLimits {
  std::size_t datagrams = 1024;                              // in the making at a time; the oldest gives way
  std::size_t octets = std::size_t{16} * 1024 * 1024;        // of all of them; the oldest give way
  std::size_t pieces = 256;                                  // disjoint pieces of one datagram: more is an attack
  std::int64_t lifetime = std::int64_t{30} * 1'000'000'000;  // nanoseconds of capture time, as Linux has it
  bool keep_frames = false;                                  // the frames of the fragments too: for writing them to a file
};

struct ReassemblyCounts {
  std::uint64_t whole = 0;      // datagrams put together
  std::uint64_t overlaps = 0;   // datagrams discarded because fragments overlap (RFC 5722)
  std::uint64_t expired = 0;    // incomplete after their lifetime, or when the capture ended
  std::uint64_t displaced = 0;  // gave way to younger ones
  std::uint64_t bad = 0;        // fragments that fit no datagram: longer than IP allows, cut by the capture, misaligned
};

class Reassembly {
 public:
  explicit Reassembly(const ReassemblyLimits& limits);

  /// Takes a fragment, `packet` as far as it was captured. The datagram that it completes, as a packet without
  /// fragmentation; empty if it completes none. The result lives until the next call.
  Octets add(Octets packet, const IpParts& parts, const Frame& frame);
  /// The earlier frames of the datagram that add() gave last; empty unless they are kept. They live as long as it does.
  [[nodiscard]] const std::vector<Frame>& earlier_frames() const { return earlier_; }
  /// Counts what is still incomplete as expired.
  void finish();

  [[nodiscard]] const ReassemblyCounts& counts() const { return counts_; }

 private:
  static constexpr std::int32_t kNone = -1;
  static constexpr std::size_t kBuckets = 1024;

  struct Key {
    IpAddress src, dst;
    std::uint32_t id = 0;
    std::uint8_t protocol = 0;  // IPv4 only
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Piece {
    std::size_t begin, end;
  };
  struct Kept {
    Frame frame;  // its octets lie in Slot::frames
    std::size_t offset;
  };
  struct Slot {
    Key key;
    std::int32_t next_in_bucket = kNone;
    std::int32_t older = kNone, younger = kNone;
    std::int64_t begun = 0;
    std::size_t total = 0;  // octets of payload, 0 while the last fragment is missing
    bool is_discarded = false;
    IpParts parts;   // of the first fragment
    Buffer headers;  // of the first fragment; empty while it is missing
    Buffer data;
    std::vector<Piece> pieces;  // sorted, disjoint, never touching
    Buffer frames;
    std::vector<Kept> kept;
    [[nodiscard]] std::size_t octets() const { return headers.size() + data.size() + frames.size(); }
    [[nodiscard]] bool is_whole() const {
      return total != 0 && !headers.empty() && pieces.size() == 1 && pieces[0].begin == 0 && pieces[0].end == total;
    }
  };
  enum class Fit { taken, duplicate, overlap, bad };

  static Key key_of(Octets packet, const IpParts& parts);
  static std::size_t bucket_of(const Key& key);
  std::int32_t find(const Key& key) const;
  std::int32_t begin(const Key& key, std::int64_t now);
  void release(std::int32_t number);
  void discard(Slot& slot);
  bool make_room(std::size_t growth, std::int32_t keep);
  [[nodiscard]] std::size_t growth_of(const Slot& slot, std::size_t end, std::size_t header, const Frame& frame) const;
  void expire(std::int64_t now);
  Fit fit(Slot& slot, const IpParts& parts, Octets data);
  bool insert_piece(Slot& slot, std::size_t begin, std::size_t end);
  void keep_frame(Slot& slot, const Frame& frame);
  Octets put_together(Slot& slot);

  ReassemblyLimits limits_;
  ReassemblyCounts counts_;
  std::vector<Slot> slots_;
  std::vector<std::int32_t> free_;
  std::array<std::int32_t, kBuckets> buckets_{};
  std::int32_t oldest_ = kNone, youngest_ = kNone;
  std::size_t octets_ = 0;
  Buffer whole_;
  Buffer whole_frames_;
  std::vector<Frame> earlier_;
};

}  // namespace asrp::dump
