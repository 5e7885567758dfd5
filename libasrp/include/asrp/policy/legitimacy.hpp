// SPDX-License-Identifier: BSD-3-Clause
// Session-legitimacy validation (draft section 5): may a session that a message brings exist in this cluster at all?
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "asrp/base/tuple.hpp"
#include "asrp/policy/nat_port.hpp"

namespace asrp::policy {

/// What is allowed for one service.
struct ServiceRule {
  Endpoint address;
  Protocol protocol = Protocol::tcp;
  bool full_nat = false;
  NatRange range;                  // full_nat only
  std::vector<Endpoint> backends;  // configured and not disabled, in order
};

enum class Legitimacy : std::uint8_t {
  legitimate,
  service,  // ST1 is not addressed to the service, or of another protocol
  family,   // the two tuples are of different families: nothing here translates that
  backend,  // ST2 is not addressed to one of its backends
  client,   // nat: ST2's source is not the client
  range,    // full NAT: ST2's source is not an address and port of ours
};
std::string_view to_string(Legitimacy legitimacy);

Legitimacy check_legitimacy(const ServiceRule& rule, const TuplePair& session);

}  // namespace asrp::policy
