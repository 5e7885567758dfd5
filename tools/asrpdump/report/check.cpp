// SPDX-License-Identifier: BSD-3-Clause
#include "report/check.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "report/follow_text.hpp"
#include "report/format.hpp"

namespace asrp::dump {

CheckReport::CheckReport(const CheckOptions& options, Sink out, Sink notes)
    : options_(options),
      out_(std::move(out)),
      notes_(std::move(notes)),
      sink_([this](const Finding& finding) { tell(finding); }),
      follower_(options.follow, *this) {
  memory_.port = options.port;
}

void CheckReport::on_packet(const Packet& packet) {
  if (!packet.again) ++packets_;
  decimals_ = packet.stamp.decimals;
  if (packet.sighting.claim == Claim::invalid && packet.view && !invalid_seen_.is_copy(look_at(packet))) {
    check_invalid(packet, memory_, sink_);
  }
  const std::optional<Packet> astray = find_astray(packet, memory_, follower_);
  const bool asks_nobody = astray && astray->sighting.message.type == wire::MsgType::QS;
  if (asks_nobody && !invalid_seen_.is_copy(look_at(packet))) check_astray_query(*astray, sink_);
  if (packet.view && packet.view->is_icmp()) learn_path(packet, memory_);
  follower_.on_packet(astray && !asks_nobody ? *astray : packet);
}

void CheckReport::on_heard(const Heard& heard) {
  History nobody;
  History* history = &nobody;
  if (heard.session != nullptr) {
    if (!heard.session->attachment) heard.session->attachment = std::make_unique<History>();
    history = static_cast<History*>(heard.session->attachment.get());
  }
  const Case c{heard, *history, memory_, sink_};
  learn_speakers(heard, memory_);
  if (heard.message != nullptr && heard.packet != nullptr) check_form(c, *heard.packet);
  check_tuples(c);
  if (heard.copy) return;
  if (heard.message != nullptr && !heard.late) ++messages_;
  check_query(c);
  check_ns(c);
  check_push(c);
  check_flow(c);
}

void CheckReport::on_gone(Session& session) {
  ++sessions_;
  if (!session.attachment) return;
  const auto& history = static_cast<const History&>(*session.attachment);
  check_ns_at_end(session, history, memory_, follower_.now(), sink_);
  check_query_at_end(session, follower_.now(), sink_);
  check_push_at_end(history, follower_.now(), sink_);
}

void CheckReport::tell(const Finding& finding) {
  ++(finding.certainty == Certainty::certain ? certain_ : possible_);
  const auto index = static_cast<std::size_t>(std::find(kRules.begin(), kRules.end(), finding.rule) - kRules.begin());
  if (told_[index]++ >= options_.most_per_rule) return;
  if (options_.json) {
    object(finding);
  } else {
    line(finding);
  }
  out_(text_);
  text_.clear();
}

void CheckReport::line(const Finding& finding) {
  append_clock(text_, finding.time);
  text_ += finding.certainty == Certainty::certain ? "  certain   " : "  possible  ";
  text_ +=
      padded(finding.rule->section, 8) + padded(finding.rule->id, 21) + (finding.packets.size() == 1 ? "packet " : "packets ");
  constexpr std::size_t kShown = 6;
  for (std::size_t i = 0; i < std::min(finding.packets.size(), kShown); ++i) {
    text_ += (i == 0 ? "" : ", ") + std::to_string(finding.packets[i]);
  }
  if (finding.packets.size() > kShown) text_ += ", ...";
  text_ += ": " + finding.text + "\n";
}

void CheckReport::object(const Finding& finding) {
  text_ += "{\"time\":";
  append_seconds(text_, finding.time, decimals_);
  text_ += ",\"rule\":\"" + std::string(finding.rule->id) + "\",\"section\":\"" + std::string(finding.rule->section);
  text_ += finding.certainty == Certainty::certain ? "\",\"certain\":true,\"packets\":[" : "\",\"certain\":false,\"packets\":[";
  for (std::size_t i = 0; i < finding.packets.size(); ++i) text_ += (i == 0 ? "" : ",") + std::to_string(finding.packets[i]);
  text_ += "],\"text\":";
  append_json(text_, std::string_view(finding.text));
  text_ += "}\n";
}

void CheckReport::finish() {
  follower_.finish();
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (told_[i] <= options_.most_per_rule) continue;
    notes_("asrpdump: " + std::to_string(told_[i] - options_.most_per_rule) + " more findings of rule " +
           std::string(kRules[i]->id) + "\n");
  }
  follower_.tell_forgotten(notes_);
  if (options_.json) return;
  const auto count = [](std::uint64_t n, std::string_view what) { return std::to_string(n) + " " + std::string(what); };
  out_(count(certain_, "certain and ") + count(possible_, "possible findings in ") + counted(packets_, "packet") + ", " +
       counted(messages_, "message") + ", " + counted(sessions_, "session") + "\n");
}

}  // namespace asrp::dump
