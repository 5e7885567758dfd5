// SPDX-License-Identifier: BSD-3-Clause
// Rules about QS and what answers it: RS and RX.
#include <algorithm>
#include <cstdlib>

#include "report/follow_text.hpp"
#include "report/rules/rule.hpp"

namespace asrp::dump {
namespace {

using packet::Carriage;
using wire::MsgType;

constexpr int kSmallStep = 64;

// The same header for all servers of one recovery, and for its repetitions. Ports that follow each other closely in one
// direction, or in equal steps, are a counter's.
void random_port(const Case& c) {
  const Endpoint& node = c.heard.seen.tuple.src;
  auto& ports = c.memory.ports;
  const std::string name = node.address.to_string();
  if (ports.size() >= Memory::kMostNodes && !ports.contains(name)) ports.clear();
  Memory::Ports& known = ports[name];
  if (c.heard.probe && c.message().cookie.value == 0) return;  // a repetition or another one: nothing tells
  const std::uint64_t asked = c.heard.probe ? c.message().cookie.value : flow_hash(c.message().st1);
  const auto end = known.asked.begin() + static_cast<std::ptrdiff_t>(known.in_row);
  if (known.told || std::find(known.asked.begin(), end, asked) != end) return;
  const auto step = static_cast<std::int16_t>(node.port - known.last);
  const auto sign = [](int value) { return value < 0 ? -1 : value > 0 ? 1 : 0; };
  const bool small = std::abs(int{step}) <= kSmallStep && (known.in_row == 1 || sign(step) == sign(known.step));
  if (!small && step != known.step) known.in_row = 0;
  known.asked[known.in_row++] = asked;
  known.last = node.port;
  known.step = step;
  if (known.in_row < Memory::Ports::kNotByChance) return;
  known.told = true;
  c.find(rule::kQueryRandom, Certainty::certain, {c.at().number},
         name + (step == 0 ? " sends all its QS from port " : " counts the ports of its QS, now ") + std::to_string(node.port) +
             "; they are to be random");
}

// The triggering packet's tuple, as it was sent: only the other direction was seen.
void triggering_tuple(const Case& c) {
  const Session* session = c.heard.session;
  if (session == nullptr || !session->paired || c.heard.again) return;
  const Tuple& asked = c.message().st1;
  const auto& seen = c.history.flow_seen;  // client's side to the server, to the client; server's side likewise
  const auto fresh = [&](std::size_t i) { return seen[i] != 0 && c.at().time - seen[i] < kFresh; };
  const TuplePair& pair = session->tuples;
  if (pair.client_side == pair.server_side) return;
  const std::size_t side = same_flow(asked, pair.client_side) ? 0 : 2;
  const bool forward = asked == (side == 0 ? pair.client_side : pair.server_side);
  if (fresh(side + (forward ? 0 : 1)) || !fresh(side + (forward ? 1 : 0))) return;
  c.find(rule::kQueryTuple, Certainty::possible, {c.at().number},
         name_of(c.message()) + " asks for the other direction than the packets have that were seen");
}

void header(const Case& c) {
  const Asked& asked = *c.heard.asked;
  const Tuple& have = c.heard.seen.tuple;
  if (c.heard.carriage != Carriage::standalone) return;  // another rule's
  const Tuple want = answer_header({asked.node, asked.holder, have.protocol});
  const bool ports = have.src.address == want.src.address && have.dst.address == want.dst.address;
  const bool swapped = ports && have.src.port == want.dst.port && have.dst.port == want.src.port;
  // Section 4.3.7 speaks of RS. Other ports or addresses may be those of a query that the capture missed.
  const bool certain = swapped && c.heard.is(MsgType::RS);
  c.find(rule::kAnswerHeader, certain ? Certainty::certain : Certainty::possible, {asked.last.number, c.at().number},
         name_of(c.message()) + " comes as " + flow_text(have) + " instead of " + flow_text(want) +
             (swapped ? ": only the addresses are swapped, not the ports" : ""));
}

void cookie(const Case& c) {
  const Asked& asked = *c.heard.asked;
  // A repetition with a cookie of its own may be missing.
  c.find(rule::kAnswerCookie, Certainty::possible, {asked.last.number, c.at().number},
         name_of(c.message()) + " answers QS " + hex8(asked.cookie.value) + " with another cookie");
}

void tuple(const Case& c) {
  const Asked& asked = *c.heard.asked;
  const wire::Message& message = c.message();
  if (message.type == MsgType::RX) {
    if (message.st1 == asked.tuple) return;
  } else if (same_flow(message.st1, asked.tuple) || same_flow(message.st2, asked.tuple)) {
    return;
  }
  c.find(rule::kAnswerTuple, message.cookie.value != 0 ? Certainty::certain : Certainty::possible,
         {asked.last.number, c.at().number},
         name_of(message) + (message.type == MsgType::RX ? "" : " and st2 " + flow_text(message.st2)) + " answers a QS for " +
             flow_text(asked.tuple));
}

void answer(const Case& c) {
  const MsgType type = c.message().type;
  switch (c.heard.fit) {
    case Fit::none:
      c.find(rule::kAnswerUnasked, Certainty::possible, {c.at().number},
             name_of(c.message()) + " answers a QS that is not in the capture");
      return;
    case Fit::header:
      cookie(c);
      break;
    case Fit::cookie:
      header(c);
      break;
    case Fit::whole:
      tuple(c);
      break;
  }
  const Asked& asked = *c.heard.asked;
  if (type == MsgType::RX && data_digest(c.message()) != asked.session_data) {
    c.find(rule::kSessionData, Certainty::possible, {asked.last.number, c.at().number},
           name_of(c.message()) + " has other Session-Data than its QS");
  }
}

// A holder that had the backup a moment ago says that it has none, and nothing ended the session.
void denies(const Case& c) {
  const Session* session = c.heard.session;
  if (session == nullptr || session->ended || session->fins != 0 || c.heard.asked == nullptr || c.heard.fit != Fit::whole)
    return;
  if (c.message().st1 != c.heard.asked->tuple) return;  // another rule's
  const IpAddress& holder = c.heard.asked->holder.address;
  const History& history = c.history;
  const bool restored = history.rs && history.rs_holder == holder;
  const bool stored = history.na && session->paired && session->tuples.server_side.dst.address == holder;
  const bool pushed = history.ps && history.ps_holder == holder;
  if (!restored && !stored && !pushed) return;
  const Moment& had = restored ? *history.rs : stored ? *history.na : *history.ps;
  c.find(rule::kAnswerWrong, Certainty::possible, {had.number, c.at().number},
         name_of(c.message()) + ": the holder " + holder.to_string() +
             (restored ? " gave"
              : stored ? " stored"
                       : " pushed") +
             " the backup before, and no end of the session was seen");
}

}  // namespace

void check_query(const Case& c) {
  if (c.heard.message == nullptr) return;
  switch (c.message().type) {
    case MsgType::QS:
      if (c.heard.carriage == Carriage::standalone) random_port(c);
      triggering_tuple(c);
      break;
    case MsgType::RS:
      answer(c);
      if (c.heard.fit == Fit::whole) {
        c.history.rs = c.at();
        c.history.rs_holder = c.heard.seen.tuple.src.address;
      }
      break;
    case MsgType::RX:
      answer(c);
      denies(c);
      break;
    default:
      break;
  }
}

void check_query_at_end(const Session& session, std::int64_t now, const FindingSink& sink) {
  Finding finding{&rule::kAnswerMissing, Certainty::possible, {}, {}, 0};
  std::vector<std::string> holders;
  for (const Asked& asked : session.asked) {
    if (asked.answer || now - asked.last.time < kFresh) continue;
    finding.packets.push_back(asked.first.number);
    finding.time = std::max(finding.time, asked.last.time);
    std::string holder = asked.holder.address.to_string();
    if (std::find(holders.begin(), holders.end(), holder) == holders.end()) holders.push_back(std::move(holder));
  }
  if (finding.packets.empty()) return;
  std::sort(finding.packets.begin(), finding.packets.end());
  finding.text = std::to_string(finding.packets.size()) + " QS for " + session.tuples.client_side.to_string() + " to ";
  for (const std::string& holder : holders) finding.text += (&holder == &holders.front() ? "" : ", ") + holder;
  finding.text += " not answered";
  sink(std::move(finding));
}

}  // namespace asrp::dump
