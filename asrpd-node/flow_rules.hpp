// SPDX-License-Identifier: GPL-2.0-or-later
// Which of the kernel's entries must not stay, as questions to a list of services.
#pragma once

#include <span>

#include "asrp/engine/flow_table.hpp"
#include "asrp/engine/node_options.hpp"

namespace asrp::node {

/// The service that a packet with this client-side tuple belongs to; none if there is none.
const engine::Service* service_at(std::span<const engine::Service> services, const Tuple& client_side);
/// Whether an entry of a packet with this tuple has to translate something: it goes to a service, or is a client's in ACT mode.
bool wants_translation(const engine::NodeOptions& options, const Tuple& client_side);
/// Whether the service has this server, not disabled. `service` may be none.
bool has_usable(const engine::Service* service, const Endpoint& server);
/// Whether a change from `before` to `after` can leave UDP entries without their server at all.
bool leaves_orphans(std::span<const engine::Service> before, std::span<const engine::Service> after);
/// Whether the entry is one: a UDP entry of a service in `before` whose server is no longer one of the service's, or disabled.
/// A talkative client would keep such an entry, and talk to nobody, for ever. TCP sessions end by themselves.
bool is_orphan(std::span<const engine::Service> before, std::span<const engine::Service> after, const engine::FlowEntry& entry);

}  // namespace asrp::node
