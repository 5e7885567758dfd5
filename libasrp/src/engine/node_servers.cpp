// SPDX-License-Identifier: BSD-3-Clause
// Servers: which one a new session gets, and what is told of them from outside: health, drain, load.
#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>

#include "engine/node_impl.hpp"

namespace asrp::engine {

using policy::MemberSelector;
using policy::SelectionMember;

namespace {

/// Calls act(service, backend) for each service of the pool that has this server. False: there is none.
template <class Act>
bool for_each_service_of(std::span<ServiceState> services, std::string_view pool, std::string_view server, Act act) {
  bool found = false;
  for (ServiceState& service : services) {
    if (service.options->pool != pool) continue;
    const auto backend = service.backend_of(server);
    if (!backend) continue;
    found = true;
    act(service, *backend);
  }
  return found;
}

}  // namespace

bool NodeEngine::Impl::choose_server(TimePoint now, Install& install) {
  const ServiceState& service = *install.service;
  const auto choice = engine::choose_server(service, *service.selector, now, install.flow.tuples.client_side, install.tried);
  if (!choice) return false;
  if (choice->outside_list) count(Counter::sessions_outside_list);
  if (choice->all_down) count(Counter::sessions_all_down);
  use_server(install, service.options->backends[choice->backend]);
  return true;
}

void NodeEngine::Impl::use_server(Install& install, const Backend& backend) {
  install.flow.mark = FlowMark::none;
  install.flow.tuples.server_side.protocol = install.flow.tuples.client_side.protocol;
  install.flow.tuples.server_side.dst = backend.address;
  install.holder = backend.holder == HolderPresence::no ? nullptr : holders_.find(backend.address.address);
  // `probe` trusts no holder that has not been seen.
  if (backend.holder == HolderPresence::probe && install.holder != nullptr && !install.holder->answered) {
    install.flow.mark = FlowMark::unprotected;
    install.holder = nullptr;
  }
}

/// After a server has refused the session, or its port is taken: another one of those that a recovery asks.
bool NodeEngine::Impl::choose_another(TimePoint now, Install& install) {
  const Tuple& client = install.flow.tuples.client_side;
  const Endpoint refused = install.flow.tuples.server_side.dst;
  install.tried = static_cast<RankSet>(install.tried | rank_of(*install.service, client, refused));
  return choose_server(now, install) && install.flow.tuples.server_side.dst != refused;
}

/// Whether a SYN whose session exists at that server goes on there (decision 6). It may be a late copy, and checks may be
/// wrong: as long as the holder answers, the session may well live.
bool NodeEngine::Impl::may_begin_again(const ServiceState& service, const Endpoint& server) const {
  const auto backend = service.backend_at(server);
  return !backend || service.states[*backend] != ServerState::down || service.usable_count == 0 ||
         !counts_as_gone(server.address);
}

/// Gives each service what is known of its servers. `before`: the configuration so far, whose selectors go on.
void NodeEngine::Impl::equip_services(NodeConfig* before) {
  std::unordered_map<std::string_view, ServiceState*> former;
  std::unordered_map<std::string_view, const MemberSelector*> informed;  // by pool: one that has been told of its loads
  if (before != nullptr) {
    for (ServiceState& service : before->services()) {
      former.emplace(service.options->name, &service);
      if (service.selector) informed.emplace(service.options->pool, service.selector.get());
    }
  }
  const Duration load_age = config_->options().timing.load_age;
  std::vector<SelectionMember> members;
  decltype(not_usable_) known;
  for (ServiceState& service : config_->services()) {
    const Service& options = *service.options;
    const auto old = former.find(options.name);
    if (old != former.end() && old->second->selector && old->second->selector->policy() == options.policy) {
      service.selector = std::move(old->second->selector);
      service.selector->set_load_age(load_age);
    } else {
      service.selector = std::make_unique<MemberSelector>(options.policy, random_, load_age);
    }
    members.clear();
    for (std::size_t i = 0; i < options.backends.size(); ++i) {
      const Backend& b = options.backends[i];
      members.push_back({b.id, b.weight, b.priority, b.degradation, service.usable[i] != 0});
    }
    service.selector->set_members(members);
    if (const auto other = informed.find(options.pool); other != informed.end() && other->second != service.selector.get())
      service.selector->take_loads(*other->second);
    for (auto it = not_usable_.lower_bound({options.pool, {}}); it != not_usable_.end() && it->first.first == options.pool;
         ++it) {
      const auto backend = service.backend_of(it->first.second);
      if (!backend) continue;
      service.set_state(*backend, it->second);
      known.insert(*it);
    }
  }
  not_usable_ = std::move(known);
}

bool NodeEngine::Impl::on_server_state(std::string_view pool, std::string_view server, ServerState state) {
  const auto tell = [&](ServiceState& service, std::uint16_t backend) { service.set_state(backend, state); };
  if (!for_each_service_of(config_->services(), pool, server, tell)) return false;
  const auto key = std::pair(std::string(pool), std::string(server));
  if (state == ServerState::usable) {
    not_usable_.erase(key);
  } else {
    not_usable_[key] = state;
  }
  return true;
}

bool NodeEngine::Impl::on_load(TimePoint now, std::string_view pool, std::string_view server, std::uint32_t load) {
  const auto tell = [&](ServiceState& service, std::uint16_t backend) { service.selector->report_load(now, backend, load); };
  return for_each_service_of(config_->services(), pool, server, tell);
}

}  // namespace asrp::engine
