// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/legitimacy.hpp"

#include <algorithm>

namespace asrp::policy {

std::string_view to_string(Legitimacy legitimacy) {
  switch (legitimacy) {
    case Legitimacy::legitimate:
      return "legitimate";
    case Legitimacy::service:
      return "service";
    case Legitimacy::family:
      return "family";
    case Legitimacy::backend:
      return "backend";
    case Legitimacy::client:
      return "client";
    case Legitimacy::range:
      return "range";
    case Legitimacy::destination:
      return "destination";
  }
  return "?";
}

// spec: 5-1
Legitimacy check_legitimacy(const ServiceRule& rule, const TuplePair& session) {
  const Tuple& client = session.client_side;
  const Tuple& server = session.server_side;
  if (client.dst != rule.address || client.protocol != rule.protocol || server.protocol != rule.protocol) {
    return Legitimacy::service;
  }
  if (client.src.address.family() != client.family() || client.family() != server.family() ||
      server.dst.address.family() != server.family() || client.dst.address.family() != client.family()) {
    return Legitimacy::family;
  }
  if (!std::binary_search(rule.backends.begin(), rule.backends.end(), server.dst)) return Legitimacy::backend;
  if (!rule.full_nat && server.src != client.src) return Legitimacy::client;
  if (rule.full_nat && !rule.range.contains(server.src)) return Legitimacy::range;
  return Legitimacy::legitimate;
}

}  // namespace asrp::policy
