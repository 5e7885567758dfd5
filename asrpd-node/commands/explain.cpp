// SPDX-License-Identifier: GPL-2.0-or-later
// `explain`: what the node would do with a packet, candidate by candidate, with reasons.
#include "asrpd-node/commands/commands.hpp"
#include "asrpd-node/commands/explanation_json.hpp"
#include "runtime/clock.hpp"

namespace asrp::node {
namespace {

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
  std::vector<engine::Explanation> told;
  node.for_each_worker(
      [&](Worker& worker) { told.push_back(worker.engine().explain(runtime::monotonic_now(), packet, first)); });
  answer.give(joint_explanation_members(told));
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
