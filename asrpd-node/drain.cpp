// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/drain.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "asrpd-node/json_number.hpp"
#include "runtime/files.hpp"

namespace asrp::node {
namespace {

using nlohmann::json;

json to_json(const Drain& drain) {
  json out = {{"since", drain.since}};
  if (drain.deadline) out["deadline"] = *drain.deadline;
  return out;
}

Drain drain_from(const json& value) {
  Drain out;
  out.since = whole_number(value.at("since"), kLastSecond);
  if (value.contains("deadline")) out.deadline = whole_number(value.at("deadline"), kLastSecond);
  return out;
}

std::string file_in(const std::string& directory) { return directory + "/drain.json"; }

}  // namespace

std::vector<Drains::Server> servers_named(const NodeConfig& config, const std::string& id,
                                          const std::optional<std::string>& pool) {
  std::vector<Drains::Server> out;
  for (const PoolConfig& each : config.pools) {
    if (pool && each.name != *pool) continue;
    for (const engine::Backend& server : each.servers)
      if (server.id == id) out.emplace_back(each.name, id);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Drains next_drains(const Drains& before, const NodeConfig& config) {
  Drains out;
  out.node = before.node;
  if (before.servers.empty()) return out;
  for (const PoolConfig& pool : config.pools)
    for (const engine::Backend& server : pool.servers)
      if (const auto found = before.servers.find({pool.name, server.id}); found != before.servers.end())
        out.servers.insert(*found);
  return out;
}

std::string drains_json(const Drains& drains) {
  json servers = json::array();
  for (const auto& [server, drain] : drains.servers) {
    json one = to_json(drain);
    one["pool"] = server.first;
    one["server"] = server.second;
    servers.push_back(std::move(one));
  }
  json out = {{"version", 1}, {"servers", servers}};
  if (drains.node) out["node"] = to_json(*drains.node);
  return out.dump(1) + "\n";
}

std::optional<Drains> parse_drains(const std::string& text) {
  try {
    const json value = json::parse(text);
    if (value.at("version") != 1) return std::nullopt;
    Drains out;
    if (value.contains("node")) out.node = drain_from(value.at("node"));
    for (const json& each : value.at("servers"))
      out.servers[{each.at("pool").get<std::string>(), each.at("server").get<std::string>()}] = drain_from(each);
    return out;
  } catch (const std::exception&) {  // nlohmann throws on whatever is not as expected
    return std::nullopt;
  }
}

Drains load_drains(const std::string& directory, std::string& trouble) {
  const std::string file = file_in(directory);
  const auto text = runtime::read_file(file);
  if (!text) {
    trouble = text.error().to_string() + "; what was drained is not known";
    return {};
  }
  if (!text->has_value()) return {};
  if (auto drains = parse_drains(**text)) return std::move(*drains);
  std::error_code ignored;
  std::filesystem::rename(file, file + ".unreadable", ignored);
  trouble = file + " is damaged and was renamed to " + file + ".unreadable; what was drained is not known";
  return {};
}

Result<Done, io::IoError> save_drains(const std::string& directory, const Drains& drains) {
  return runtime::write_file(file_in(directory), drains_json(drains));
}

}  // namespace asrp::node
