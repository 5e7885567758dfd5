// SPDX-License-Identifier: BSD-3-Clause
#include "report/stats.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "report/follow_text.hpp"
#include "report/format.hpp"

namespace asrp::dump {
namespace {

using wire::MsgType;

std::string_view carriage_name(std::size_t carriage) { return packet::to_string(static_cast<packet::Carriage>(carriage)); }

template <typename Row>
std::uint64_t sum(const Row& row) {
  return std::accumulate(row.begin(), row.end(), std::uint64_t{0});
}

std::string bar(std::uint64_t value, std::uint64_t most) {
  constexpr std::uint64_t kWidth = 40;
  return std::string(most == 0 ? 0 : (value * kWidth + most - 1) / most, '#');
}

std::string figures(const Histogram& histogram) {
  std::string text = "p50 " + milliseconds(histogram.percentile(0.5)) + " ms, p90 " + milliseconds(histogram.percentile(0.9));
  text += " ms, p99 " + milliseconds(histogram.percentile(0.99)) + " ms, max " + milliseconds(histogram.max()) + " ms";
  return text;
}

void append_figures(std::string& out, std::string_view name, const Histogram& histogram) {
  out += ",\"" + std::string(name) + "\":{\"count\":" + std::to_string(histogram.count());
  out += ",\"p50\":" + milliseconds(histogram.percentile(0.5)) + ",\"p90\":" + milliseconds(histogram.percentile(0.9));
  out += ",\"p99\":" + milliseconds(histogram.percentile(0.99)) + ",\"max\":" + milliseconds(histogram.max()) + "}";
}

template <typename Rows, typename Name>
void append_table(std::string& out, const Rows& rows, std::size_t first, Name name) {
  bool comma = false;
  out += "{";
  for (std::size_t i = first; i < rows.size(); ++i) {
    if (sum(rows[i]) == 0) continue;
    out += (comma ? ",\"" : "\"") + std::string(name(i)) + "\":{";
    comma = true;
    bool inner = false;
    for (std::size_t c = 0; c < rows[i].size(); ++c) {
      if (rows[i][c] == 0) continue;
      out += (inner ? ",\"" : "\"") + std::string(carriage_name(c)) + "\":" + std::to_string(rows[i][c]);
      inner = true;
    }
    out += "}";
  }
  out += "}";
}

std::string_view type_name(std::size_t type) { return wire::to_string(static_cast<MsgType>(type)); }
std::string_view reason_name(std::size_t reason) { return to_string(static_cast<Reason>(reason)); }

}  // namespace

StatsReport::StatsReport(const StatsOptions& options, Sink out, Sink notes)
    : options_(options), out_(std::move(out)), notes_(std::move(notes)), follower_(options.follow, *this) {}

void StatsReport::on_packet(const Packet& packet) {
  if (packets_ == 0) begin_ = packet.stamp.total_nanoseconds();
  if (!packet.again) ++packets_;
  const Sighting& sighting = packet.sighting;
  const auto carriage = static_cast<std::size_t>(sighting.carriage);
  if (sighting.claim == Claim::message && last_with_message_ != packet.number) {
    last_with_message_ = packet.number;
    ++with_message_;
  }
  if (sighting.claim == Claim::invalid) ++invalid_[static_cast<std::size_t>(sighting.reason)][carriage];
  if (sighting.claim == Claim::cut) ++cut_;
  if (sighting.claim == Claim::not_asrp) ++not_asrp_;
  follower_.on_packet(packet);
}

void StatsReport::on_heard(const Heard& heard) {
  if (heard.came) held_.add(heard.seen.at.time - heard.came->at.time);
  if (heard.message == nullptr || heard.copy || heard.passed || heard.late) return;
  const auto type = static_cast<std::size_t>(heard.message->type);
  ++sent_[type][static_cast<std::size_t>(heard.carriage)];
  rates_.add(heard.seen.at.time, type);
  if (heard.is(MsgType::NS) && heard.session != nullptr && heard.session->count(MsgType::NS) > 1) ++ns_again_;
  if (heard.is(MsgType::QS) && heard.again) ++qs_again_;
}

void StatsReport::on_gone(Session& session) {
  ++sessions_;
  restored_rs_ += session.restored_by_rs;
  restored_ps_ += session.restored_by_ps;
  for (const Asked& asked : session.asked) {
    if (!asked.answer) {
      ++unanswered_;
      continue;
    }
    ++(*asked.answer == MsgType::RS ? rs_answers_ : rx_answers_);
    latency_.add(asked.latency());
  }
}

void StatsReport::on_probe_gone(const Asked& asked) {
  ++probes_;
  if (!asked.answer) ++probes_unanswered_;
}

void StatsReport::finish() {
  follower_.finish();
  if (options_.json) {
    json();
  } else {
    text();
  }
  follower_.tell_forgotten(notes_);
}

void StatsReport::text() {
  std::string out = counted(packets_, "packet") + " in " + milliseconds(follower_.now() - begin_) + " ms, " +
                    std::to_string(with_message_) + " with a message, " + counted(sessions_, "session") + "\n\nsent    ";
  for (std::size_t carriage = 0; carriage < kCarriages; ++carriage) out += padded(carriage_name(carriage), -13);
  out += padded("all", -10) + "\n";
  const auto table = [&](const auto& rows, std::size_t first, auto name) {
    for (std::size_t i = first; i < rows.size(); ++i) {
      if (sum(rows[i]) == 0) continue;
      out += padded(name(i), 8);
      for (const std::uint64_t count : rows[i]) out += padded(count == 0 ? "-" : std::to_string(count), -13);
      out += padded(std::to_string(sum(rows[i])), -10) + "\n";
    }
  };
  table(sent_, 0, type_name);
  std::uint64_t bad = 0;
  for (const Row& row : invalid_) bad += sum(row);
  if (bad != 0) {
    out += "\ninvalid, by reason\n";
    table(invalid_, 1, reason_name);
  }
  if (cut_ != 0) out += "\n" + std::to_string(cut_) + " messages are cut by the capture's snapshot length\n";
  if (not_asrp_ != 0) out += counted(not_asrp_, "datagram") + " to ASRP-PORT, but not ASRP\n";
  out_(out);
  text_queries();
}

void StatsReport::text_queries() {
  std::string out = "\nqueries: " + std::to_string(rs_answers_) + " answered by RS, " + std::to_string(rx_answers_) +
                    " by RX, " + std::to_string(unanswered_) + " not at all; " + std::to_string(qs_again_) + " QS and " +
                    std::to_string(ns_again_) + " NS were repetitions\n";
  if (probes_ != 0) {
    out += "probes of holders: " + std::to_string(probes_) + ", " + std::to_string(probes_unanswered_) + " not answered\n";
  }
  out += "sessions restored: " + std::to_string(restored_rs_) + " by RS, " + std::to_string(restored_ps_) + " by PS\n";
  if (latency_.count() != 0) {
    out += "QS to answer: " + figures(latency_) + "\n";
    // Bins of a power of two each, from a microsecond on; the first one has what is shorter, too.
    const auto in_bin = [&](int bit) {
      return latency_.between(bit == 10 ? 0 : std::int64_t{1} << bit, std::int64_t{2} << bit);
    };
    std::uint64_t most = 0;
    for (int bit = 10; bit < 40; ++bit) most = std::max(most, in_bin(bit));
    for (int bit = 10; bit < 40; ++bit) {
      const std::uint64_t count = in_bin(bit);
      if (count == 0) continue;
      out += "  < " + padded(milliseconds(std::int64_t{2} << bit), -8) + " ms " + padded(std::to_string(count), -9) + "  " +
             bar(count, most) + "\n";
    }
  }
  if (held_.count() != 0) {
    out += "packets at the node (seen on both of its sides: " + std::to_string(held_.count()) + "): " + figures(held_) + "\n";
  }
  if (!rates_.parts().empty()) {
    out += "\nmessages in each " + std::to_string(rates_.seconds()) + " s\n  from s";
    for (std::size_t type = 0; type < wire::kMsgTypeCount; ++type) out += padded(type_name(type), -8);
    out += "\n";
    for (std::size_t i = 0; i < rates_.parts().size(); ++i) {
      out += padded(std::to_string(static_cast<std::int64_t>(i) * rates_.seconds()), -8);
      for (const std::uint64_t count : rates_.parts()[i]) out += padded(count == 0 ? "-" : std::to_string(count), -8);
      out += "\n";
    }
  }
  out_(out);
}

void StatsReport::json() {
  std::string out = "{\"packets\":" + std::to_string(packets_) + ",\"duration_ms\":" + milliseconds(follower_.now() - begin_);
  out += ",\"with_message\":" + std::to_string(with_message_) + ",\"sessions\":" + std::to_string(sessions_) + ",\"messages\":";
  append_table(out, sent_, 0, type_name);
  out += ",\"invalid\":";
  append_table(out, invalid_, 1, reason_name);
  out += ",\"cut\":" + std::to_string(cut_) + ",\"not_asrp\":" + std::to_string(not_asrp_);
  out += ",\"queries\":{\"rs\":" + std::to_string(rs_answers_) + ",\"rx\":" + std::to_string(rx_answers_);
  out += ",\"unanswered\":" + std::to_string(unanswered_) + "},\"probes\":{\"sent\":" + std::to_string(probes_);
  out += ",\"unanswered\":" + std::to_string(probes_unanswered_) + "},\"repeated\":{\"ns\":" + std::to_string(ns_again_);
  out += ",\"qs\":" + std::to_string(qs_again_) + "},\"restored\":{\"rs\":" + std::to_string(restored_rs_);
  out += ",\"ps\":" + std::to_string(restored_ps_) + "}";
  append_figures(out, "latency_ms", latency_);
  append_figures(out, "held_ms", held_);
  out += ",\"rates\":{\"seconds\":" + std::to_string(rates_.seconds()) + ",\"parts\":[";
  for (std::size_t i = 0; i < rates_.parts().size(); ++i) {
    out += i == 0 ? "{" : ",{";
    bool comma = false;
    for (std::size_t type = 0; type < wire::kMsgTypeCount; ++type) {
      if (rates_.parts()[i][type] == 0) continue;
      out += (comma ? ",\"" : "\"") + std::string(type_name(type)) + "\":" + std::to_string(rates_.parts()[i][type]);
      comma = true;
    }
    out += "}";
  }
  out_(out + "]}}\n");
}

}  // namespace asrp::dump
