// SPDX-License-Identifier: BSD-3-Clause
#include "capture/pcapng_head.hpp"

#include <algorithm>

namespace asrp::dump {
namespace {

constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kModified = 0xa1b2cd34;  // a variant with longer packet headers, in microseconds too
constexpr std::uint32_t kNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
constexpr std::uint16_t kResolution = 9;  // option if_tsresol

std::uint32_t swapped(std::uint32_t value) { return __builtin_bswap32(value); }

class Reader {
 public:
  Reader(Octets octets, bool is_big) : octets_(octets), is_big_(is_big) {}
  [[nodiscard]] std::uint32_t u32(std::size_t at) const {
    const std::uint32_t value = load_u32(octets_, at);
    return is_big_ ? value : swapped(value);
  }
  [[nodiscard]] std::uint16_t u16(std::size_t at) const {
    const std::uint16_t value = load_u16(octets_, at);
    return is_big_ ? value : __builtin_bswap16(value);
  }

 private:
  Octets octets_;
  bool is_big_;
};

/// More than microseconds means nine decimals. The high bit says that the exponent is of 2.
std::uint8_t decimals_of(std::uint8_t resolution) {
  const bool is_binary = (resolution & 0x80) != 0;
  return (resolution & 0x7f) > (is_binary ? 20 : 6) ? 9 : 6;
}

/// Precondition: the interface block, `size` octets from `at` on, is there.
std::uint8_t interface_decimals(Octets head, const Reader& in, std::size_t at, std::size_t size) {
  const std::size_t end = at + size - 4;
  for (std::size_t option = at + 16; option + 4 <= end;) {
    const std::uint16_t code = in.u16(option);
    const std::size_t length = in.u16(option + 2);
    if (code == 0 || length > end - option - 4) break;
    if (code == kResolution && length == 1) return decimals_of(head[option + 4]);
    option += 4 + ((length + 3) & ~std::size_t{3});
  }
  return 6;
}

HeadResult read_pcapng(Octets head) {
  if (head.size() < 12) return {0, 12};
  const std::uint32_t order = load_u32(head, 8);
  if (order != kByteOrder && swapped(order) != kByteOrder) return {};
  const Reader in(head, order == kByteOrder);
  for (std::size_t at = 0;;) {
    if (head.size() - at < 8) return {0, at + 8};
    const std::size_t size = in.u32(at + 4);
    if (size < 12 || size % 4 != 0 || size > 0xffff) return {};
    if (head.size() - at < size) return {0, at + size};
    const std::uint32_t type = at == 0 ? kSectionHeader : in.u32(at);
    if (type == kInterface) return {size < 20 ? std::uint8_t{6} : interface_decimals(head, in, at, size), 0};
    at += size;
  }
}

}  // namespace

HeadResult read_capture_head(Octets head) {
  if (head.size() < 4) return {0, 4};
  const std::uint32_t magic = load_u32(head, 0);
  if (magic == kSectionHeader) return read_pcapng(head);
  for (const std::uint32_t number : {magic, swapped(magic)}) {
    if (number == kMicroseconds || number == kModified) return {6, 0};
    if (number == kNanoseconds) return {9, 0};
  }
  return {};
}

}  // namespace asrp::dump
