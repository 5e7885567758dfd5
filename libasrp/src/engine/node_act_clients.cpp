// SPDX-License-Identifier: BSD-3-Clause
#include "engine/node_act_clients.hpp"

#include "asrp/base/tuple.hpp"

namespace asrp::engine {
namespace {

constexpr Duration kEver = std::chrono::hours(24 * 365 * 100);

}  // namespace

void ActClients::set_options(const NatOptions& options) {
  all_hellos_ = policy::RateLimiter(options.hellos);
  hellos_per_client_ = options.hellos_per_client;
  outside_queries_ = options.outside_queries;
  silences_ = options.silences;
  no_holder_for_ = options.no_holder_for;
}

std::uint64_t ActClients::tag_of(const IpAddress& client) const {
  return table_hash({{client, 0}, {client, 0}, Protocol::udp}, seed_);
}

const ActClients::Client* ActClients::find(TimePoint now, const IpAddress& client) const {
  return cells_.find(tag_of(client), now, kEver);
}

ActClients::Client& ActClients::at(TimePoint now, const IpAddress& client) {
  const std::uint64_t tag = tag_of(client);
  if (Client* known = cells_.find(tag, now, kEver)) return *known;
  Client fresh;
  fresh.hellos = policy::RateLimiter(hellos_per_client_);
  fresh.queries = policy::RateLimiter(outside_queries_);
  return cells_.put(tag, now, fresh);
}

bool ActClients::has_no_holder(TimePoint now, const IpAddress& client) const {
  const Client* known = find(now, client);
  return known != nullptr && now < known->no_holder_until;
}

bool ActClients::heard(TimePoint now, const IpAddress& client) {
  Client& known = at(now, client);
  const bool news = now < known.no_holder_until;
  known.no_holder_until = TimePoint{};
  known.silences = 0;
  return news;
}

bool ActClients::set_without(TimePoint now, Client& client) const {
  const bool news = now >= client.no_holder_until;
  client.no_holder_until = now + no_holder_for_;
  client.silences = 0;
  return news;
}

bool ActClients::unreachable(TimePoint now, const IpAddress& client) { return set_without(now, at(now, client)); }

bool ActClients::silent(TimePoint now, const IpAddress& client) {
  Client& known = at(now, client);
  return ++known.silences >= silences_ && set_without(now, known);
}

bool ActClients::take_hello(TimePoint now, const IpAddress& client) {
  return at(now, client).hellos.take(now) && all_hellos_.take(now);
}

bool ActClients::take_query(TimePoint now, const IpAddress& client) { return at(now, client).queries.take(now); }

bool ActClients::may_query(TimePoint now, const IpAddress& client) const {
  const Client* known = find(now, client);
  return known == nullptr ? outside_queries_ != 0 : known->queries.would_take(now);
}

}  // namespace asrp::engine
