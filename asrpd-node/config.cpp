// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/config.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "asrp/policy/epoch_bounds.hpp"
#include "asrpd-node/config_check.hpp"
#include "asrpd-node/config_values.hpp"
#include "asrpd-node/rules.hpp"

namespace asrp::node {
namespace {

using config::Problems;
using config::Reader;
using engine::BackendState;
using engine::HolderPresence;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kMinute = std::chrono::minutes(1);

void read_node(Reader& reader, NodeConfig& out) {
  if (reader.require("local_ips")) reader.addresses("local_ips", out.local_ips);
  reader.integer("port", out.port, 1, 65535);
  config::read_directory(reader, "state_dir", out.state_dir);
  if (const std::size_t size = state_dir_in_comment(out.state_dir).size(); size > kLongestStateDir)
    reader.problem("state_dir", "found a path of " + std::to_string(size) + " octets as the rules carry it, allowed are " +
                                    std::to_string(kLongestStateDir));
  config::read_control(reader, out.control);
  config::read_on_stop(reader, out.on_stop);
  read_slice(reader, out.nat);
  reader.finish();
}

void read_keys(Reader reader, NodeConfig& out) {
  reader.secret("placement_key", out.placement_key);
  std::vector<Reader> keys = reader.tables("cookie_keys");
  if (keys.empty()) reader.require("cookie_keys");
  int signing = 0;
  for (Reader& each : keys) {
    CookieKeyConfig key;
    each.secret("key", key.key);
    if (each.require("use")) each.choice<bool>("use", key.sign, {{"sign", true}, {"accept", false}});
    each.finish();
    signing += key.sign ? 1 : 0;
    for (const CookieKeyConfig& other : out.cookie_keys)
      if (other.key.value == key.key.value && key.key.value != HashKey{}) each.problem("key", "is in the list a second time");
    out.cookie_keys.push_back(std::move(key));
  }
  if (!keys.empty() && signing != 1)
    reader.problem("cookie_keys", "found " + std::to_string(signing) + " keys with use = \"sign\", allowed is exactly one");
  reader.finish();
}

void read_marks(Reader& reader, MarksConfig& out) {
  config::read_mark(reader, "waiting", out.waiting);
  config::read_mark(reader, "unprotected", out.unprotected);
  config::read_mark(reader, "admitted", out.admitted);
  config::read_mark(reader, "flow", out.flow);
  config::read_mark(reader, "own", out.own);
  reader.finish();
}

/// What hides clients keeps their sessions for as long as others rely on it.
void read_timeouts(Reader reader, TimeoutsConfig& out, bool is_nat) {
  if (is_nat) out.udp = out.udp_stream = kNatUdp;
  if (Duration established{}; reader.has("tcp_established")) {
    reader.duration("tcp_established", established, is_nat ? kNatLeastTcp : seconds(10), hours(24 * 10));
    out.tcp_established = established;
  }
  reader.duration("udp", out.udp, is_nat ? kNatLeastUdp : seconds(5), hours(24));
  reader.duration("udp_stream", out.udp_stream, is_nat ? kNatLeastUdp : seconds(5), hours(24));
  reader.duration("dns", out.dns, seconds(2), hours(24));
  reader.duration("icmp", out.icmp, kNatLeastIcmp, hours(24));
  for (const char* const key : {"dns", "icmp"})
    if (!is_nat && reader.has(key)) reader.problem(key, "is given, but there are no [[networks]]; it is for ACT mode");
  reader.finish();
}

void read_recovery(Reader reader, engine::NodeTiming& out) {
  reader.durations("query_repeats", out.query_repeats, milliseconds(1), seconds(10));
  reader.duration("query_limit", out.query_limit, milliseconds(10), seconds(10));
  reader.duration("silence_grace", out.silence_grace, Duration::zero(), seconds(10));
  reader.duration("ns_interval", out.ns_interval, milliseconds(10), seconds(60));
  reader.integer("ns_tries", out.ns_tries, 1, 100);
  reader.duration("unprotected_interval", out.unprotected_interval, seconds(1), hours(24));
  reader.duration("attempt_copy", out.attempt_copy, milliseconds(10), seconds(10));
  reader.duration("probe_interval", out.probe_interval, milliseconds(100), hours(1));
  reader.integer("probe_silences", out.probe_silences, 1, 100);
  reader.duration("inline_retry", out.inline_retry, seconds(1), hours(24));
  reader.duration("owner_change", out.owner_change, Duration::zero(), 60 * kMinute);
  if (!std::is_sorted(out.query_repeats.begin(), out.query_repeats.end()))
    reader.problem("query_repeats", "found times that go back, allowed are rising ones: they count from the first QS");
  if (!out.query_repeats.empty() && out.query_repeats.back() >= out.query_limit)
    reader.problem("query_repeats",
                   "found a repeat at or after query_limit, which is " + config::format_duration(out.query_limit));
  reader.finish();
}

void read_load(Reader reader, NodeConfig& out) {
  constexpr std::size_t kMostKeys = 4;
  LoadConfig& load = out.load;
  reader.boolean("enabled", load.enabled);
  reader.integer("port", load.port, 1, 65535);
  if (load.enabled && load.port == out.port)
    reader.problem("port", "found " + std::to_string(load.port) + ", which is ASRP-PORT");
  reader.duration("max_age", out.recovery.load_age, seconds(1), hours(1));
  for (Reader& each : reader.tables("keys")) {
    config::SecretKey key;
    each.secret("key", key);
    each.finish();
    for (const config::SecretKey& other : load.keys)
      if (other.value == key.value && key.value != HashKey{}) each.problem("key", "is in the list a second time");
    load.keys.push_back(std::move(key));
  }
  if (load.enabled && reader.require("keys") && (load.keys.empty() || load.keys.size() > kMostKeys))
    reader.problem("keys", "found " + std::to_string(load.keys.size()) + ", allowed are 1 to " + std::to_string(kMostKeys));
  reader.finish();
}

void read_limits(Reader reader, engine::NodeLimits& out) {
  reader.integer("held_packets", out.held_packets, 1, 16'777'216);
  reader.integer("held_packets_per_session", out.held_packets_per_session, 1, 65536);
  reader.integer("held_octets", out.held_octets, 65536, std::int64_t{1} << 34);
  reader.integer("recoveries", out.recoveries, 1, 16'777'216);
  reader.integer("waiting_sessions", out.waiting_sessions, 1, 16'777'216);
  reader.integer("attempts", out.attempts, 0, 16'777'216);
  reader.integer("second_rounds", out.second_rounds, 0, 1'000'000);
  reader.finish();
}

engine::Backend read_server(Reader& reader) {
  engine::Backend out;
  read_name(reader, "id", out.id);
  if (reader.require("address")) reader.endpoint("address", out.address);
  read_server_policy(reader, out);
  reader.choice<BackendState>(
      "state", out.state,
      {{"joining", BackendState::joining}, {"active", BackendState::active}, {"disabled", BackendState::disabled}});
  reader.choice<HolderPresence>("holder", out.holder,
                                {{"yes", HolderPresence::yes}, {"probe", HolderPresence::probe}, {"no", HolderPresence::no}});
  reader.finish();
  return out;
}

void bound_members(Reader& reader, const char* key, std::size_t found) {
  if (found > policy::kMaxEpochMembers)
    reader.problem(key, "found " + std::to_string(found) + ", allowed are at most " + std::to_string(policy::kMaxEpochMembers));
}

PastEpochConfig read_past_epoch(Reader& reader) {
  PastEpochConfig out;
  std::set<std::string> ids;
  reader.require("members");
  for (Reader& each : reader.tables("members")) {
    policy::EpochMember member;
    read_name(each, "id", member.id);
    each.integer("weight", member.weight, 0, kMostWeight);
    each.integer("priority", member.priority, 0, 0xffffffff);
    each.finish();
    if (!ids.insert(member.id).second) each.problem("id", "found " + config::shown(member.id) + " a second time in this epoch");
    out.members.push_back(std::move(member));
  }
  bound_members(reader, "members", out.members.size());
  if (reader.has("placement_key") || reader.has("placement_key_file")) {
    out.placement_key.emplace();
    reader.secret("placement_key", *out.placement_key);
  }
  reader.finish();
  return out;
}

PoolConfig read_pool(Reader& reader) {
  PoolConfig out;
  read_name(reader, "name", out.name);
  out.policy = read_policy(reader);
  std::set<std::string> ids;
  std::set<Endpoint> addresses;
  reader.require("servers");
  for (Reader& each : reader.tables("servers")) {
    engine::Backend server = read_server(each);
    if (!ids.insert(server.id).second) each.problem("id", "found " + config::shown(server.id) + " a second time in this pool");
    if (server.address.port != 0 && !addresses.insert(server.address).second)
      each.problem("address", "found " + server.address.to_string() + " a second time in this pool");
    out.servers.push_back(std::move(server));
  }
  bound_members(reader, "servers", out.servers.size());
  for (Reader& each : reader.tables("past_epochs")) out.past_epochs.push_back(read_past_epoch(each));
  if (reader.has("health")) out.health = read_health(reader.table("health"));
  reader.finish();
  return out;
}

void read_full_nat(Reader reader, engine::FullNatRange& out) {
  if (reader.require("addresses")) reader.addresses("addresses", out.addresses);
  read_ports(reader, "ports", out.first_port, out.last_port);
  reader.finish();
}

ServiceConfig read_service(Reader& reader) {
  ServiceConfig out;
  engine::Service& s = out.settings;
  using namespace engine;
  read_name(reader, "name", s.name);
  if (reader.require("address")) reader.endpoint("address", s.address);
  if (reader.require("protocol"))
    reader.choice<Protocol>("protocol", s.protocol, {{"tcp", Protocol::tcp}, {"udp", Protocol::udp}});
  reader.choice<ForwardMode>("forward", s.forward, {{"nat", ForwardMode::nat}, {"full-nat", ForwardMode::full_nat}});
  if (s.forward == ForwardMode::full_nat && reader.require("full_nat")) {
    read_full_nat(reader.table("full_nat"), s.full_nat);
  } else if (s.forward == ForwardMode::nat && reader.has("full_nat")) {
    reader.table("full_nat");
    reader.problem("full_nat", "is given, but forward is \"nat\"; set forward = \"full-nat\" or remove it");
  }
  reader.choice<ExplicitFirst>(
      "explicit_first", s.explicit_first,
      {{"none", ExplicitFirst::none}, {"any", ExplicitFirst::any}, {"dns", ExplicitFirst::dns}, {"quic", ExplicitFirst::quic}});
  reader.choice<Routing>("routing", s.routing, {{"asymmetric", Routing::asymmetric}, {"symmetric", Routing::symmetric}});
  reader.choice<NoSession>("no_session", s.no_session, {{"drop", NoSession::drop}, {"reset", NoSession::reset}});
  reader.choice<ConflictHandling>("on_conflict", s.on_conflict,
                                  {{"query", ConflictHandling::query}, {"drop", ConflictHandling::drop}});
  reader.boolean("server_initiated", s.server_initiated);
  read_name(reader, "pool", out.pool);
  reader.finish();
  return out;
}

NodeConfig read_all(const config::Value& root, const std::string& file, Problems& problems) {
  NodeConfig out;
  Reader top(root, "", file, problems);
  if (asks_for_nat(top)) out.nat.emplace();
  const bool has_node = top.require("node");
  Reader node = top.table("node");
  if (has_node) read_node(node, out);
  if (top.require("keys")) read_keys(top.table("keys"), out);
  config::read_queue(top.table("queue"), out.queue, kQueuesPerWorker, kMostWorkers);
  Reader marks = top.table("marks");
  read_marks(marks, out.marks);
  config::read_option(top.table("option"), out.option);
  read_timeouts(top.table("timeouts"), out.timeouts, out.nat.has_value());
  read_recovery(top.table("recovery"), out.recovery);
  read_limits(top.table("limits"), out.limits);
  read_load(top.table("load"), out);
  config::read_log(top.table("log"), out.log);
  config::read_metrics(top.table("metrics"), out.metrics);
  NatTables nat = read_nat(top, out.nat);
  for (const char* const key : {"pools", "services"}) {
    if (!out.nat) {
      top.require(key);
    } else if (top.has(key)) {
      top.problem(key, "is given beside [[networks]]; a node serves services or translates for clients, not both");
    }
  }
  std::vector<Reader> pools = top.tables("pools");
  for (Reader& each : pools) out.pools.push_back(read_pool(each));
  std::vector<Reader> services = top.tables("services");
  for (Reader& each : services) out.services.push_back(read_service(each));
  top.finish();
  check_config(out, {node, marks, pools, services});
  if (out.nat) check_nat(*out.nat, nat, out.local_ips, node);
  return out;
}

}  // namespace

const PoolConfig* NodeConfig::pool(std::string_view name) const {
  for (const PoolConfig& each : pools)
    if (each.name == name) return &each;
  return nullptr;
}

Duration NodeConfig::tcp_established() const {
  if (timeouts.tcp_established) return *timeouts.tcp_established;
  if (nat) return kNatLeastTcp;
  for (const ServiceConfig& service : services) {
    const PoolConfig* used = pool(service.pool);
    if (used == nullptr) continue;
    for (const engine::Backend& server : used->servers)
      if (server.holder == HolderPresence::no) return seconds(7440);
  }
  return seconds(600);
}

bool NodeConfig::has_family(Family family) const {
  if (nat && nat->has_family(family)) return true;
  return std::any_of(services.begin(), services.end(),
                     [family](const ServiceConfig& s) { return s.settings.address.address.family() == family; });
}

std::optional<NodeConfig> parse_config(std::string_view text, const std::string& file, Problems& problems) {
  const auto root = config::parse_toml(text, file, problems);
  if (!root) return std::nullopt;
  NodeConfig config = read_all(*root, file, problems);
  if (problems.errors() > 0) return std::nullopt;
  return config;
}

std::optional<NodeConfig> load_config(const std::string& file, Problems& problems) {
  const auto root = config::load_toml(file, problems);
  if (!root) return std::nullopt;
  NodeConfig config = read_all(*root, file, problems);
  if (problems.errors() > 0) return std::nullopt;
  return config;
}

policy::Epoch current_epoch(const NodeConfig& config, const PoolConfig& pool) {
  policy::Epoch epoch;
  epoch.key = config.placement_key.value;
  for (const engine::Backend& server : pool.servers)
    if (server.state == BackendState::active)
      epoch.members.push_back(epoch_member(pool.policy.policy, server.id, server.weight, server.priority));
  sort_members(epoch);
  return epoch;
}

void add_configured_epochs(const NodeConfig& config, const PoolConfig& pool, std::vector<policy::Epoch>& known) {
  auto place = known.end();
  for (auto past = pool.past_epochs.rbegin(); past != pool.past_epochs.rend(); ++past) {
    policy::Epoch epoch{past->members, past->placement_key ? past->placement_key->value : config.placement_key.value};
    sort_members(epoch);
    const auto same = std::find(known.begin(), known.end(), epoch);
    place = same != known.end() ? same : known.insert(place, std::move(epoch));
  }
}

engine::NodeOptions to_options(const NodeConfig& config, const std::vector<PoolHistory>& history) {
  engine::NodeOptions out;
  out.local_ips = config.local_ips;
  out.port = config.port;
  out.marker = config.option;
  out.placement_key = config.placement_key.value;
  for (const CookieKeyConfig& key : config.cookie_keys) {
    if (key.sign) {
      out.cookie_keys.sign = key.key.value;
    } else {
      out.cookie_keys.accept.push_back(key.key.value);
    }
  }
  if (config.nat) {
    out.nat = config.nat->settings;
    out.nat->dns_lasts = config.timeouts.dns;
  }
  out.timing = config.recovery;
  out.limits = config.limits;
  std::map<std::string_view, const PoolConfig*> pools;
  std::map<std::string_view, const PoolHistory*> histories;
  for (const PoolConfig& pool : config.pools) pools.emplace(pool.name, &pool);
  for (const PoolHistory& each : history) histories.emplace(each.pool, &each);
  for (const ServiceConfig& service : config.services) {
    engine::Service settings = service.settings;
    const auto found = pools.find(service.pool);
    if (found == pools.end()) continue;  // checked when the file was read
    const PoolConfig* const pool = found->second;
    settings.pool = pool->name;
    settings.policy = pool->policy.policy;
    settings.ranks = pool->policy.ranks;
    settings.all_down = pool->policy.all_down;
    settings.backends = pool->servers;
    if (const auto past = histories.find(pool->name); past != histories.end()) settings.past_epochs = past->second->past;
    add_configured_epochs(config, *pool, settings.past_epochs);
    out.services.push_back(std::move(settings));
  }
  return out;
}

}  // namespace asrp::node
