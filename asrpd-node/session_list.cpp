// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/session_list.hpp"

#include <algorithm>
#include <functional>

#include "asrp/packet/echo.hpp"
#include "runtime/log.hpp"

namespace asrp::node {
namespace {

using runtime::json_quoted;

std::string_view backup_word(engine::FlowMark mark) {
  switch (mark) {
    case engine::FlowMark::waiting:
      return "waiting";
    case engine::FlowMark::unprotected:
      return "unprotected";
    case engine::FlowMark::none:
      break;
  }
  return "yes";
}

std::string protocol_word(Protocol protocol) { return packet::is_icmp(protocol) ? "icmp" : to_string(protocol); }

bool has_state(const std::string& wanted, const io::Conntrack::Detail& session) {
  if (wanted == "WAITING") return session.flow.mark == engine::FlowMark::waiting;
  if (wanted == "UNPROTECTED") return session.flow.mark == engine::FlowMark::unprotected;
  return session.state == wanted;
}

std::string traffic_members(const std::optional<io::Traffic>& from_client, const std::optional<io::Traffic>& from_server) {
  if (!from_client || !from_server) return "";
  return ",\"packets_from_client\":" + std::to_string(from_client->packets) +
         ",\"octets_from_client\":" + std::to_string(from_client->octets) +
         ",\"packets_from_server\":" + std::to_string(from_server->packets) +
         ",\"octets_from_server\":" + std::to_string(from_server->octets);
}

}  // namespace

bool read_server(const std::string& text, SessionFilter& out) {
  if (const auto prefix = Prefix::parse(text)) {
    out.server = prefix->network();
  } else if (const auto endpoint = Endpoint::parse(text)) {
    out.server_port = endpoint;
  } else {
    out.server_id = text;
  }
  return !text.empty();
}

SessionDirectory::SessionDirectory(const std::vector<engine::Service>& services) {
  for (const engine::Service& service : services) {
    Entry& entry = services_[{service.protocol, service.address}];
    entry.name = service.name;
    for (const engine::Backend& server : service.backends) entry.servers.emplace(server.address, server.id);
  }
}

SessionDirectory::Place SessionDirectory::place_of(const TuplePair& session) const {
  const auto service = services_.find({session.client_side.protocol, session.client_side.dst});
  if (service == services_.end()) return {};
  const auto server = service->second.servers.find(session.server_side.dst);
  return {service->second.name, server == service->second.servers.end() ? std::string() : server->second};
}

bool SessionDirectory::has_service(const std::string& name) const {
  return std::any_of(services_.begin(), services_.end(), [&](const auto& each) { return each.second.name == name; });
}

bool matches(const SessionFilter& filter, const io::Conntrack::Detail& session, const SessionDirectory::Place& place) {
  const TuplePair& tuples = session.flow.tuples;
  if (filter.protocol && tuples.client_side.protocol != *filter.protocol) return false;
  if (filter.client && !filter.client->contains(tuples.client_side.src.address)) return false;
  if (filter.server && !filter.server->contains(tuples.server_side.dst.address)) return false;
  if (filter.server_port && tuples.server_side.dst != *filter.server_port) return false;
  if (!filter.server_id.empty() && place.server != filter.server_id) return false;
  if (!filter.service.empty() && place.service != filter.service) return false;
  return filter.state.empty() || has_state(filter.state, session);
}

std::string session_object(const io::Conntrack::Detail& session, const SessionDirectory::Place& place) {
  const TuplePair& tuples = session.flow.tuples;
  std::string out = "{\"service\":" + json_quoted(place.service) + ",\"server\":" + json_quoted(place.server) +
                    ",\"protocol\":\"" + protocol_word(tuples.client_side.protocol) + "\",\"client\":\"" +
                    tuples.client_side.src.to_string() + "\",\"address\":\"" + tuples.client_side.dst.to_string() +
                    "\",\"server_address\":\"" + tuples.server_side.dst.to_string() + "\",\"source\":\"" +
                    tuples.server_side.src.to_string() + "\",\"state\":\"";
  out += session.state;
  out += "\",\"backup\":\"";
  out += backup_word(session.flow.mark);
  out += "\",\"timeout_s\":" + std::to_string(session.timeout);
  return out + traffic_members(session.from_client, session.from_server) + "}";
}

void Talkers::add(const io::Conntrack::Detail& session) {
  Sum& sum = sums_[session.flow.tuples.client_side.src.address];
  ++sum.sessions;
  for (const auto& part : {session.from_client, session.from_server}) {
    if (!part) continue;
    sum.traffic.packets += part->packets;
    sum.traffic.octets += part->octets;
  }
  const std::uint64_t octets =
      (session.from_client ? session.from_client->octets : 0) + (session.from_server ? session.from_server->octets : 0);
  sum.measure += by_ == By::sessions ? 1 : octets;
  if (sums_.size() > 2 * clients_) forget_small();
}

/// Takes the same from all, so much that at least half of them are gone: nobody who has more than that is missed. What is
/// taken from one at least `clients_` others lose too, so it is small against the whole.
void Talkers::forget_small() {
  std::vector<std::uint64_t> measures;
  for (const auto& [client, sum] : sums_) measures.push_back(sum.measure);
  const auto middle = measures.begin() + static_cast<std::ptrdiff_t>(clients_);
  std::nth_element(measures.begin(), middle, measures.end(), std::greater<>());
  const std::uint64_t taken = *middle;
  error_ += taken;
  std::erase_if(sums_, [taken](const auto& each) { return each.second.measure <= taken; });
  for (auto& [client, sum] : sums_) sum.measure -= taken;
}

std::vector<Talkers::Line> Talkers::top(std::size_t count) const {
  std::vector<std::pair<std::uint64_t, IpAddress>> order;
  for (const auto& [client, sum] : sums_) order.emplace_back(sum.measure, client);
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::vector<Line> out;
  for (std::size_t i = 0; i < count; ++i) {
    const Sum& sum = sums_.at(order[i].second);
    out.push_back({order[i].second, sum.sessions, sum.traffic});
  }
  return out;
}

std::string talker_object(const Talkers::Line& line, bool counted) {
  std::string out = "{\"client\":\"" + line.client.to_string() + "\",\"sessions\":" + std::to_string(line.sessions);
  if (counted)
    out += ",\"packets\":" + std::to_string(line.traffic.packets) + ",\"octets\":" + std::to_string(line.traffic.octets);
  return out + "}";
}

}  // namespace asrp::node
