// SPDX-License-Identifier: BSD-3-Clause
// A twin of conntrack with NAT that really translates packets: what a NodeEngine installs decides where packets go.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "asrp/base/time.hpp"
#include "asrp/engine/flow_table.hpp"
#include "asrp/packet/checksum.hpp"
#include "asrp/packet/packet_view.hpp"
#include "support/builders.hpp"
#include "support/holder_twins.hpp"

namespace asrp::test {

class KernelFlows final : public engine::FlowTable {
 public:
  struct Entry {
    engine::FlowEntry flow;
    TimePoint last_used{};
    bool seen_reply = false;
    bool client_closed = false;
    bool server_closed = false;
  };
  /// Where a packet belongs: its entry, and whether it goes from the client to the server.
  struct Match {
    Entry* entry = nullptr;
    bool is_original = false;
  };

  /// What the engine's calls take for the current time.
  TimePoint now{};
  std::size_t capacity = SIZE_MAX;

  void install(std::span<const engine::Flow> flows, std::span<engine::InstallResult> results) override {
    for (std::size_t i = 0; i < flows.size(); ++i) results[i] = install_one(flows[i]);
  }

  std::optional<engine::FlowEntry> find(const Tuple& tuple) override {
    for (const Tuple& t : {tuple, tuple.reversed()}) {
      if (const Match match = look_up(t); match.entry != nullptr) return match.entry->flow;
    }
    return std::nullopt;
  }

  void remove(const Tuple& client_side) override {
    const auto found = by_tuple_.find(client_side);
    if (found == by_tuple_.end() || found->second->flow.tuples.client_side != client_side) return;
    const std::shared_ptr<Entry> entry = found->second;
    by_tuple_.erase(client_side);
    by_tuple_.erase(entry->flow.tuples.server_side.reversed());
    forget_mapping(inside_, inside_key(entry->flow.tuples), entry.get());
    forget_mapping(outside_, outside_key(entry->flow.tuples), entry.get());
  }

  void set_mark(const Tuple& client_side, engine::FlowMark mark) override {
    if (const Match match = look_up(client_side); match.is_original) match.entry->flow.mark = mark;
  }

  std::optional<Endpoint> outside_of(Protocol protocol, const Endpoint& inside) override {
    const Entry* entry = any_live(inside_, {inside, inside, protocol});
    return entry == nullptr ? std::nullopt : std::optional(entry->flow.tuples.server_side.src);
  }

  std::optional<Endpoint> inside_of(Protocol protocol, const Endpoint& outside) override {
    const Entry* entry = any_live(outside_, {outside, outside, protocol});
    return entry == nullptr ? std::nullopt : std::optional(entry->flow.tuples.client_side.src);
  }

  bool has_session_with(Protocol protocol, const Endpoint& outside, const IpAddress& host) override {
    const auto found = outside_.find({outside, outside, protocol});
    if (found == outside_.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(), [&](const Entry* entry) {
      return entry->flow.tuples.server_side.dst.address == host && now - entry->last_used <= lifetime(*entry);
    });
  }

  /// The entry of a packet with this tuple, unless it has timed out.
  Match look_up(const Tuple& tuple) {
    const auto found = by_tuple_.find(tuple);
    if (found == by_tuple_.end()) return {};
    Entry* entry = found->second.get();
    if (now - entry->last_used > lifetime(*entry)) {
      remove(Tuple(entry->flow.tuples.client_side));
      return {};
    }
    return {entry, tuple == entry->flow.tuples.client_side};
  }

  /// The kernel's way with a packet that has an entry: notes what it says of the connection's end, and rewrites it. Checksums
  /// are mended by the difference, as the kernel does, so that a wrong one stays wrong.
  void translate(const Match& match, const packet::PacketView& view, MutableOctets octets) {
    Entry& entry = *match.entry;
    entry.last_used = now;
    if (!match.is_original) entry.seen_reply = true;
    if (view.is_tcp()) note_end(entry, match.is_original, view.tcp_flags());
    const TuplePair& tuples = entry.flow.tuples;
    const Tuple to = match.is_original ? tuples.server_side : tuples.client_side.reversed();
    rewrite(view, octets, to);
  }

  /// The kernel's way with an ICMP error about a packet of a session that has an entry: it goes to who sent that packet, and
  /// quotes it as it was sent. Nothing if there is no entry.
  std::optional<Buffer> translate_error(const packet::PacketView& error) {
    const auto quoted = packet::quoted_tuple(error);
    const Match match = quoted ? look_up(quoted->reversed()) : Match{};
    if (match.entry == nullptr) return std::nullopt;
    const TuplePair& tuples = match.entry->flow.tuples;
    const Tuple sent = match.is_original ? tuples.server_side.reversed() : tuples.client_side;
    Buffer inner(error.payload().begin(), error.payload().end());
    const auto view = packet::PacketView::parse(inner);
    if (!view) return std::nullopt;
    rewrite(*view, inner, sent);
    const std::size_t at = error.transport_offset();
    return test::icmp_error(error.tuple().src.address, sent.src.address)
        .type(error.octets()[at], error.octets()[at + 1])
        .quoting(inner)
        .build();
  }

  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [tuple, entry] : by_tuple_) {
      if (tuple == entry->flow.tuples.client_side) visit(entry->flow);
    }
  }
  void clear() {
    by_tuple_.clear();
    inside_.clear();
    outside_.clear();
  }
  [[nodiscard]] std::size_t size() const { return by_tuple_.size() / 2; }

 private:
  static Duration lifetime(const Entry& entry) {
    using std::chrono::seconds;
    if (entry.flow.closing) return seconds(10);
    const bool is_closing_down = entry.client_closed || entry.server_closed;  // FIN_WAIT, also when one direction is not seen
    if (entry.flow.tuples.client_side.protocol == Protocol::tcp) return seconds(is_closing_down ? 120 : 600);
    return entry.seen_reply ? seconds(180) : seconds(60);
  }

  engine::InstallResult install_one(const engine::Flow& flow) {
    const Tuple original = flow.tuples.client_side;
    const Tuple reply = flow.tuples.server_side.reversed();
    for (const Tuple& t : {original, reply}) {
      if (look_up(t).entry != nullptr) return engine::InstallResult::exists;
    }
    if (size() >= capacity) return engine::InstallResult::full;
    auto entry = std::make_shared<Entry>();
    entry->flow = {flow.tuples, flow.mark, false};
    entry->last_used = now;
    entry->seen_reply = flow.one_way_suffices;
    by_tuple_[original] = entry;
    by_tuple_[reply] = entry;
    inside_[inside_key(flow.tuples)].push_back(entry.get());
    outside_[outside_key(flow.tuples)].push_back(entry.get());
    return engine::InstallResult::ok;
  }

  static void note_end(Entry& entry, bool from_client, std::uint8_t flags) {
    if ((flags & packet::kTcpFin) != 0) (from_client ? entry.client_closed : entry.server_closed) = true;
    if ((flags & packet::kTcpRst) != 0 || (entry.client_closed && entry.server_closed)) entry.flow.closing = true;
  }

  static void rewrite(const packet::PacketView& view, MutableOctets packet, const Tuple& to) {
    const std::size_t transport = view.transport_offset();
    const std::size_t checksum_at = transport + (view.is_tcp() ? 16u : 6u);
    const bool has_checksum = view.is_tcp() || load_u16(packet, checksum_at) != 0;
    std::uint16_t checksum = load_u16(packet, checksum_at);
    std::uint16_t header = view.is_v4() ? load_u16(packet, 10) : std::uint16_t{0};
    const auto put = [&](std::size_t at, std::uint16_t value, bool in_header) {
      const std::uint16_t old = load_u16(packet, at);
      checksum = packet::checksum_update(checksum, old, value);
      if (in_header) header = packet::checksum_update(header, old, value);
      store_u16(packet, at, value);
    };
    std::size_t at = view.is_v4() ? 12 : 8;
    for (const Endpoint* e : {&to.src, &to.dst}) {
      const Octets address = e->address.octets();
      for (std::size_t i = 0; i < address.size(); i += 2, at += 2) put(at, load_u16(address, i), view.is_v4());
    }
    put(transport, to.src.port, false);
    put(transport + 2, to.dst.port, false);
    if (view.is_v4()) store_u16(packet, 10, header);
    if (view.is_udp() && checksum == 0) checksum = 0xffff;
    if (has_checksum) store_u16(packet, checksum_at, checksum);
  }

  // Source NAT: the entries of a client's endpoint, and of the one by which it is seen.
  using Mappings = std::unordered_map<Tuple, std::vector<const Entry*>, TupleHash>;
  static Tuple inside_key(const TuplePair& t) { return {t.client_side.src, t.client_side.src, t.client_side.protocol}; }
  static Tuple outside_key(const TuplePair& t) { return {t.server_side.src, t.server_side.src, t.server_side.protocol}; }
  [[nodiscard]] const Entry* any_live(const Mappings& mappings, const Tuple& key) const {
    const auto found = mappings.find(key);
    if (found == mappings.end()) return nullptr;
    for (const Entry* entry : found->second) {
      if (now - entry->last_used <= lifetime(*entry)) return entry;
    }
    return nullptr;
  }
  static void forget_mapping(Mappings& mappings, const Tuple& key, const Entry* entry) {
    const auto found = mappings.find(key);
    if (found == mappings.end()) return;
    std::erase(found->second, entry);
    if (found->second.empty()) mappings.erase(found);
  }

  std::unordered_map<Tuple, std::shared_ptr<Entry>, TupleHash> by_tuple_;
  Mappings inside_;
  Mappings outside_;
};

}  // namespace asrp::test
