// SPDX-License-Identifier: BSD-3-Clause
#include "report/rules/rule.hpp"

#include <algorithm>
#include <utility>

#include "report/follow_text.hpp"

namespace asrp::dump {

const std::array<const Rule*, 38> kRules = {
    &rule::kValid,
    &rule::kReserved,
    &rule::kCarriage,
    &rule::kPort,
    &rule::kConflictFlags,
    &rule::kChecksum,
    &rule::kMtu,
    &rule::kNsCarrier,
    &rule::kPsCarrier,
    &rule::kBackupTuples,
    &rule::kMode,
    &rule::kAckCookie,
    &rule::kAckDestination,
    &rule::kConflictDestination,
    &rule::kAckTuples,
    &rule::kAckUnasked,
    &rule::kAckMissing,
    &rule::kNsAfterNa,
    &rule::kNsNotRepeated,
    &rule::kSessionData,
    &rule::kQueryPort,
    &rule::kQueryRandom,
    &rule::kQueryTuple,
    &rule::kAnswerHeader,
    &rule::kAnswerCookie,
    &rule::kAnswerTuple,
    &rule::kAnswerUnasked,
    &rule::kAnswerMissing,
    &rule::kAnswerWrong,
    &rule::kPushCookie,
    &rule::kPushOrder,
    &rule::kHelloCookie,
    &rule::kHelloDestination,
    &rule::kHelloMissing,
    &rule::kHelloOrder,
    &rule::kNotRemoved,
    &rule::kSequence,
    &rule::kStream,
};

void Case::find(const Rule& rule, Certainty certainty, std::initializer_list<std::uint64_t> packets, std::string text) const {
  Finding finding{&rule, certainty, packets, std::move(text), heard.seen.at.time};
  std::sort(finding.packets.begin(), finding.packets.end());
  finding.packets.erase(std::unique(finding.packets.begin(), finding.packets.end()), finding.packets.end());
  sink(std::move(finding));
}

std::string name_of(const wire::Message& message) {
  std::string name = std::string(wire::to_string(message.type)) + " " + hex8(message.cookie.value);
  if (message.type != wire::MsgType::HS) name += " for " + message.st1.to_string();
  return name;
}

SentNs* ns_with(History& history, Cookie cookie) {
  const auto found =
      std::find_if(history.ns.rbegin(), history.ns.rend(), [&](const SentNs& ns) { return ns.cookie == cookie; });
  return found == history.ns.rend() ? nullptr : &*found;
}

bool goes_to_client(const Case& c) {
  const Tuple& carrier = c.heard.seen.tuple;
  return c.heard.carriage == packet::Carriage::standalone ? carrier.dst.address == c.message().st1.src.address
                                                          : carrier == c.message().st1.reversed();
}

bool has_hello(const History& history, Cookie cookie) {
  return std::find(history.hellos.begin(), history.hellos.end(), cookie) != history.hellos.end();
}

bool has_one_trigger(const Case& c) { return c.heard.session != nullptr && c.heard.session->triggers.is_one(); }

bool has_one_syn(const Case& c) { return has_one_trigger(c) && c.history.syn != 0 && c.at().time - c.history.syn < kSoonest; }

bool answers_only_ns(const Case& c) {
  const History& history = c.history;
  constexpr std::uint8_t kSynAck = packet::kTcpSyn | packet::kTcpAck;
  if (!c.heard.is(wire::MsgType::PS) || history.ns_in_all != 1 || history.ns.empty()) return false;
  const SentNs& ns = history.ns.back();
  return ns.in_syn && !ns.refused && (c.heard.seen.tcp_flags & kSynAck) == kSynAck && has_one_syn(c);
}

SentNs* only_fresh(History& history, std::int64_t now) {
  SentNs* only = nullptr;
  for (SentNs& ns : history.ns) {
    if (ns.answered || now - ns.at.time > kFresh) continue;
    if (only != nullptr) return nullptr;
    only = &ns;
  }
  return only;
}

}  // namespace asrp::dump
