// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/act_rule.hpp"

#include <algorithm>

namespace asrp::policy {

// spec: 5-1
Legitimacy check_legitimacy(const PortRanges& ranges, std::span<const PortRanges> past, const TuplePair& session) {
  const Tuple& client = session.client_side;
  const Tuple& server = session.server_side;
  const auto may_have = [&](const Endpoint& inside, const Endpoint& outside) {
    return ranges.in_range(inside, outside) ||
           std::any_of(past.begin(), past.end(), [&](const PortRanges& r) { return r.in_range(inside, outside); });
  };
  const auto family = client.family();
  if (client.protocol != server.protocol || client.dst.address.family() != family || server.family() != family ||
      server.dst.address.family() != family) {
    return Legitimacy::family;
  }
  if (!may_have(client.src, server.src)) return ranges.range_of(client.src.address) ? Legitimacy::range : Legitimacy::client;
  // What goes to a client's outside endpoint untranslated would come back to us.
  const bool same = client.dst == server.dst && !ranges.client_of(client.dst);
  return same || may_have(server.dst, client.dst) ? Legitimacy::legitimate : Legitimacy::destination;
}

}  // namespace asrp::policy
