// SPDX-License-Identifier: BSD-3-Clause
#include "report/sessions.hpp"

#include <algorithm>
#include <utility>

#include "report/follow_text.hpp"
#include "report/json.hpp"

namespace asrp::dump {
namespace {

using wire::MsgType;

constexpr std::string_view kTitle =
    "created          proto  client side                                server side                                "
    " NS  NA  NC  HS  queries                     restored                        held ms  last seen\n";

// "3: RS 0.412 ms, 1 RX, 1 silent": the first RS counts, it is the one that ends the recovery.
std::string queries_of(const Session& session) {
  const std::uint64_t all = session.asked.size() + session.asked_before;
  if (all == 0) return "-";
  const Asked* found = nullptr;
  std::size_t without = 0;
  std::size_t silent = 0;
  for (const Asked& asked : session.asked) {
    if (!asked.answer) ++silent;
    if (asked.answer == MsgType::RX) ++without;
    if (asked.answer == MsgType::RS && found == nullptr) found = &asked;
  }
  std::string text = std::to_string(all) + ":";
  if (found != nullptr) text += " RS " + milliseconds(found->latency()) + " ms,";
  if (without != 0) text += " " + std::to_string(without) + " RX,";
  if (silent != 0) text += " " + std::to_string(silent) + " silent,";
  text.pop_back();
  return text;
}

// "RS at 10.2.3.2, PS", each way and node once.
std::string restored_of(const Session& session) {
  std::vector<std::string> ways;
  for (const Restored& restored : session.restored) {
    std::string way(wire::to_string(restored.by));
    if (restored.node) way += " at " + restored.node->to_string();
    if (std::find(ways.begin(), ways.end(), way) == ways.end()) ways.push_back(std::move(way));
  }
  std::string text;
  for (const std::string& way : ways) text += (text.empty() ? "" : ", ") + way;
  return text.empty() ? "-" : text;
}

void append_query(std::string& out, const Asked& asked, int decimals) {
  out += "{\"time\":";
  append_seconds(out, asked.first.time, decimals);
  out += ",\"node\":\"" + asked.node.address.to_string() + "\",\"holder\":\"" + asked.holder.address.to_string() +
         "\",\"tries\":" + std::to_string(asked.tries) + ",\"tuple\":";
  append_json(out, asked.tuple);
  if (asked.answer) {
    out += ",\"answer\":\"" + std::string(wire::to_string(*asked.answer)) + "\",\"latency_ms\":";
    out += milliseconds(asked.latency());
  }
  out += "}";
}

}  // namespace

SessionsReport::SessionsReport(const SessionsOptions& options, Sink out, Sink notes)
    : options_(options), out_(std::move(out)), notes_(std::move(notes)), follower_(options.follow, *this) {}

void SessionsReport::on_packet(const Packet& packet) {
  decimals_ = packet.stamp.decimals;
  follower_.on_packet(packet);
}

void SessionsReport::finish() {
  follower_.finish();
  if (options_.only && rows_ == 0) notes_("asrpdump: no session with " + options_.only->to_string() + "\n");
  follower_.tell_forgotten(notes_);
}

void SessionsReport::on_gone(Session& session) {
  if (options_.only && !session.has_end(*options_.only)) return;
  if (options_.json) {
    object(session);
  } else {
    if (rows_ == 0) text_ += kTitle;
    row(session);
  }
  ++rows_;
  out_(text_);
  text_.clear();
}

void SessionsReport::row(const Session& session) {
  append_clock(text_, session.created ? session.created->time : session.first.time);
  text_ += session.created ? "  " : "? ";  // `?`: no NS in the capture, this is when it was first seen
  text_ += padded(asrp::to_string(session.tuples.client_side.protocol), 7);
  // A blank behind each column, also where the text is longer: flows of IPv6.
  text_ += padded(flow_text(session.tuples.client_side), 42) + " ";
  text_ += padded(session.paired ? flow_text(session.tuples.server_side) : "?", 42) + " ";
  for (const MsgType type : {MsgType::NS, MsgType::NA, MsgType::NC, MsgType::HS}) {
    text_ += padded(std::to_string(session.count(type)), -3) + " ";
  }
  text_ += " " + padded(queries_of(session), 27) + " " + padded(restored_of(session), 31) + " ";
  text_ += padded(session.longest_held == 0 ? "-" : milliseconds(session.longest_held), -7) + "  ";
  append_clock(text_, session.last.time);
  text_ += session.ended ? " ended\n" : "\n";
}

void SessionsReport::object(const Session& session) {
  std::string& out = text_;
  out += "{\"protocol\":";
  append_json(out, session.tuples.client_side.protocol);
  out += session.paired ? ",\"st1\":" : ",\"tuple\":";
  append_json(out, session.tuples.client_side);
  if (session.paired) {
    out += ",\"st2\":";
    append_json(out, session.tuples.server_side);
  }
  const auto moment = [&](std::string_view key, const Moment& at) {
    out += ",\"" + std::string(key) + "\":";
    append_seconds(out, at.time, decimals_);
  };
  moment("first_seen", session.first);
  if (session.created) moment("created", *session.created);
  moment("last_seen", session.last);
  if (session.node) out += ",\"node\":\"" + session.node->to_string() + "\"";
  if (session.cookie) out += ",\"cookie\":\"" + hex8(session.cookie->value) + "\"";
  out += ",\"messages\":{";
  for (std::uint8_t type = 0; type < wire::kMsgTypeCount; ++type) {
    out += (type == 0 ? "\"" : ",\"") + std::string(wire::to_string(static_cast<MsgType>(type))) +
           "\":" + std::to_string(session.messages[type]);
  }
  out += "},\"packets\":" + std::to_string(session.packets) + ",\"held_ms_max\":" + milliseconds(session.longest_held);
  out += ",\"queries\":[";
  for (std::size_t i = 0; i < session.asked.size(); ++i) {
    if (i != 0) out += ",";
    append_query(out, session.asked[i], decimals_);
  }
  out += "],\"restored\":[";
  for (std::size_t i = 0; i < session.restored.size(); ++i) {
    out += (i == 0 ? "{\"by\":\"" : ",{\"by\":\"") + std::string(wire::to_string(session.restored[i].by)) + "\",\"time\":";
    append_seconds(out, session.restored[i].at.time, decimals_);
    if (session.restored[i].node) out += ",\"node\":\"" + session.restored[i].node->to_string() + "\"";
    out += "}";
  }
  out += std::string("],\"ended\":") + (session.ended ? "true" : "false") + "}\n";
}

}  // namespace asrp::dump
