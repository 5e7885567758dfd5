// SPDX-License-Identifier: GPL-2.0-or-later
// `ready`: whether the node asks for flows: what a routing daemon follows. A node that isn't ready serves what comes all the
// same.
#include "asrpd-node/commands/commands.hpp"
#include "runtime/log.hpp"

namespace asrp::node {

std::vector<std::string> reasons_against(const NodeAccess& node) {
  std::vector<std::string> out;
  if (node.servers().drains().node) out.emplace_back("the node is drained");
  return out;
}

runtime::ControlCommand ready_command(NodeAccess& node) {
  return {"ready", {}, [&node](const runtime::ControlRequest&, const runtime::ControlAnswer& answer) {
            std::string list;
            for (const std::string& reason : reasons_against(node))
              list += (list.empty() ? "" : ",") + runtime::json_quoted(reason);
            answer.give(std::string("\"ready\":") + (list.empty() ? "true" : "false") + ",\"reasons\":[" + list + "]");
          }};
}

}  // namespace asrp::node
