// SPDX-License-Identifier: BSD-3-Clause
// The sequence diagram for a terminal.
#include <algorithm>
#include <array>

#include "report/follow_text.hpp"
#include "report/ladder.hpp"

namespace asrp::dump {
namespace {

constexpr std::size_t kTimeWidth = 12;
constexpr std::size_t kDetailWidth = 44;
constexpr std::size_t kGoodLane = 15;
constexpr std::size_t kLeastLane = 9;
constexpr std::int64_t kGap = 200'000'000;  // nanoseconds without a packet that get a row of their own

constexpr std::string_view kPlain = "\033[0m";
constexpr std::string_view kDim = "\033[2m";
constexpr std::string_view kBold = "\033[1m";
constexpr std::array<std::string_view, wire::kMsgTypeCount> kColors = {"\033[32m", "\033[36m", "\033[33m",   "\033[1;32m",
                                                                       "\033[31m", "\033[35m", "\033[1;34m", "\033[1;31m"};

/// One row of characters, each of which is one cell wide.
class Cells {
 public:
  explicit Cells(std::size_t width) : cells_(width, " ") {}
  void put(std::size_t at, std::string_view cell) {
    if (at < cells_.size()) cells_[at] = cell;
  }
  void write(std::size_t at, std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) put(at + i, text.substr(i, 1));
  }
  [[nodiscard]] std::string part(std::size_t from, std::size_t to) const {
    std::string out;
    for (std::size_t i = from; i < std::min(to, cells_.size()); ++i) out += cells_[i];
    return out;
  }

 private:
  std::vector<std::string> cells_;
};

class Drawing {
 public:
  Drawing(const Ladder& ladder, int width, bool color) : ladder_(ladder), color_(color), held_(ladder.lanes.size()) {
    const std::size_t lanes = std::max<std::size_t>(ladder.lanes.size(), 2);
    const auto room = static_cast<std::size_t>(std::max(width, 40));
    // What doesn't fit loses its details first; then the lanes come closer.
    details_ = room >= kTimeWidth + kDetailWidth + lanes * kGoodLane;
    lane_ = std::max(kLeastLane, (room - kTimeWidth - (details_ ? kDetailWidth : 0)) / lanes);
    width_ = lane_ * lanes;
  }

  std::string draw() {
    heading();
    const std::int64_t begin = ladder_.rows.empty() ? 0 : ladder_.rows.front().at.time;
    std::int64_t last = begin;
    for (std::size_t i = 0; i < ladder_.rows.size(); ++i) {
      const LadderRow& row = ladder_.rows[i];
      mark_held(i);
      if (row.at.time - last > kGap) gap(row.at.time - last);
      last = row.at.time;
      arrow(row, row.at.time - begin);
    }
    if (ladder_.left_out != 0)
      out_ += std::string(kTimeWidth, ' ') + "... " + std::to_string(ladder_.left_out) + " more packets\n";
    return out_ + "\n";
  }

 private:
  [[nodiscard]] std::size_t column(std::size_t lane) const { return lane * lane_ + lane_ / 2; }
  [[nodiscard]] std::string paint(std::string_view style, const std::string& text) const {
    return color_ ? std::string(style) + text + std::string(kPlain) : text;
  }

  void heading() {
    out_ += paint(kBold, "session " + std::to_string(ladder_.id) + "  " + ladder_.name +
                             (ladder_.behind.empty() ? "" : "  as  " + ladder_.behind)) +
            "\n";
    for (const bool address : {false, true}) {
      Cells cells(width_);
      for (std::size_t i = 0; i < ladder_.lanes.size(); ++i) {
        std::string text = address ? ladder_.lanes[i].address : ladder_.lanes[i].role;
        if (text.size() + 1 > lane_) text = text.substr(0, lane_ - 2) + "~";
        cells.write(column(i) - text.size() / 2, text);
      }
      std::string line = padded(address ? "ms" : "", -static_cast<int>(kTimeWidth - 2)) + "  " + cells.part(0, width_);
      while (line.back() == ' ') line.pop_back();
      out_ += paint(kBold, line) + "\n";
    }
  }

  // A lane is drawn thick while the node has a packet that has not gone on.
  void mark_held(std::size_t index) {
    const std::uint64_t number = ladder_.rows[index].at.number;
    if (const auto& since = ladder_.rows[index].held_since) {
      std::erase(held_[ladder_.rows[index].from], since->number);
    }
    for (std::size_t j = index + 1; j < ladder_.rows.size(); ++j) {
      if (ladder_.rows[j].held_since && ladder_.rows[j].held_since->number == number)
        starting_.emplace_back(ladder_.rows[j].from, number);
    }
  }

  Cells lanes() const {
    Cells cells(width_);
    for (std::size_t i = 0; i < ladder_.lanes.size(); ++i) cells.put(column(i), held_[i].empty() ? "│" : "┃");
    return cells;
  }

  void gap(std::int64_t size) {
    Cells cells = lanes();
    const std::string text = " " + milliseconds(size) + " ms later ";
    cells.write(1, text);
    std::string line = std::string(kTimeWidth, ' ') + cells.part(0, width_);
    while (line.back() == ' ') line.pop_back();
    out_ += paint(kDim, line) + "\n";
  }

  void arrow(const LadderRow& row, std::int64_t time) {
    Cells cells = lanes();
    const std::size_t left = column(std::min(row.from, row.to));
    const std::size_t right = column(std::max(row.from, row.to));
    for (std::size_t i = left + 1; i < right; ++i) cells.put(i, "─");
    row.from < row.to ? cells.put(right - 1, "▶") : cells.put(left + 1, "◀");
    std::string label = " " + row.label + " ";
    const std::size_t room = right - left - 3;
    if (label.size() > room) label = label.substr(0, room - 1) + "~";
    cells.write(left + 2 + (room - label.size()) / 2, label);
    const std::string_view style = row.type ? kColors[static_cast<std::size_t>(*row.type)] : kDim;
    out_ += paint(kDim, padded(exact_milliseconds(time), -static_cast<int>(kTimeWidth - 2))) + "  " + cells.part(0, left + 1) +
            paint(style, cells.part(left + 1, right)) + cells.part(right, width_) + "  ";
    if (details_) out_ += row.type ? row.detail : paint(kDim, row.detail);
    while (out_.back() == ' ') out_.pop_back();
    out_ += "\n";
    for (const auto& [lane, number] : starting_) held_[lane].push_back(number);
    starting_.clear();
  }

  const Ladder& ladder_;
  bool color_;
  bool details_ = true;
  std::size_t lane_ = 0;
  std::size_t width_ = 0;
  std::vector<std::vector<std::uint64_t>> held_;                 // by lane: packets that the node has
  std::vector<std::pair<std::size_t, std::uint64_t>> starting_;  // from the next row on
  std::string out_;
};

}  // namespace

std::string draw_text(const Ladder& ladder, int width, bool color) { return Drawing(ladder, width, color).draw(); }

}  // namespace asrp::dump
