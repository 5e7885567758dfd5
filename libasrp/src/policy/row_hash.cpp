// SPDX-License-Identifier: BSD-3-Clause
#include "policy/row_hash.hpp"

#include <bit>

#include "asrp/policy/keyed_hash.hpp"

// Where the compiler can, one version for each width of vectors; the machine that runs it chooses.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define ASRP_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define ASRP_VECTOR_CLONES
#endif

namespace asrp::policy {
namespace {

/// SipHash (Aumasson and Bernstein, 2012), 2.3: one round.
inline void sip_round(std::uint64_t& v0, std::uint64_t& v1, std::uint64_t& v2, std::uint64_t& v3) {
  v0 += v1;
  v2 += v3;
  v1 = std::rotl(v1, 13) ^ v0;
  v3 = std::rotl(v3, 16) ^ v2;
  v0 = std::rotl(v0, 32) + v3;
  v2 += v1;
  v3 = std::rotl(v3, 21) ^ v0;
  v1 = std::rotl(v1, 17) ^ v2;
  v2 = std::rotl(v2, 32);
}

struct States {
  const std::uint64_t* v0;
  const std::uint64_t* v1;
  const std::uint64_t* v2;
  const std::uint64_t* v3;
  const std::uint64_t* last;
};

/// The input's second block, two rounds of compression and four of finalization.
ASRP_VECTOR_CLONES
void finish(const States& states, std::uint64_t tail, std::uint64_t* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t v0 = states.v0[i];
    std::uint64_t v1 = states.v1[i];
    std::uint64_t v2 = states.v2[i];
    std::uint64_t v3 = states.v3[i];
    const std::uint64_t block = tail | states.last[i];
    v3 ^= block;
    sip_round(v0, v1, v2, v3);
    sip_round(v0, v1, v2, v3);
    v0 ^= block;
    v2 ^= 0xff;
    sip_round(v0, v1, v2, v3);
    sip_round(v0, v1, v2, v3);
    sip_round(v0, v1, v2, v3);
    sip_round(v0, v1, v2, v3);
    out[i] = v0 ^ v1 ^ v2 ^ v3;
  }
}

/// SipHash reads octets as little-endian numbers.
std::uint64_t little_endian(const std::uint8_t* octets) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | octets[i];
  return value;
}

}  // namespace

RowHash::RowHash(const HashKey& key) : key_{little_endian(key.data()), little_endian(key.data() + 8)} {}

void RowHash::add(std::uint64_t id_hash) {
  std::uint64_t v0 = key_[0] ^ 0x736f6d6570736575;
  std::uint64_t v1 = key_[1] ^ 0x646f72616e646f6d;
  std::uint64_t v2 = key_[0] ^ 0x6c7967656e657261;
  std::uint64_t v3 = key_[1] ^ 0x7465646279746573;
  // Seven octets of the id hash, the most significant first, behind the use.
  std::uint64_t block = static_cast<std::uint8_t>(HashUse::member);
  for (unsigned octet = 0; octet < 7; ++octet) block |= (id_hash >> (56 - 8 * octet) & 0xff) << (8 * octet + 8);
  v3 ^= block;
  sip_round(v0, v1, v2, v3);
  sip_round(v0, v1, v2, v3);
  v0 ^= block;
  v0_.push_back(v0);
  v1_.push_back(v1);
  v2_.push_back(v2);
  v3_.push_back(v3);
  last_.push_back(id_hash & 0xff);
}

void RowHash::hash(std::uint16_t row, std::span<std::uint64_t> out) const {
  constexpr std::uint64_t kInputOctets = 11;
  const std::uint64_t tail = kInputOctets << 56 | std::uint64_t{row & 0xff00u} | std::uint64_t{row & 0xffu} << 16;
  finish({v0_.data(), v1_.data(), v2_.data(), v3_.data(), last_.data()}, tail, out.data(), size());
}

}  // namespace asrp::policy
