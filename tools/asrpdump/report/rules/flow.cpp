// SPDX-License-Identifier: BSD-3-Clause
// Rules about the packets of a flow, where the capture has them in front of the node and behind it.
#include "report/follow_text.hpp"
#include "report/rules/rule.hpp"

namespace asrp::dump {
namespace {

void sequence_space(const Case& c) {
  const Before& before = *c.heard.altered;
  const Seen& seen = c.heard.seen;
  const auto numbers = [](std::uint32_t seq, std::uint32_t ack) { return std::to_string(seq) + " and " + std::to_string(ack); };
  c.find(rule::kSequence, c.heard.certainly ? Certainty::certain : Certainty::possible, {before.at.number, seen.at.number},
         flow_text(seen.tuple) + " left the node with sequence and acknowledgment numbers " + numbers(seen.seq, seen.ack) +
             ", it had come with " + numbers(before.seq, before.ack));
}

void stream_kept(const Case& c) {
  const Before& before = *c.heard.altered;
  const bool left = c.heard.change == Change::left_over;
  c.find(rule::kStream, c.heard.certainly ? Certainty::certain : Certainty::possible, {before.at.number, c.at().number},
         flow_text(c.heard.seen.tuple) + (left ? " left the node without the ASRP option, but with the message in its data"
                                               : " left the node with other data than it had come with"));
}

}  // namespace

void check_flow(const Case& c) {
  if (c.heard.change == Change::numbers) sequence_space(c);
  if (c.heard.change == Change::data || c.heard.change == Change::left_over) stream_kept(c);
  if (c.heard.is_flow() && c.heard.side != Side::none) {
    c.history.flow_seen[(c.heard.side == Side::client ? 0u : 2u) + (c.heard.to_server ? 0u : 1u)] = c.at().time;
  }
}

}  // namespace asrp::dump
