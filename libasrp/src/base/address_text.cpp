// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/address_text.hpp"

#include <charconv>

namespace asrp {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

char* put_octet(char* at, std::uint8_t octet) {
  if (octet >= 100) *at++ = static_cast<char>('0' + octet / 100);
  if (octet >= 10) *at++ = static_cast<char>('0' + octet / 10 % 10);
  *at++ = static_cast<char>('0' + octet % 10);
  return at;
}

char* put_v4(char* at, Octets octets) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (i != 0) *at++ = '.';
    at = put_octet(at, octets[i]);
  }
  return at;
}

char* put_group(char* at, std::uint16_t group) {
  bool has_begun = false;
  for (int shift = 12; shift >= 0; shift -= 4) {
    const unsigned digit = (group >> shift) & 0xfU;
    has_begun = has_begun || digit != 0 || shift == 0;
    if (has_begun) *at++ = kHexDigits[digit];
  }
  return at;
}

/// The longest run of at least two zero groups, the first of equal ones (RFC 5952 4.2).
struct Run {
  std::size_t begin = 8;
  std::size_t size = 1;
};

Run longest_zero_run(Octets octets) {
  Run best;
  for (std::size_t i = 0; i < 8;) {
    std::size_t end = i;
    while (end < 8 && load_u16(octets, 2 * end) == 0) ++end;
    if (end - i > best.size) best = {i, end - i};
    i = end == i ? i + 1 : end;
  }
  return best;
}

char* put_v6(char* at, Octets octets) {
  const Run zeros = longest_zero_run(octets);
  for (std::size_t i = 0; i < 8;) {
    if (i == zeros.begin) {
      *at++ = ':';
      if (i == 0) *at++ = ':';
      i += zeros.size;
      continue;
    }
    at = put_group(at, load_u16(octets, 2 * i));
    if (++i < 8) *at++ = ':';
  }
  return at;
}

char* put_address(char* at, const IpAddress& address) {
  return address.is_v4() ? put_v4(at, address.octets()) : put_v6(at, address.octets());
}

char* put_endpoint(char* at, char* end, const Endpoint& endpoint) {
  if (!endpoint.address.is_v4()) *at++ = '[';
  at = put_address(at, endpoint.address);
  if (!endpoint.address.is_v4()) *at++ = ']';
  *at++ = ':';
  return std::to_chars(at, end, endpoint.port).ptr;
}

constexpr std::size_t kEndpointRoom = 64;

}  // namespace

void append_address(std::string& out, const IpAddress& address) {
  char text[kEndpointRoom];
  out.append(text, static_cast<std::size_t>(put_address(text, address) - text));
}

void append_endpoint(std::string& out, const Endpoint& endpoint) {
  char text[kEndpointRoom];
  out.append(text, static_cast<std::size_t>(put_endpoint(text, text + sizeof text, endpoint) - text));
}

}  // namespace asrp
