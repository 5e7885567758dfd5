// SPDX-License-Identifier: BSD-3-Clause
#include "sim/world.hpp"

#include <algorithm>

namespace asrp::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kClients = 200;
constexpr Duration kPatience = seconds(120);  // after the last fault, for all sessions to end

}  // namespace

World::World(const Plan& plan)
    : plan_(plan), random_(plan.seed), network_(agenda_, random_), clients_(agenda_, network_, truth_, random_) {
  const auto push = plan.symmetric_paths ? engine::Push::automatic : engine::Push::always;
  const std::size_t servers = plan.servers + plan.joining_servers;
  truth_.is_explicit = plan.explicit_first != engine::ExplicitFirst::none;
  truth_.nodes_choose_alone = !plan.decides_alike();
  truth_.is_full_nat = plan.forward == engine::ForwardMode::full_nat;
  pool_.active = plan.servers;
  pool_.weights.assign(servers, 1);
  network_.set_symmetric(plan.symmetric_paths);
  network_.set_impairment(plan.impairment);
  for (const Family family : {Family::v4, Family::v6}) {
    network_.route_to_cluster(service_address(family));
    network_.route_to_cluster(full_nat_address(family));
    for (std::size_t i = 0; i < kClients; ++i) network_.attach(client_address(i, family), clients_);
  }
  for (std::size_t i = 0; i < servers; ++i) {
    servers_.push_back(std::make_unique<ServerHost>(agenda_, network_, truth_, random_, i, push));
    for (const Family family : {Family::v4, Family::v6}) network_.attach(server_address(i, family), *servers_.back());
  }
  for (std::size_t i = 0; i < plan.nodes; ++i) {
    nodes_.push_back(std::make_unique<NodeHost>(agenda_, network_, truth_, random_, i));
    for (const Family family : {Family::v4, Family::v6}) network_.attach(node_address(i, family), *nodes_.back());
    nodes_.back()->start(node_options(plan_, i, pool_, past_));
  }
  announce_nodes();
  make_sessions();
  plan_faults();
  plan_opinions();
}

void World::announce_nodes() {
  std::vector<Host*> up;
  for (const auto& node : nodes_) {
    if (node->is_up()) up.push_back(node.get());
  }
  network_.set_nodes(std::move(up));
}

void World::make_sessions() {
  truth_.sessions.resize(plan_.sessions);
  const std::size_t firsts = plan_.sessions * (100 - plan_.reuse_percent) / 100;
  for (std::size_t i = 0; i < plan_.sessions; ++i) {
    Session& s = truth_.sessions[i];
    s.id = static_cast<std::uint32_t>(i);
    const Family family = random_.below(100) < plan_.v6_percent ? Family::v6 : Family::v4;
    Protocol protocol = random_.below(100) < plan_.udp_percent ? Protocol::udp : Protocol::tcp;
    const Endpoint client{client_address(i % kClients, family), static_cast<std::uint16_t>(10'000 + i / kClients)};
    s.client_side = {client, {service_address(family), service_port(protocol)}, protocol};
    Session* former = i < firsts ? nullptr : &truth_.sessions[(i - firsts) * firsts / (plan_.sessions - firsts)];
    if (former != nullptr) {
      s.follows = former->id;
      s.client_side = former->client_side;
      former->successor = s.id;
      former->server_closes = true;
      protocol = s.client_side.protocol;
    }
    const bool single = protocol == Protocol::udp && plan_.explicit_first != engine::ExplicitFirst::none;
    s.rounds = single ? 1 : 2 + random_.below(6);
    s.request_size = RequestHead::kSize + random_.below(120);
    s.response_size = ResponseHead::kSize + random_.below(protocol == Protocol::tcp ? 1500 : 600);
    s.pause = milliseconds(random_.below(4000));
    s.server_pause = random_.one_in(3) ? Duration(milliseconds(random_.below(2000))) : Duration(0);
    s.server_closes = random_.one_in(4);
    if (former != nullptr) continue;  // begins when that one has ended
    // Nodes need a moment to learn that holders are there.
    const TimePoint begin =
        agenda_.now() + seconds(1) + plan_.arrivals * static_cast<int>(i) / static_cast<int>(plan_.sessions);
    agenda_.at(begin, [this, id = s.id] { clients_.begin(id); });
  }
}

TimePoint World::within_faults() {
  return agenda_.now() + seconds(2) + Duration(random_.below(static_cast<std::uint64_t>(plan_.faults.count())));
}

void World::plan_faults() {
  for (std::size_t i = 0; i < plan_.node_deaths; ++i) {
    agenda_.at(within_faults(), [this] { kill_node(random_.below(nodes_.size())); });
  }
  for (std::size_t i = 0; i < plan_.node_restarts; ++i) {
    agenda_.at(within_faults(), [this] { nodes_[random_.below(nodes_.size())]->restart_daemon(); });
  }
  for (std::size_t i = 0; i < plan_.table_flushes; ++i) {
    agenda_.at(within_faults(), [this] {
      for (const auto& node : nodes_) node->flush_table();
    });
  }
  for (std::size_t i = 0; i < plan_.reshuffles; ++i) agenda_.at(within_faults(), [this] { network_.reshuffle(); });
  for (std::size_t i = 0; i < plan_.pool_changes; ++i) agenda_.at(within_faults(), [this] { change_pool(); });
  for (std::size_t i = 0; i < plan_.holder_restarts; ++i) {
    agenda_.at(within_faults(), [this] {
      ServerHost& server = *servers_[random_.below(servers_.size())];
      if (random_.one_in(3)) return server.lose_notices();
      server.kill_holder(milliseconds(10 + random_.below(1500)));
    });
  }
}

/// Each node has its own opinion of the servers, and all have none when the faults are over.
void World::plan_opinions() {
  using engine::ServerState;
  for (std::size_t i = 0; i < plan_.state_changes; ++i) {
    agenda_.at(within_faults(), [this] {
      static constexpr ServerState kStates[] = {ServerState::usable, ServerState::drained, ServerState::down,
                                                ServerState::down};
      nodes_[random_.below(nodes_.size())]->set_state(kPoolName, server_id(random_.below(servers_.size())),
                                                      kStates[random_.below(4)]);
    });
  }
  for (std::size_t i = 0; i < plan_.load_reports; ++i) {
    agenda_.at(within_faults(), [this] {
      nodes_[random_.below(nodes_.size())]->tell_load(kPoolName, server_id(random_.below(servers_.size())),
                                                      static_cast<std::uint32_t>(random_.next()));
    });
  }
  if (plan_.state_changes == 0) return;
  agenda_.at(agenda_.now() + plan_.faults + seconds(3), [this] {
    for (const auto& node : nodes_) {
      for (std::size_t server = 0; server < servers_.size(); ++server)
        node->set_state(kPoolName, server_id(server), ServerState::usable);
    }
  });
}

/// Never the last one. It comes back empty.
void World::kill_node(std::size_t node) {
  const auto up = std::count_if(nodes_.begin(), nodes_.end(), [](const auto& n) { return n->is_up(); });
  if (up < 2 || !nodes_[node]->is_up()) return;
  restored_by_dead_ += nodes_[node]->restored();
  nodes_[node]->die();
  announce_nodes();
  agenda_.in(seconds(1) + milliseconds(random_.below(5000)), [this, node] {
    nodes_[node]->start(node_options(plan_, node, pool_, past_));
    announce_nodes();
  });
}

/// A server joins in two steps, as the manual says, or weights change. Nodes learn of it one after the other.
void World::change_pool() {
  const auto tell = [this] {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      agenda_.in(milliseconds(random_.below(300)), [this, i] {
        if (nodes_[i]->is_up()) nodes_[i]->reconfigure(node_options(plan_, i, pool_, past_));
      });
    }
  };
  if (pool_.active + pool_.joining == servers_.size()) {
    past_.insert(past_.begin(), pool_);
    pool_.weights[random_.below(pool_.active)] = static_cast<std::uint32_t>(1 + random_.below(3));
    return tell();
  }
  pool_.joining = 1;
  tell();
  agenda_.in(seconds(1), [this, tell] {
    past_.insert(past_.begin(), pool_);
    pool_.joining = 0;
    ++pool_.active;
    tell();
  });
}

Result World::run() {
  const TimePoint end = agenda_.now() + std::max(plan_.arrivals, plan_.faults) + kPatience;
  while (clients_.done() < truth_.sessions.size() && agenda_.now() < end) agenda_.run_until(agenda_.now() + seconds(1));
  Result result;
  judge(result);
  run_out(agenda_, network_);
  for (const auto& node : nodes_) node->check_idle();
  check_outlived(servers_, "server", truth_);
  result.take(truth_, agenda_);
  return result;
}

void World::judge(Result& result) {
  for (const Session& s : truth_.sessions) {
    result.done += s.is_done ? 1 : 0;
    result.without_backup += s.is_protected ? 0 : 1;
    if (s.is_done || !s.is_protected) continue;
    if (truth_.is_split(s.id) || (truth_.is_full_nat && s.was_misled) || truth_.is_outlived(s.id) || truth_.is_moved(s.id)) {
      ++result.excused;
      continue;
    }
    truth_.wrong(std::string(s.was_reset ? "reset" : "stuck") + " although it has a backup: session " + std::to_string(s.id) +
                 ", " + s.client_side.to_string() + " at " + s.protected_tuples.server_side.to_string());
  }
  result.moved = restored_by_dead_;
  for (const auto& node : nodes_) {
    result.moved += node->restored();
    result.foretold += node->foretold();
    if (node->is_up()) result.outside_list += node->engine()->counters()[engine::NodeCounter::sessions_outside_list];
  }
}

}  // namespace asrp::sim
