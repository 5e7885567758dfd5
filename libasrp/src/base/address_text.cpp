// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/address_text.hpp"

#include <charconv>

namespace asrp {
namespace {

char* put_v4(char* at, char* end, Octets octets) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (i != 0) *at++ = '.';
    at = std::to_chars(at, end, octets[i]).ptr;
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

char* put_v6(char* at, char* end, Octets octets) {
  const Run zeros = longest_zero_run(octets);
  for (std::size_t i = 0; i < 8;) {
    if (i == zeros.begin) {
      *at++ = ':';
      if (i == 0) *at++ = ':';
      i += zeros.size;
      continue;
    }
    at = std::to_chars(at, end, load_u16(octets, 2 * i), 16).ptr;
    if (++i < 8) *at++ = ':';
  }
  return at;
}

char* put_address(char* at, char* end, const IpAddress& address) {
  return address.is_v4() ? put_v4(at, end, address.octets()) : put_v6(at, end, address.octets());
}

char* put_endpoint(char* at, char* end, const Endpoint& endpoint) {
  if (!endpoint.address.is_v4()) *at++ = '[';
  at = put_address(at, end, endpoint.address);
  if (!endpoint.address.is_v4()) *at++ = ']';
  *at++ = ':';
  return std::to_chars(at, end, endpoint.port).ptr;
}

constexpr std::size_t kEndpointRoom = 64;

}  // namespace

void append_address(std::string& out, const IpAddress& address) {
  char text[kEndpointRoom];
  out.append(text, static_cast<std::size_t>(put_address(text, text + sizeof text, address) - text));
}

void append_endpoint(std::string& out, const Endpoint& endpoint) {
  char text[kEndpointRoom];
  out.append(text, static_cast<std::size_t>(put_endpoint(text, text + sizeof text, endpoint) - text));
}

}  // namespace asrp
