// SPDX-License-Identifier: BSD-3-Clause
#include "sim/foretold.hpp"

#include <algorithm>
#include <vector>

#include "asrp/wire/decode.hpp"

namespace asrp::sim {

using engine::Explanation;
using engine::NodeCounter;
using engine::OutputKind;
using engine::Step;
using engine::Tap;

namespace {

/// Whether a packet begins a session by its kind, told by the plan and not by the engine: UDP services of the simulator take
/// all for first packets, or none.
bool begins(const engine::NodeOptions& options, const packet::PacketView& view) {
  if (view.is_tcp()) return view.is_tcp_syn();
  if (options.nat) {
    const auto& kinds = options.nat->explicit_first;
    return std::find(kinds.begin(), kinds.end(), engine::ExplicitFirst::any) != kinds.end();
  }
  return std::any_of(options.services.begin(), options.services.end(), [&](const engine::Service& s) {
    return s.address == view.tuple().dst && s.protocol == Protocol::udp && s.explicit_first == engine::ExplicitFirst::any;
  });
}

/// Whom the outputs from `first` on ask about `packet`, in order.
std::vector<IpAddress> asked(engine::Outbox& outbox, std::size_t first, const Tuple& packet) {
  std::vector<IpAddress> hosts;
  for (std::size_t i = first; i < outbox.outputs().size(); ++i) {
    const engine::Output& output = outbox.outputs()[i];
    if (output.kind != OutputKind::send_own) continue;
    const auto view = packet::PacketView::parse(outbox.octets(output));
    if (!view || !view->is_udp()) continue;
    const auto decoded = wire::decode(view->payload());
    if (decoded && decoded->message.type == wire::MsgType::QS && decoded->message.st1 == packet) {
      hosts.push_back(view->tuple().dst.address);
    }
  }
  return hosts;
}

}  // namespace

void Foretold::wrong(const std::string& what) {
  truth_.wrong("explain: said \"" + std::string(to_string(told_->step)) + "\" of " + told_->packet.to_string() + ", but " +
               what);
}

void Foretold::before_packet(engine::NodeEngine& engine, TimePoint now, Tap tap, const packet::PacketView& view) {
  told_.reset();
  // A SYN behind conntrack, and what the known tap takes, are the exception of an exception: the rules don't send them so.
  if (view.is_icmp() || tap == Tap::known || (tap == Tap::stray && view.is_tcp_syn())) return;
  told_ = engine.explain(now, view.tuple(), begins(engine.options(), view));
  counters_ = engine.counters();
  outputs_ = engine.outbox().outputs().size();
}

void Foretold::expect_count(const Counters& now, NodeCounter counter) {
  if (now[counter] != (*counters_)[counter] + 1) wrong("\"" + std::string(engine::info(counter).name) + "\" did not count");
}

void Foretold::after_packet(engine::NodeEngine& engine) {
  if (!told_) return;
  ++checked_;
  const Counters& now = engine.counters();
  const auto hosts = asked(engine.outbox(), outputs_, told_->packet);
  std::vector<IpAddress> expected;
  const bool asks = told_->step == Step::ask_candidates || told_->step == Step::ask_sender ||
                    told_->step == Step::ask_former_owner || told_->step == Step::ask_client;
  for (const Explanation::Candidate& c : told_->candidates) {
    if (asks && c.round == 1) expected.push_back(c.address.address);
  }
  // Datagrams may begin a session: holders that are gone count as RX, and if all of the first round are, the second follows at
  // once.
  const bool all_gone = std::all_of(told_->candidates.begin(), told_->candidates.end(),
                                    [](const Explanation::Candidate& c) { return c.round != 1 || c.holder_gone; });
  if (told_->step == Step::ask_candidates && told_->packet.protocol == Protocol::udp && all_gone) {
    for (const Explanation::Candidate& c : told_->candidates) {
      if (c.round == 2) expected.push_back(c.address.address);
    }
  }
  if (hosts != expected) {
    wrong(std::to_string(hosts.size()) + " were asked instead of " + std::to_string(expected.size()) + ", or others");
  }
  const auto began = now[NodeCounter::recoveries_started] - (*counters_)[NodeCounter::recoveries_started];
  if (began != (asks ? 1 : 0)) wrong("recoveries began: " + std::to_string(began));
  switch (told_->step) {
    case Step::no_service:
      return expect_count(now, NodeCounter::drops_no_service);
    case Step::join_recovery: {
      std::uint64_t held = 0;
      for (const auto c : {NodeCounter::packets_held, NodeCounter::drops_session_limit, NodeCounter::drops_held_limit}) {
        held += now[c] - (*counters_)[c];
      }
      if (held != 1) wrong("it was not held");
      return;
    }
    case Step::send_behind:
      return expect_count(now, NodeCounter::packets_sent);
    case Step::refuse:
      return expect_count(now, NodeCounter::drops_refused);
    case Step::no_server:
      return expect_count(now, NodeCounter::drops_no_backend);
    case Step::no_local_address:
      return expect_count(now, NodeCounter::drops_no_local_address);
    case Step::too_many:
      return expect_count(now, NodeCounter::drops_recoveries_limit);
    case Step::create:
    case Step::again:
      begun_[told_->packet] = {*told_, std::nullopt};
      return;
    case Step::known:
      return wrong("it came to the engine");
    case Step::join_install:
    case Step::ask_former_owner:
    case Step::ask_candidates:
    case Step::ask_sender:
    case Step::ask_client:
      return;
    case Step::exhausted:
      return expect_count(now, NodeCounter::drops_exhausted);
    case Step::no_mapping:
      return expect_count(now, NodeCounter::drops_no_range);
    case Step::reset:
    case Step::drop_midstream:
      return expect_count(now, NodeCounter::drops_no_session);
    case Step::outside_syn:
      return expect_count(now, NodeCounter::drops_outside_syn);
    case Step::no_holder:
      return expect_count(now, NodeCounter::drops_no_holder);
    case Step::over_rate:
      return expect_count(now, NodeCounter::drops_outside_rate);
  }
}

void Foretold::on_created(const Tuple& client_side, const TuplePair& session) {
  const auto it = begun_.find(client_side);
  if (it != begun_.end()) it->second.session = session;
}

void Foretold::after_flush(const engine::NodeEngine& engine) {
  const bool any_conflict = engine.counters()[NodeCounter::conflicts_local] != conflicts_;
  for (auto& [tuple, begun] : begun_) {
    told_ = begun.told;
    if (begun.told.step == Step::again) {
      if (begun.session && *begun.session != begun.told.entry->tuples) wrong("another session began");
      continue;
    }
    if (!begun.session) continue;  // no room in the table, or taken
    const auto could_be = [&](const Explanation::Candidate& c) {
      const bool drawn = begun.told.by_chance && c.state == engine::ServerState::usable;
      return (c.is_chosen || drawn) && c.address == begun.session->server_side.dst;
    };
    const auto& choices = begun.told.choices;
    if (any_conflict) continue;              // another port, or another server
    const bool is_psv = !begun.told.client;  // who is asked for a gateway's session is no choice
    if (is_psv && std::none_of(choices.begin(), choices.end(), could_be)) wrong("it began at another server");
    if (begun.told.mapping != begun.session->server_side.src) wrong("it began with another mapping");
  }
  begun_.clear();
}

}  // namespace asrp::sim
