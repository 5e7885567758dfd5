// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/port_choice.hpp"

#include <numeric>

#include "asrp/base/assert.hpp"
#include "asrp/policy/keyed_hash.hpp"

namespace asrp::policy {
namespace {

/// Ports in ascending order, `step` apart, without `reserved`.
struct Row {
  std::uint32_t first;
  std::uint32_t step;
  std::uint32_t count;
  std::uint32_t reserved;

  Row(const PortRange& slice, std::uint32_t first_port, std::uint32_t step_, std::uint32_t reserved_)
      : first(first_port), step(step_), count(0), reserved(reserved_) {
    if (first > slice.last_port) return;
    count = (slice.last_port - first) / step + 1;
    const bool has_it = reserved >= first && reserved <= slice.last_port && (reserved - first) % step == 0;
    if (has_it) --count;
    if (!has_it) reserved = 65536;  // behind all ports
  }

  [[nodiscard]] std::uint16_t at(std::uint64_t index) const {
    const auto port = first + static_cast<std::uint32_t>(index) * step;
    return static_cast<std::uint16_t>(port >= reserved ? port + step : port);
  }
};

std::uint64_t stride(std::uint64_t hash, std::uint64_t total) {
  std::uint64_t step = 1 + hash % (total - 1);
  while (std::gcd(step, total) != 1) --step;
  return step;
}

std::uint16_t probe(const Row& row, std::uint64_t hash, std::uint64_t attempt) {
  std::uint64_t index = hash % row.count;
  if (attempt != 0) index = (index + attempt * stride(hash / row.count, row.count)) % row.count;
  return row.at(index);
}

std::uint64_t hash_of(const HashKey& key, PortUse use, const Tuple& client_side) {
  HashInput input(HashUse::port_choice);
  input.u8(static_cast<std::uint8_t>(client_side.protocol));
  Tuple hashed = client_side;
  if (use == PortUse::endpoint) hashed.dst = {IpAddress::any(client_side.family()), 0};
  input.tuple(hashed);
  return input.hash(key);
}

}  // namespace

PortRange slice_of(const PortRange& range, unsigned slice, unsigned slices) {
  ASRP_ASSERT(slice < slices && range.size() >= slices);
  const std::uint32_t begin = range.size() * slice / slices;
  const std::uint32_t end = range.size() * (slice + 1) / slices;
  PortRange part = range;
  part.first_port = static_cast<std::uint16_t>(range.first_port + begin);
  part.last_port = static_cast<std::uint16_t>(range.first_port + end - 1);
  return part;
}

std::optional<Endpoint> choose_port(const PortRange& range, const PortChoice& choice, PortUse use, const Tuple& client_side,
                                    std::size_t attempt) {
  if (range.keeps_port) return attempt == 0 ? std::optional(Endpoint{range.outside, client_side.src.port}) : std::nullopt;
  const PortRange slice = slice_of(range, choice.slice, choice.slices);
  const std::uint64_t hash = hash_of(choice.key, use, client_side);
  const std::uint32_t parity = (client_side.src.port ^ slice.first_port) & 1u;  // 0: the slice begins with the right one
  const Row first(slice, slice.first_port + (choice.keep_parity ? parity : 0), choice.keep_parity ? 2 : 1, choice.reserved);
  if (attempt < first.count) return Endpoint{slice.outside, probe(first, hash, attempt)};
  if (!choice.keep_parity) return std::nullopt;
  const Row others(slice, slice.first_port + 1 - parity, 2, choice.reserved);
  attempt -= first.count;
  if (attempt < others.count) return Endpoint{slice.outside, probe(others, hash, attempt)};
  return std::nullopt;
}

}  // namespace asrp::policy
