// SPDX-License-Identifier: BSD-3-Clause
// Nanoseconds per step on the way of one message: encode, decode, find it in a packet, put it in, take it out.
#include <benchmark/benchmark.h>

#include "asrp/packet/checksum.hpp"
#include "asrp/packet/locate.hpp"
#include "asrp/packet/packet_view.hpp"
#include "asrp/packet/surgery.hpp"
#include "asrp/wire/decode.hpp"
#include "asrp/wire/encode.hpp"
#include "support/builders.hpp"

namespace {

using asrp::Buffer;
namespace packet = asrp::packet;
namespace test = asrp::test;
namespace wire = asrp::wire;

asrp::TuplePair tuples(bool v6) {
  if (v6) {
    return {test::tcp_tuple("[2001:db8::7]:50000", "[2001:db8:f::1]:80"),
            test::tcp_tuple("[2001:db8::7]:50000", "[2001:db8:2::1]:80")};
  }
  return {test::tcp_tuple("203.0.113.7:50000", "198.51.100.1:80"), test::tcp_tuple("203.0.113.7:50000", "10.0.2.1:80")};
}

wire::Message message(bool v6) {
  return wire::new_session(tuples(v6), asrp::Cookie{}, v6 ? test::address("2001:db8:1::1") : test::address("10.0.1.1"), false);
}

Buffer encoded(bool v6) {
  Buffer out;
  wire::encode(message(v6), out);
  return out;
}

Buffer syn(bool v6) {
  const auto options =
      "020405b40402080a0102030400000000"
      "01030307";
  if (v6) return test::tcp("[2001:db8::7]:50000", "[2001:db8:f::1]:80").syn().options(options).build();
  return test::tcp("203.0.113.7:50000", "198.51.100.1:80").syn().options(options).build();
}

Buffer syn_with_message(bool v6) {
  const Buffer plain = syn(v6);
  Buffer out;
  if (!packet::insert_inline(*packet::PacketView::parse(plain), {}, encoded(v6), 1500, out)) std::abort();
  return out;
}

void encode_ns(benchmark::State& state) {
  const auto value = message(state.range(0) != 0);
  Buffer out;
  for (auto _ : state) {
    out.clear();
    wire::encode(value, out);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(encode_ns)->ArgName("v6")->Arg(0)->Arg(1);

void decode_ns(benchmark::State& state) {
  const auto octets = encoded(state.range(0) != 0);
  for (auto _ : state) benchmark::DoNotOptimize(wire::decode(octets));
}
BENCHMARK(decode_ns)->ArgName("v6")->Arg(0)->Arg(1);

void parse_and_locate(benchmark::State& state) {
  const auto octets = syn_with_message(state.range(0) != 0);
  for (auto _ : state) {
    const auto view = packet::PacketView::parse(octets);
    benchmark::DoNotOptimize(packet::locate(*view, {}));
  }
}
BENCHMARK(parse_and_locate)->ArgName("v6")->Arg(0)->Arg(1);

void insert_into_syn(benchmark::State& state) {
  const auto plain = syn(state.range(0) != 0);
  const auto octets = encoded(state.range(0) != 0);
  const auto view = packet::PacketView::parse(plain);
  Buffer out;
  for (auto _ : state) {
    out.clear();
    benchmark::DoNotOptimize(packet::insert_inline(*view, {}, octets, 1500, out));
  }
}
BENCHMARK(insert_into_syn)->ArgName("v6")->Arg(0)->Arg(1);

void strip_syn(benchmark::State& state) {
  const auto octets = syn_with_message(state.range(0) != 0);
  const auto size = encoded(state.range(0) != 0).size();
  const auto view = packet::PacketView::parse(octets);
  const auto located = packet::locate(*view, {});
  Buffer out;
  for (auto _ : state) {
    out.clear();
    packet::strip(*view, located, size, out);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(strip_syn)->ArgName("v6")->Arg(0)->Arg(1);

}  // namespace
