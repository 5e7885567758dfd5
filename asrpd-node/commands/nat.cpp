// SPDX-License-Identifier: GPL-2.0-or-later
// `nat_lookup` and `nat_ranges`: whose an outside address and port are, and what each client has.
#include "asrpd-node/commands/commands.hpp"
#include "asrpd-node/nat_lookup.hpp"
#include "runtime/line_thread.hpp"

namespace asrp::node {
namespace {

using runtime::ControlAnswer;
using runtime::ControlRequest;
using Kind = runtime::ControlArgument::Kind;

/// Refuses where the node is none.
bool is_nat(const NodeAccess& node, const ControlAnswer& answer) {
  if (node.config().nat) return true;
  answer.refuse("this node is a load balancer (PSV mode): it has no networks of clients");
  return false;
}

void answer_lookup(const NodeAccess& node, const ControlRequest& request, const ControlAnswer& answer) {
  if (!is_nat(node, answer)) return;
  const auto address = IpAddress::parse(request.text("address").value_or(""));
  const std::uint64_t port = request.number("port").value_or(0);
  if (!address) return answer.refuse("address is an IPv4 or IPv6 address", "\"kind\":\"argument\"");
  if (port == 0 || port > 65535) return answer.refuse("port is a number from 1 to 65535", "\"kind\":\"argument\"");
  answer.give(lookup_members(*node.config().nat, {*address, static_cast<std::uint16_t>(port)}));
}

}  // namespace

runtime::ControlCommand nat_lookup_command(NodeAccess& node) {
  return {"nat_lookup",
          {{"address", Kind::text, true}, {"port", Kind::number, true}},
          [&node](const ControlRequest& request, const ControlAnswer& answer) { answer_lookup(node, request, answer); }};
}

runtime::ControlCommand nat_ranges_command(NodeAccess& node) {
  return {"nat_ranges", {}, [&node](const ControlRequest&, const ControlAnswer& answer) {
            if (!is_nat(node, answer)) return;
            auto make = [nat = *node.config().nat](runtime::LineSink& sink) {
              put_ranges(nat, [&sink](std::string_view line) { return sink.put(line); });
            };
            answer.stream("", runtime::lines_of_thread(node.event_loop(), std::move(make), [] {}));
          }};
}

}  // namespace asrp::node
