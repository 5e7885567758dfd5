// SPDX-License-Identifier: BSD-3-Clause
// ICMP echo for tests: echo(echo_tuple("10.0.0.1:77", "198.51.100.1")).build()
#pragma once

#include "support/builders.hpp"

namespace asrp::test {

/// ICMP or ICMPv6 echo: a request where the tuple's destination has port 0, else the answer.
class EchoBuilder : public IpBuilder<EchoBuilder> {
 public:
  explicit EchoBuilder(const Tuple& tuple)
      : IpBuilder(tuple.src.address, tuple.dst.address),
        request_(tuple.dst.port == 0),
        identifier_(request_ ? tuple.src.port : tuple.dst.port) {}

  EchoBuilder& sequence(std::uint16_t number) { return sequence_ = number, *this; }

  [[nodiscard]] Buffer build() const {
    Buffer message;
    ByteWriter out(message);
    out.u8(is_v4() ? (request_ ? 8 : 0) : (request_ ? 128 : 129));
    out.u8(0);
    out.u16(0);
    out.u16(identifier_);
    out.u16(sequence_);
    out.u32(0x64617461);
    const std::size_t size = message.size();
    return finish(is_v4() ? 1 : 58, std::move(message), 2, size);
  }

 private:
  bool request_;
  std::uint16_t identifier_;
  std::uint16_t sequence_ = 1;
};

inline EchoBuilder echo(const Tuple& tuple) { return EchoBuilder(tuple); }

/// "10.0.0.1:77", which asks with that identifier, and whom.
inline Tuple echo_tuple(std::string_view asks, std::string_view answers) {
  const Endpoint from = endpoint(asks);
  return {from, {address(answers), 0}, from.address.is_v4() ? Protocol::icmp : Protocol::icmpv6};
}

}  // namespace asrp::test
