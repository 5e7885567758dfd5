// SPDX-License-Identifier: BSD-3-Clause
#include "report/ladder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace asrp::dump {
namespace {

using wire::MsgType;

/// Nodes that are known to have had the session: those that created it, and those that got to know it from a holder.
std::size_t nodes_of(const Session& session, const Ladder& ladder) {
  std::vector<IpAddress> nodes;
  const auto add = [&](const std::optional<IpAddress>& node) {
    if (node && std::find(nodes.begin(), nodes.end(), *node) == nodes.end()) nodes.push_back(*node);
  };
  for (const LadderEvent& event : ladder.events) {
    if (event.type == MsgType::NS) add(event.node);
  }
  for (const Restored& restored : session.restored) add(restored.node);
  return nodes.size();
}

// That a session moved to a node that hadn't heard of it tells most, then a recovery or a conflict, then a creation; what is
// longer than a page tells no more.
unsigned score_of(const Session& session, const Ladder& ladder) {
  constexpr std::size_t kMoves = 3;  // more show nothing new
  unsigned score = 0;
  if (const std::size_t nodes = nodes_of(session, ladder); nodes > 1) {
    score += 150 * static_cast<unsigned>(std::min(nodes - 1, kMoves));
  }
  const auto has = [&](MsgType type) { return session.count(type) != 0; };
  if (has(MsgType::RS)) score += 40;
  if (has(MsgType::NC)) score += 40;
  if (has(MsgType::PS)) score += 20;
  if (has(MsgType::NS)) score += 20;
  if (has(MsgType::NA)) score += 10;
  if (has(MsgType::HS)) score += 10;
  if (has(MsgType::RX)) score += 5;
  if (session.longest_held != 0) score += 5;
  if (ladder.left_out != 0) score -= std::min(score, 3u);
  return score;
}

}  // namespace

LadderReport::LadderReport(const LadderOptions& options, Sink out, Sink notes)
    : options_(options), out_(std::move(out)), notes_(std::move(notes)), follower_(options.follow, *this) {
  options_.limit = std::max(options_.limit, 1u);
}

void LadderReport::on_packet(const Packet& packet) { follower_.on_packet(packet); }

void LadderReport::on_heard(const Heard& heard) {
  if (heard.session == nullptr || heard.copy) return;
  if (heard.message == nullptr && heard.side == Side::none) return;
  if (!heard.session->attachment) heard.session->attachment = std::make_unique<Ladder>();
  auto& ladder = static_cast<Ladder&>(*heard.session->attachment);
  if (ladder.events.size() >= options_.most_rows) {
    ++ladder.left_out;
  } else {
    ladder.events.push_back(event_of(heard));
  }
}

// Of the sessions that tell most those that came first; the others are forgotten at once.
void LadderReport::on_gone(Session& session) {
  if (!session.attachment || (options_.only && !session.has_end(*options_.only))) return;
  ++sessions_;
  auto ladder = std::unique_ptr<Ladder>(static_cast<Ladder*>(session.attachment.release()));
  ladder->score = score_of(session, *ladder);
  ladder->id = session.id;
  const auto tells_more = [](const auto& a, const auto& b) {
    return a->score != b->score ? a->score > b->score : a->id < b->id;
  };
  if (chosen_.size() >= options_.limit) {
    const auto least = std::max_element(chosen_.begin(), chosen_.end(), tells_more);
    if (!tells_more(ladder, *least)) return;
    chosen_.erase(least);
  }
  ladder->arrange(session, follower_.places());
  ladder->events = {};
  chosen_.push_back(std::move(ladder));
}

void LadderReport::finish() {
  follower_.finish();
  std::sort(chosen_.begin(), chosen_.end(), [](const auto& a, const auto& b) { return a->id < b->id; });
  if (options_.svg) {
    std::vector<const Ladder*> all;
    for (const auto& ladder : chosen_) all.push_back(ladder.get());
    write(draw_svg(all, options_.title));
  } else {
    for (const auto& ladder : chosen_) out_(draw_text(*ladder, options_.width, options_.color));
  }
  if (chosen_.empty()) notes_("asrpdump: no session to draw\n");
  if (sessions_ > chosen_.size()) {
    notes_("asrpdump: " + std::to_string(chosen_.size()) + " of " + std::to_string(sessions_) +
           " sessions drawn; --ladder-limit sets how many\n");
  }
  follower_.tell_forgotten(notes_);
}

void LadderReport::write(const std::string& text) {
  if (options_.file.empty()) return out_(text);
  const auto fail = [&] { error_ = options_.file + ": " + std::strerror(errno); };
  std::FILE* file = std::fopen(options_.file.c_str(), "w");
  if (file == nullptr) return fail();
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (!written) fail();
  if (std::fclose(file) != 0 && written) fail();
}

}  // namespace asrp::dump
