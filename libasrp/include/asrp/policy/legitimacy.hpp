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
  service,      // ST1 is not addressed to the service, or of another protocol
  family,       // the two tuples are of different families, or protocols: nothing here translates that
  backend,      // ST2 is not addressed to one of its backends
  client,       // nat: ST2's source is not the client. ACT: ST1's source is none of our clients
  range,        // full NAT: ST2's source is not an address and port of ours. ACT: it is not in the client's range
  destination,  // ACT: ST2 goes elsewhere than ST1, and not to the client whose endpoint that is
};
std::string_view to_string(Legitimacy legitimacy);

Legitimacy check_legitimacy(const ServiceRule& rule, const TuplePair& session);

}  // namespace asrp::policy
