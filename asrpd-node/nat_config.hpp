// SPDX-License-Identifier: GPL-2.0-or-later
// ACT mode in the node's configuration: [nat], [[networks]], [[overrides]], and `slice` of [node].
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asrp/engine/nat_options.hpp"
#include "config/reader.hpp"
#include "config/writer.hpp"

namespace asrp::node {

// RFC 4787 REQ-5: a UDP mapping lives for two minutes at least, five are recommended. RFC 5382 REQ-5: an idle connection's for
// 2 hours and 4 minutes, one that begins or ends for 4 minutes.
inline constexpr Duration kNatLeastUdp = std::chrono::seconds(120);
inline constexpr Duration kNatUdp = std::chrono::seconds(300);
inline constexpr Duration kNatLeastTcp = std::chrono::seconds(7440);
inline constexpr Duration kNatTransitory = std::chrono::seconds(240);
// RFC 5508 REQ-2: a session of ICMP queries lives for a minute at least.
inline constexpr Duration kNatLeastIcmp = std::chrono::seconds(60);

/// Ranges of another time, in milliseconds since 1970.
struct FormerRanges {
  policy::PortRangeConfig ranges;
  std::vector<std::string> names;  // of the networks, in their order
  std::int64_t began = 0;
  std::int64_t ended = 0;
};

struct NatConfig {
  engine::NatOptions settings;
  std::vector<std::string> names;  // of settings.ranges.networks, in their order
  /// Where clients are: what comes in there and is of no network is refused. None: it is none of this daemon's business.
  std::vector<std::string> interfaces;
  /// For how long former ranges are served at least; longer while there are sessions of them here.
  Duration keep_ranges = std::chrono::hours(24);
  /// Not of the file but of this node's state: what settings.past_ranges are, with their times (past_ranges.hpp).
  std::vector<FormerRanges> former;

  [[nodiscard]] bool has_family(Family family) const;
  /// All outside blocks, those of overrides too.
  [[nodiscard]] std::vector<Prefix> outside(Family family) const;
  /// All clients' blocks.
  [[nodiscard]] std::vector<Prefix> clients(Family family) const;
};

/// The tables as they were read, to report in; what is not sound itself is not looked at again.
struct NatTables {
  config::Reader nat;
  std::vector<config::Reader> networks;
  std::vector<config::Reader> overrides;
  std::vector<bool> sound_networks;
  std::vector<bool> sound_overrides;
};

/// Whether the file asks for ACT mode.
bool asks_for_nat(const config::Reader& top);
/// `slice` of [node], which networks need and nothing else may have.
void read_slice(config::Reader& node, std::optional<NatConfig>& nat);
/// All tables of ACT mode. `out` has a value if there are networks; without them the other tables are reported.
NatTables read_nat(config::Reader& top, std::optional<NatConfig>& out);
/// What only all tables together show. `local_ips` are the node's own addresses, `node` its table.
void check_nat(const NatConfig& nat, NatTables& tables, const std::vector<IpAddress>& local_ips, config::Reader& node);

void write_nat(config::Writer& out, const NatConfig& nat);

/// The words of the configuration.
std::string_view name_of(engine::Filtering filtering);
std::string_view name_of(engine::OnExhausted on_exhausted);
std::string_view name_of(engine::NatNoSession no_session);
std::string_view name_of(engine::ExplicitFirst explicit_first);
std::string_view name_of(policy::ClientMapping mapping);

}  // namespace asrp::node
