// SPDX-License-Identifier: BSD-3-Clause
// Octets in and out. Everything on the wire is big-endian; this file is the only place that knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace asrp {

using Octets = std::span<const std::uint8_t>;
using MutableOctets = std::span<std::uint8_t>;
using Buffer = std::vector<std::uint8_t>;

/// Reads a big-endian number at `offset`. Precondition: the octets are there.
inline std::uint16_t load_u16(Octets o, std::size_t offset) {
  return static_cast<std::uint16_t>((o[offset] << 8) | o[offset + 1]);
}
inline std::uint32_t load_u32(Octets o, std::size_t offset) {
  return (std::uint32_t{load_u16(o, offset)} << 16) | load_u16(o, offset + 2);
}
inline void store_u16(MutableOctets o, std::size_t offset, std::uint16_t value) {
  o[offset] = static_cast<std::uint8_t>(value >> 8);
  o[offset + 1] = static_cast<std::uint8_t>(value);
}
inline void store_u32(MutableOctets o, std::size_t offset, std::uint32_t value) {
  store_u16(o, offset, static_cast<std::uint16_t>(value >> 16));
  store_u16(o, offset + 2, static_cast<std::uint16_t>(value));
}

/// A window over octets whose length was proved at construction; offsets are checked by the compiler.
template <std::size_t N>
class FixedReader {
 public:
  /// Precondition: `octets.size() >= N`.
  explicit FixedReader(Octets octets) : octets_(octets.first<N>()) {}

  template <std::size_t Offset>
  [[nodiscard]] std::uint8_t u8() const {
    static_assert(Offset + 1 <= N);
    return octets_[Offset];
  }
  template <std::size_t Offset>
  [[nodiscard]] std::uint16_t u16() const {
    static_assert(Offset + 2 <= N);
    return load_u16(octets_, Offset);
  }
  template <std::size_t Offset>
  [[nodiscard]] std::uint32_t u32() const {
    static_assert(Offset + 4 <= N);
    return load_u32(octets_, Offset);
  }

 private:
  std::span<const std::uint8_t, N> octets_;
};

/// Appends big-endian numbers to a buffer that the caller owns and reuses.
class ByteWriter {
 public:
  explicit ByteWriter(Buffer& out) : out_(out) {}

  void u8(std::uint8_t v) { out_.push_back(v); }
  void u16(std::uint16_t v) {
    u8(static_cast<std::uint8_t>(v >> 8));
    u8(static_cast<std::uint8_t>(v));
  }
  void u32(std::uint32_t v) {
    u16(static_cast<std::uint16_t>(v >> 16));
    u16(static_cast<std::uint16_t>(v));
  }
  void octets(Octets o) { out_.insert(out_.end(), o.begin(), o.end()); }
  void zeros(std::size_t n) { out_.insert(out_.end(), n, 0); }

 private:
  Buffer& out_;
};

/// Lower-case hexadecimal without separators.
std::string to_hex(Octets octets);

/// Parses hexadecimal; spaces between octets are allowed. False if a digit is missing or foreign;
/// `out` then holds what was read so far.
bool from_hex(std::string_view text, Buffer& out);

}  // namespace asrp
