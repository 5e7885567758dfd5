// SPDX-License-Identifier: GPL-2.0-or-later
// `explain`: what the node would do with a packet, candidate by candidate, with reasons.
#include "asrpd-node/commands/commands.hpp"
#include "asrpd-node/commands/explanation_json.hpp"
#include "runtime/clock.hpp"

namespace asrp::node {
namespace {

using engine::Explanation;
using engine::Step;

/// In flight at this engine: of several workers the one that has the packet's session in its hands.
bool is_in_flight(const Explanation& e) {
  return e.step == Step::join_install || e.step == Step::join_recovery || e.step == Step::send_behind;
}

void explain(NodeAccess& node, const runtime::ControlRequest& request, const runtime::ControlAnswer& answer) {
  const std::string protocol = *request.text("protocol");
  if (protocol != "tcp" && protocol != "udp") return answer.refuse("protocol is tcp or udp");
  const auto source = Endpoint::parse(*request.text("source"));
  const auto destination = Endpoint::parse(*request.text("destination"));
  if (!source || !destination) return answer.refuse("source and destination are ADDRESS:PORT, [ADDRESS]:PORT for IPv6");
  if (source->address.family() != destination->address.family())
    return answer.refuse("source and destination are of different families");
  const Tuple packet{*source, *destination, protocol == "tcp" ? Protocol::tcp : Protocol::udp};
  const bool first = request.flag("first");
  std::optional<Explanation> told;
  unsigned workers = 0;
  node.for_each_worker([&](Worker& worker) {
    ++workers;
    Explanation each = worker.engine().explain(runtime::monotonic_now(), packet, first);
    if (!told || (is_in_flight(each) && !is_in_flight(*told))) told = std::move(each);
  });
  answer.give(explanation_members(*told) + ",\"workers\":" + std::to_string(workers));
}

}  // namespace

runtime::ControlCommand explain_command(NodeAccess& node) {
  using Kind = runtime::ControlArgument::Kind;
  return {"explain",
          {{"protocol", Kind::text, true},
           {"source", Kind::text, true},
           {"destination", Kind::text, true},
           {"first", Kind::flag, false}},
          [&node](const runtime::ControlRequest& request, const runtime::ControlAnswer& answer) {
            explain(node, request, answer);
          }};
}

}  // namespace asrp::node
