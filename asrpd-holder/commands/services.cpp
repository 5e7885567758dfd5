// SPDX-License-Identifier: GPL-2.0-or-later
// `services`: what the holder is told of this host's services.
#include "asrpd-holder/commands/commands.hpp"

namespace asrp::holder {
namespace {

std::string service_object(const engine::LocalService& service) {
  return "{\"protocol\":\"" + to_string(service.protocol) + "\",\"port\":" + std::to_string(service.port) + ",\"push\":\"" +
         std::string(name_of(service.push)) + "\"}";
}

}  // namespace

runtime::ControlCommand services_command(HolderAccess& holder) {
  return {"services", {}, [&holder](const runtime::ControlRequest&, const runtime::ControlAnswer& answer) {
            std::string list;
            for (const engine::LocalService& service : holder.config().options.services)
              list += (list.empty() ? "" : ",") + service_object(service);
            answer.give("\"services\":[" + list + "]");
          }};
}

}  // namespace asrp::holder
