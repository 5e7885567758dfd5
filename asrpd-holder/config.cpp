// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-holder/config.hpp"

#include <algorithm>
#include <charconv>

#include "config/host_address.hpp"

namespace asrp::holder {
namespace {

using config::Problems;
using config::Reader;
using engine::LocalService;
using engine::OnFull;
using engine::Push;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A host that is a client only has no nodes.
void read_nodes(Reader& reader, const engine::ActOptions& act, std::vector<Prefix>& out) {
  if (!act.enabled && !reader.require("nodes")) return;
  reader.prefixes("nodes", out);
  if (out.empty() && !act.enabled)
    reader.warning("nodes", "is empty: no standalone message is taken, so this holder answers no queries");
}

void read_skip(Reader& reader, std::vector<engine::GreetingSkip>& out) {
  if (!reader.has("skip")) return;
  std::vector<std::string> texts;
  reader.texts("skip", texts);
  out.clear();
  for (const std::string& text : texts) {
    const std::size_t slash = text.find('/');
    const std::string protocol = text.substr(0, slash);
    const std::string digits = slash == std::string::npos ? "" : text.substr(slash + 1);
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    const bool is_port = error == std::errc{} && end == digits.data() + digits.size() && port != 0;
    if ((protocol != "tcp" && protocol != "udp") || !is_port) {
      reader.problem("skip", "found " + config::shown(text) + ", allowed are protocols with ports such as \"udp/53\"");
    } else {
      out.push_back({protocol == "tcp" ? Protocol::tcp : Protocol::udp, port});
    }
  }
}

void read_act(Reader reader, engine::ActOptions& out) {
  reader.boolean("enabled", out.enabled);
  reader.prefixes("gateways", out.gateways);
  if (out.enabled && out.gateways.empty())
    reader.warning("gateways", "is empty: no gateway may give this host a backup, or ask for one");
  reader.prefixes("destinations", out.destinations);
  read_skip(reader, out.skip);
  reader.integer("hello_rate", out.hello_rate, 1, 1'000'000);
  reader.duration("udp_linger", out.udp_linger, Duration::zero(), hours(24));
  reader.finish();
}

void read_holder(Reader reader, HolderConfig& out) {
  engine::HolderOptions& o = out.options;
  read_nodes(reader, o.act, o.nodes);
  reader.addresses("local_ips", o.local_ips);
  reader.integer("port", o.port, 1, 65535);
  config::read_directory(reader, "state_dir", out.state_dir);
  config::read_control(reader, out.control);
  config::read_on_stop(reader, out.on_stop);
  reader.boolean("loopback", out.loopback);
  for (const IpAddress& address : o.local_ips)
    if (const std::string why(config::why_no_host(address)); !why.empty() && !(out.loopback && why == "a loopback address"))
      reader.problem("local_ips", "found " + address.to_string() + ", " + why + "; allowed are this host's own addresses");
  reader.choice<OnFull>("on_full", o.on_full, {{"pass", OnFull::pass}, {"drop", OnFull::drop}});
  reader.integer("max_backups", o.max_backups, 1, 1'000'000'000);
  reader.integer("max_embryonic", o.max_embryonic, 1, 1'000'000'000);
  if (o.max_embryonic > o.max_backups)
    reader.problem("max_embryonic", "found " + std::to_string(o.max_embryonic) + ", more than max_backups, which is " +
                                        std::to_string(o.max_backups));
  reader.duration("embryonic_life", o.embryonic_life, seconds(1), hours(24));
  reader.duration("time_wait_recheck", o.time_wait_recheck, seconds(1), hours(24));
  reader.duration("first_look", o.first_look, milliseconds(10), hours(1));
  reader.duration("reconcile_interval", o.reconcile_interval, seconds(1), hours(24));
  reader.finish();
}

LocalService read_service(Reader& reader) {
  LocalService out;
  if (reader.require("protocol"))
    reader.choice<Protocol>("protocol", out.protocol, {{"tcp", Protocol::tcp}, {"udp", Protocol::udp}});
  if (reader.require("port")) reader.integer("port", out.port, 1, 65535);
  reader.choice<Push>("push", out.push, {{"auto", Push::automatic}, {"always", Push::always}, {"never", Push::never}});
  reader.duration("udp_linger", out.udp_linger, Duration::zero(), hours(24));
  if (out.protocol == Protocol::tcp && reader.has("udp_linger"))
    reader.problem("udp_linger", "is given for TCP; it is for protocol = \"udp\"");
  reader.finish();
  return out;
}

void check_services(const engine::HolderOptions& options, std::vector<Reader>& places) {
  for (std::size_t i = 0; i < options.services.size(); ++i) {
    const LocalService& service = options.services[i];
    if (service.protocol == Protocol::udp && service.port == options.port)
      places[i].problem("port", "found " + std::to_string(service.port) + ", which is ASRP-PORT");
    for (std::size_t j = 0; j < i; ++j)
      if (options.services[j].protocol == service.protocol && options.services[j].port == service.port && service.port != 0)
        places[i].problem("port",
                          "found " + to_string(service.protocol) + " port " + std::to_string(service.port) + " a second time");
  }
}

HolderConfig read_all(const config::Value& root, const std::string& file, Problems& problems) {
  HolderConfig out;
  Reader top(root, "", file, problems);
  read_act(top.table("act"), out.options.act);
  if (top.require("holder")) read_holder(top.table("holder"), out);
  config::read_queue(top.table("queue"), out.queue, 2);
  Reader marks = top.table("marks");
  config::read_mark(marks, "own", out.marks.own);
  config::read_mark(marks, "done", out.marks.done);
  if (out.marks.own == out.marks.done) marks.problem("done", "is the same bit as own");
  marks.finish();
  config::read_option(top.table("option"), out.options.marker);
  read_load(top.table("load"), out.load);
  config::read_log(top.table("log"), out.log);
  config::read_metrics(top.table("metrics"), out.metrics);
  std::vector<Reader> services = top.tables("services");
  for (Reader& each : services) out.options.services.push_back(read_service(each));
  check_services(out.options, services);
  top.finish();
  return out;
}

}  // namespace

std::string_view name_of(engine::Push push) {
  switch (push) {
    case Push::automatic:
      return "auto";
    case Push::always:
      return "always";
    case Push::never:
      return "never";
  }
  return "";
}

bool HolderConfig::follows_udp() const {
  const auto& services = options.services;
  return options.act.enabled ||
         std::any_of(services.begin(), services.end(), [](const LocalService& s) { return s.protocol == Protocol::udp; });
}

std::optional<HolderConfig> parse_config(std::string_view text, const std::string& file, Problems& problems) {
  const auto root = config::parse_toml(text, file, problems);
  if (!root) return std::nullopt;
  HolderConfig config = read_all(*root, file, problems);
  if (problems.errors() > 0) return std::nullopt;
  return config;
}

std::optional<HolderConfig> load_config(const std::string& file, Problems& problems) {
  const auto root = config::load_toml(file, problems);
  if (!root) return std::nullopt;
  HolderConfig config = read_all(*root, file, problems);
  if (problems.errors() > 0) return std::nullopt;
  return config;
}

namespace {

void write_prefixes(config::Writer& out, std::string_view key, const std::vector<Prefix>& prefixes) {
  std::vector<std::string> texts;
  for (const Prefix& prefix : prefixes) texts.push_back(config::Writer::quoted(prefix.to_string()));
  out.raw(key, config::Writer::list(texts));
}

void write_act(config::Writer& out, const engine::ActOptions& act) {
  out.table("act");
  out.boolean("enabled", act.enabled);
  write_prefixes(out, "gateways", act.gateways);
  write_prefixes(out, "destinations", act.destinations);
  std::vector<std::string> skip;
  for (const engine::GreetingSkip& each : act.skip)
    skip.push_back(config::Writer::quoted(to_string(each.protocol) + "/" + std::to_string(each.port)));
  out.raw("skip", config::Writer::list(skip));
  out.integer("hello_rate", act.hello_rate);
  out.duration("udp_linger", act.udp_linger);
}

}  // namespace

std::string print_config(const HolderConfig& config) {
  const engine::HolderOptions& o = config.options;
  config::Writer out;
  out.table("holder");
  write_prefixes(out, "nodes", o.nodes);
  out.addresses("local_ips", o.local_ips);
  out.integer("port", o.port);
  out.text("state_dir", config.state_dir);
  config::write_control(out, config.control);
  out.text("on_stop", config::to_string(config.on_stop));
  out.boolean("loopback", config.loopback);
  out.text("on_full", o.on_full == OnFull::pass ? "pass" : "drop");
  out.integer("max_backups", static_cast<std::int64_t>(o.max_backups));
  out.integer("max_embryonic", static_cast<std::int64_t>(o.max_embryonic));
  out.duration("embryonic_life", o.embryonic_life);
  out.duration("time_wait_recheck", o.time_wait_recheck);
  out.duration("first_look", o.first_look);
  out.duration("reconcile_interval", o.reconcile_interval);
  write_act(out, o.act);
  config::write_queue(out, config.queue);
  out.table("marks");
  config::write_mark(out, "own", config.marks.own);
  config::write_mark(out, "done", config.marks.done);
  config::write_option(out, o.marker);
  write_load(out, config.load);
  config::write_log(out, config.log);
  config::write_metrics(out, config.metrics);
  for (const LocalService& service : o.services) {
    out.item("services");
    out.text("protocol", to_string(service.protocol));
    out.integer("port", service.port);
    out.text("push", name_of(service.push));
    if (service.protocol == Protocol::udp) out.duration("udp_linger", service.udp_linger);
  }
  return out.str();
}

}  // namespace asrp::holder
