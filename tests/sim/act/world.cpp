// SPDX-License-Identifier: BSD-3-Clause
#include "sim/act/world.hpp"

#include <algorithm>

namespace asrp::sim::act {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kPatience = seconds(120);  // after the last fault, for all sessions to end
constexpr std::uint16_t kFirstPort = 10'000;

}  // namespace

World::World(const Plan& plan)
    : plan_(plan),
      random_(plan.seed),
      truth_(*gateway_options(plan, 0).nat),
      network_(agenda_, random_),
      stacks_(agenda_, network_, truth_, random_),
      next_index_(plan.clients) {
  truth_.is_explicit = plan.explicit_first != engine::ExplicitFirst::none;
  network_.set_nodes_are_gateways();
  network_.set_path_key([this](Network::From from, const Tuple& tuple) { return path_key(from, tuple); });
  if (plan.answers_return) network_.set_way_back([this](const Tuple& answer) { return truth_.maker_of(answer); });
  network_.set_impairment(plan.impairment);
  for (const IpAddress& outside : outside_addresses()) network_.route_to_cluster(outside);
  for (std::size_t i = 0; i < plan.servers; ++i) {
    servers_.push_back(std::make_unique<ServerHost>(agenda_, network_, truth_, random_, i));
    for (const Family family : {Family::v4, Family::v6}) network_.attach(server_address(i, family), *servers_.back());
  }
  for (std::size_t i = 0; i < plan.gateways; ++i) {
    gateways_.push_back(std::make_unique<NodeHost>(agenda_, network_, truth_, random_, i));
    for (const Family family : {Family::v4, Family::v6}) network_.attach(node_address(i, family), *gateways_.back());
    gateways_.back()->start(gateway_options(plan_, i));
  }
  announce_gateways();
  make_clients();
  make_sessions();
  plan_faults();
}

void World::make_clients() {
  for (std::size_t i = 0; i < plan_.clients; ++i) {
    const bool has_holder = random_.below(100) >= plan_.no_holder_percent;
    clients_.push_back(std::make_unique<ClientHost>(agenda_, network_, truth_, random_, stacks_,
                                                    ClientHost::Settings{i, has_holder, plan_.recovery}));
    take_address(i, i);
  }
}

void World::take_address(std::size_t client, std::size_t index) {
  for (const Family family : {Family::v4, Family::v6}) {
    const IpAddress address = client_address(index, family);
    network_.attach(address, *clients_[client]);
    stacks_.attach(address, *clients_[client]);
    if (!clients_[client]->has_holder() || plan_.symmetric_paths) by_client_.insert(address);
  }
}

/// Each side's router goes by what it sees of a packet, so that the two directions of a session take different gateways. A
/// client without a holder would then get no answers: both routers choose by client for it, as the manual has it.
Tuple World::path_key(Network::From from, const Tuple& tuple) const {
  const auto by_outside = from == Network::From::server ? truth_.ranges().client_of(tuple.dst) : std::nullopt;
  const IpAddress client = by_outside.value_or(tuple.src.address);
  if (!by_client_.contains(client)) return tuple;
  return {{client, 0}, {client, 0}, tuple.protocol};
}

void World::announce_gateways() {
  std::vector<Host*> up;
  for (const auto& gateway : gateways_) {
    if (gateway->is_up()) up.push_back(gateway.get());
  }
  network_.set_nodes(std::move(up));
}

/// Clients use the same ports, and two UDP sessions of a client one endpoint.
void World::place_session(Session& s, std::size_t number) {
  const std::size_t client = number % plan_.clients;
  const std::size_t turn = number / plan_.clients;
  const Family family = random_.below(100) < plan_.v6_percent ? Family::v6 : Family::v4;
  const Protocol protocol = random_.below(100) < plan_.udp_percent ? Protocol::udp : Protocol::tcp;
  const std::size_t server = (client * 7 + turn) % plan_.servers;
  const std::size_t port = protocol == Protocol::udp && plan_.servers > 1 ? turn / 2 : turn;
  // Who takes over another's address uses other ports, so that a tuple is one session's.
  const std::size_t place = kFirstPort + client % 8 * 200 + port;
  s.client = static_cast<std::uint32_t>(client);
  s.client_side = {{client_address(client, family), static_cast<std::uint16_t>(place)},
                   {server_address(server, family), server_port(protocol)},
                   protocol};
}

void World::make_sessions() {
  truth_.sessions.resize(plan_.sessions);
  const std::size_t firsts = plan_.sessions * (100 - plan_.reuse_percent) / 100;
  for (std::size_t i = 0; i < plan_.sessions; ++i) {
    Session& s = truth_.sessions[i];
    s.id = static_cast<std::uint32_t>(i);
    place_session(s, i);
    Session* former = i < firsts ? nullptr : &truth_.sessions[(i - firsts) * firsts / (plan_.sessions - firsts)];
    if (former != nullptr) {
      s.follows = former->id;
      s.client = former->client;
      s.client_side = former->client_side;
      former->successor = s.id;
      former->server_closes = true;
    }
    const Protocol protocol = s.client_side.protocol;
    const bool single = protocol == Protocol::udp && plan_.explicit_first != engine::ExplicitFirst::none;
    const bool is_idle = random_.below(100) < plan_.idle_percent;
    s.rounds = single ? 1 : is_idle ? 2 : 2 + random_.below(6);
    s.request_size = RequestHead::kSize + random_.below(120);
    s.response_size = ResponseHead::kSize + random_.below(protocol == Protocol::tcp ? 1500 : 600);
    s.pause = milliseconds(random_.below(4000));
    s.server_pause = random_.one_in(3) ? Duration(milliseconds(random_.below(2000))) : Duration(0);
    if (is_idle) (random_.one_in(2) ? s.pause : s.server_pause) = milliseconds(5000 + random_.below(10'000));
    s.patience = s.server_pause;
    s.server_closes = random_.one_in(4);
    if (former != nullptr) continue;  // begins when that one has ended
    const TimePoint when = agenda_.now() + seconds(1) + plan_.arrivals * static_cast<int>(i) / static_cast<int>(plan_.sessions);
    agenda_.at(when, [this, id = s.id] { begin(id); });
  }
}

/// From the address that its client has now.
void World::begin(std::uint32_t id) {
  Session& session = truth_.sessions[id];
  session.client_side.src.address = client_address(clients_[session.client]->index(), session.client_side.family());
  if (session.successor) truth_.sessions[*session.successor].client_side = session.client_side;
  stacks_.begin(id);
}

TimePoint World::within_faults() {
  return agenda_.now() + seconds(2) + Duration(random_.below(static_cast<std::uint64_t>(plan_.faults.count())));
}

void World::plan_faults() {
  const auto repeat = [&](std::size_t times, const std::function<void()>& fault) {
    for (std::size_t i = 0; i < times; ++i) agenda_.at(within_faults(), fault);
  };
  repeat(plan_.gateway_deaths, [this] { kill_gateway(random_.below(gateways_.size())); });
  repeat(plan_.daemon_restarts, [this] { gateways_[random_.below(gateways_.size())]->restart_daemon(); });
  repeat(plan_.table_flushes, [this] {
    for (const auto& gateway : gateways_) gateway->flush_table();
  });
  repeat(plan_.reshuffles, [this] { network_.reshuffle(); });
  repeat(plan_.moves, [this] { move_client(random_.below(clients_.size() - 1)); });
  repeat(plan_.holder_restarts, [this] {
    ClientHost& client = *clients_[random_.below(clients_.size())];
    if (random_.one_in(3)) return client.lose_notices();
    client.kill_holder(milliseconds(10 + random_.below(1500)));
  });
}

/// Never the last one. Routers notice a moment later, and it comes back empty.
void World::kill_gateway(std::size_t number) {
  const auto up = std::count_if(gateways_.begin(), gateways_.end(), [](const auto& g) { return g->is_up(); });
  NodeHost& gateway = *gateways_[number];
  if (up < 2 || !gateway.is_up()) return;
  restored_by_dead_ += gateway.restored();
  gateway.die();
  agenda_.in(milliseconds(random_.below(300)), [this] { announce_gateways(); });
  agenda_.in(seconds(1) + milliseconds(random_.below(5000)), [this, number] {
    gateways_[number]->start(gateway_options(plan_, number));
    announce_gateways();
  });
}

/// The client roams: its sessions end for it, those that follow begin at its new address. Its neighbour gets the old one.
void World::move_client(std::size_t client) {
  if (next_index_ + 1 >= kMostClients) return;
  const auto leave = [this](std::size_t who) {
    for (const Session& s : truth_.sessions) {
      if (s.client == who) stacks_.abandon(s.id);
    }
  };
  leave(client);
  leave(client + 1);
  const std::size_t old = clients_[client]->index();
  for (const Family family : {Family::v4, Family::v6}) network_.detach(client_address(clients_[client + 1]->index(), family));
  clients_[client]->move(next_index_);
  clients_[client + 1]->move(old);
  take_address(client, next_index_++);
  take_address(client + 1, old);
}

Result World::run() {
  const TimePoint end = agenda_.now() + std::max(plan_.arrivals, plan_.faults) + kPatience;
  while (stacks_.done() < truth_.sessions.size() && agenda_.now() < end) agenda_.run_until(agenda_.now() + seconds(1));
  Result result;
  judge(result);
  run_out(agenda_, network_);
  for (const auto& gateway : gateways_) gateway->check_idle();
  check_outlived(clients_, "client", truth_);
  result.take(truth_, agenda_);
  result.excused += truth_.excused;
  return result;
}

void World::judge(Result& result) {
  for (const Session& s : truth_.sessions) {
    result.done += s.is_done ? 1 : 0;
    result.abandoned += s.is_abandoned ? 1 : 0;
    const bool has_holder = clients_[s.client]->has_holder();
    result.without_backup += has_holder && !s.is_protected && !s.is_abandoned ? 1 : 0;
    if (s.is_done || s.is_abandoned || !s.is_protected) continue;
    ++result.lost;
    if (truth_.is_excused(s.id)) {
      ++result.excused;
      continue;
    }
    truth_.wrong(std::string(s.was_reset ? "reset" : "stuck") + " although it has a backup: session " + std::to_string(s.id) +
                 ", " + s.client_side.to_string() + " seen from " + s.protected_tuples.server_side.src.to_string());
  }
  result.restored = restored_by_dead_;
  for (const auto& gateway : gateways_) {
    result.restored += gateway->restored();
    result.foretold += gateway->foretold();
    if (gateway->is_up()) result.exhausted += gateway->engine()->counters()[engine::NodeCounter::drops_exhausted];
  }
  result.ports_twice = truth_.ports_twice;
  result.given_again = truth_.given_again;
  result.clients_twice = truth_.clients_twice();
}

}  // namespace asrp::sim::act
