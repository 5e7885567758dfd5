// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/config.hpp"
#include "config/writer.hpp"

namespace asrp::node {
namespace {

using config::Writer;

void print_load(Writer& out, const NodeConfig& config) {
  out.table("load");
  out.boolean("enabled", config.load.enabled);
  out.integer("port", config.load.port);
  out.duration("max_age", config.recovery.load_age);
  for (const config::SecretKey& key : config.load.keys) {
    out.item("load.keys");
    out.secret("key", key);
  }
}

void write_settings(Writer& out, const NodeConfig& config) {
  config::write_queue(out, config.queue, kMostWorkers);
  out.table("marks");
  config::write_mark(out, "waiting", config.marks.waiting);
  config::write_mark(out, "unprotected", config.marks.unprotected);
  config::write_mark(out, "admitted", config.marks.admitted);
  config::write_mark(out, "flow", config.marks.flow);
  config::write_mark(out, "own", config.marks.own);
  config::write_option(out, config.option);
  out.table("timeouts");
  out.duration("tcp_established", config.tcp_established());
  out.duration("udp", config.timeouts.udp);
  out.duration("udp_stream", config.timeouts.udp_stream);
  if (config.nat) out.duration("dns", config.timeouts.dns);
  if (config.nat) out.duration("icmp", config.timeouts.icmp);
  const engine::NodeTiming& recovery = config.recovery;
  out.table("recovery");
  out.durations("query_repeats", recovery.query_repeats);
  out.duration("query_limit", recovery.query_limit);
  out.duration("silence_grace", recovery.silence_grace);
  out.duration("ns_interval", recovery.ns_interval);
  out.integer("ns_tries", recovery.ns_tries);
  out.duration("unprotected_interval", recovery.unprotected_interval);
  out.duration("attempt_copy", recovery.attempt_copy);
  out.duration("probe_interval", recovery.probe_interval);
  out.integer("probe_silences", recovery.probe_silences);
  out.duration("inline_retry", recovery.inline_retry);
  out.duration("owner_change", recovery.owner_change);
  const auto count = [&out](std::string_view key, std::size_t value) { out.integer(key, static_cast<std::int64_t>(value)); };
  out.table("limits");
  count("held_packets", config.limits.held_packets);
  count("held_packets_per_session", config.limits.held_packets_per_session);
  count("held_octets", config.limits.held_octets);
  count("recoveries", config.limits.recoveries);
  count("waiting_sessions", config.limits.waiting_sessions);
  count("attempts", config.limits.attempts);
  count("second_rounds", config.limits.second_rounds);
  print_load(out, config);
  config::write_log(out, config.log);
  config::write_metrics(out, config.metrics);
}

void write_pool(Writer& out, const PoolConfig& pool) {
  out.item("pools");
  out.text("name", pool.name);
  write_policy(out, pool.policy);
  if (pool.health) write_health(out, *pool.health);
  for (const engine::Backend& server : pool.servers) {
    out.item("pools.servers");
    out.text("id", server.id);
    out.text("address", server.address.to_string());
    write_server_policy(out, server);
    out.text("state", name_of(server.state));
    out.text("holder", name_of(server.holder));
  }
  for (const PastEpochConfig& epoch : pool.past_epochs) {
    out.item("pools.past_epochs");
    std::vector<std::string> members;
    for (const policy::EpochMember& member : epoch.members)
      members.push_back("{ id = " + Writer::quoted(member.id) + ", weight = " + std::to_string(member.weight) +
                        ", priority = " + std::to_string(member.priority) + " }");
    out.raw("members", Writer::list(members));
    if (epoch.placement_key) out.secret("placement_key", *epoch.placement_key);
  }
}

void write_service(Writer& out, const ServiceConfig& service) {
  const engine::Service& s = service.settings;
  out.item("services");
  out.text("name", s.name);
  out.text("address", s.address.to_string());
  out.text("protocol", to_string(s.protocol));
  out.text("forward", s.forward == engine::ForwardMode::nat ? "nat" : "full-nat");
  if (s.protocol == Protocol::udp) out.text("explicit_first", name_of(s.explicit_first));
  out.text("routing", s.routing == engine::Routing::asymmetric ? "asymmetric" : "symmetric");
  out.text("no_session", s.no_session == engine::NoSession::drop ? "drop" : "reset");
  out.text("on_conflict", s.on_conflict == engine::ConflictHandling::query ? "query" : "drop");
  if (s.forward == engine::ForwardMode::nat) out.boolean("server_initiated", s.server_initiated);
  out.text("pool", service.pool);
  if (s.forward != engine::ForwardMode::full_nat) return;
  out.table("services.full_nat");
  out.addresses("addresses", s.full_nat.addresses);
  out.text("ports", std::to_string(s.full_nat.first_port) + "-" + std::to_string(s.full_nat.last_port));
}

}  // namespace

std::string_view name_of(engine::BackendState state) {
  switch (state) {
    case engine::BackendState::joining:
      return "joining";
    case engine::BackendState::active:
      return "active";
    case engine::BackendState::disabled:
      return "disabled";
  }
  return "";
}

std::string_view name_of(engine::HolderPresence holder) {
  switch (holder) {
    case engine::HolderPresence::yes:
      return "yes";
    case engine::HolderPresence::probe:
      return "probe";
    case engine::HolderPresence::no:
      return "no";
  }
  return "";
}

std::string print_config(const NodeConfig& config) {
  Writer out;
  out.table("node");
  out.addresses("local_ips", config.local_ips);
  out.integer("port", config.port);
  out.text("state_dir", config.state_dir);
  config::write_control(out, config.control);
  out.text("on_stop", config::to_string(config.on_stop));
  if (config.nat) out.integer("slice", config.nat->settings.slice);
  out.table("keys");
  out.secret("placement_key", config.placement_key);
  for (const CookieKeyConfig& key : config.cookie_keys) {
    out.item("keys.cookie_keys");
    out.secret("key", key.key);
    out.text("use", key.sign ? "sign" : "accept");
  }
  write_settings(out, config);
  if (config.nat) write_nat(out, *config.nat);
  for (const PoolConfig& pool : config.pools) write_pool(out, pool);
  for (const ServiceConfig& service : config.services) write_service(out, service);
  return out.str();
}

}  // namespace asrp::node
