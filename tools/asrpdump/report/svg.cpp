// SPDX-License-Identifier: BSD-3-Clause
// The sequence diagram as a picture. Its colours follow the reader's choice of light or dark; nothing is loaded, no script
// runs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "report/follow_text.hpp"
#include "report/ladder.hpp"

namespace asrp::dump {
namespace {

constexpr double kLeft = 92;   // for the times
constexpr double kApart = 64;  // from one to the next
constexpr double kBox = 150;   // of a participant, at the least
constexpr double kRow = 27;    // at the least, so that no label meets the next arrow
constexpr double kUnder = 10;  // more of it where something is written under an arrow
constexpr double kHead = 96;   // title of a session and its participants
constexpr double kMargin = 18;
constexpr std::int64_t kGap = 50'000'000;  // nanoseconds; longer ones are cut out of the time axis

constexpr std::string_view kStyle = R"(<style>
text{font:12px ui-sans-serif,system-ui,"DejaVu Sans",sans-serif;fill:#24292f}
.bg{fill:#ffffff}.title{font-size:16px;font-weight:600}.name{font-size:12px;fill:#57606a}
.box{fill:#f6f8fa;stroke:#8c959f}.role{font-weight:600}.addr{font:11px ui-monospace,"DejaVu Sans Mono",monospace;fill:#57606a}
.lane{stroke:#d0d7de}.time{font:10.5px ui-monospace,"DejaVu Sans Mono",monospace;fill:#6e7781}.gap{fill:#6e7781;font-style:italic}
.cut{stroke:#8c959f;stroke-dasharray:2 4}.small{font-size:10.5px;fill:#57606a}
.held{fill:#d4a72c;fill-opacity:.55}.a{stroke-width:1.6;fill:none}.h{stroke:none}
.flow{stroke:#8c959f}.flow.h{fill:#8c959f}.flow.l{fill:#6e7781}
.NS{stroke:#1a7f37}.NS.h,.NS.l{fill:#1a7f37}.NA{stroke:#0b7a75}.NA.h,.NA.l{fill:#0b7a75}
.QS{stroke:#9a6700}.QS.h,.QS.l{fill:#9a6700}.RS{stroke:#0969da}.RS.h,.RS.l{fill:#0969da}
.RX{stroke:#cf222e}.RX.h,.RX.l{fill:#cf222e}.HS{stroke:#bf3989}.HS.h,.HS.l{fill:#bf3989}
.PS{stroke:#8250df}.PS.h,.PS.l{fill:#8250df}.NC{stroke:#a40e26}.NC.h,.NC.l{fill:#a40e26}
.l{stroke:none}.m.l{font-weight:600}.h.h{stroke:none}
@media (prefers-color-scheme: dark){
text{fill:#e6edf3}.bg{fill:#0d1117}.name,.addr,.small{fill:#9ea7b3}.box{fill:#161b22;stroke:#484f58}
.lane{stroke:#30363d}.time,.gap{fill:#8b949e}.cut{stroke:#6e7681}.held{fill:#d29922;fill-opacity:.5}
.flow{stroke:#6e7681}.flow.h{fill:#6e7681}.flow.l{fill:#9ea7b3}
.NS{stroke:#3fb950}.NS.h,.NS.l{fill:#3fb950}.NA{stroke:#39c5bb}.NA.h,.NA.l{fill:#39c5bb}
.QS{stroke:#d29922}.QS.h,.QS.l{fill:#d29922}.RS{stroke:#58a6ff}.RS.h,.RS.l{fill:#58a6ff}
.RX{stroke:#ff7b72}.RX.h,.RX.l{fill:#ff7b72}.HS{stroke:#f778ba}.HS.h,.HS.l{fill:#f778ba}
.PS{stroke:#bc8cff}.PS.h,.PS.l{fill:#bc8cff}.NC{stroke:#ffa198}.NC.h,.NC.l{fill:#ffa198}
.l{stroke:none}.h.h{stroke:none}
}
</style>
)";

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    }
  }
  return out;
}

class Picture {
 public:
  void text(double x, double y, std::string_view classes, std::string_view anchor, std::string_view what) {
    body_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + std::string(classes) + "\" text-anchor=\"" +
             std::string(anchor) + "\">" + escaped(what) + "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2, std::string_view classes) {
    body_ += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) +
             "\" class=\"" + std::string(classes) + "\"/>\n";
  }
  void box(double x, double y, double width, double height, std::string_view classes, double round) {
    body_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) + "\" height=\"" +
             number(height) + "\" rx=\"" + number(round) + "\" class=\"" + std::string(classes) + "\"/>\n";
  }
  /// An arrow from lane to lane, what it says above it, and more of it where a pointer rests.
  void arrow(double from, double to, double y, double lane, const LadderRow& row) {
    const std::string kind(row.type ? wire::to_string(*row.type) : "flow");
    const double sign = from < to ? 1 : -1;
    body_ += "<g><title>" +
             escaped(row.label + (row.detail.empty() ? "" : ", " + row.detail) + ", packet " + std::to_string(row.at.number)) +
             "</title>\n";
    line(from, y, to - sign * 6, y, kind + " a");
    body_ += "<path d=\"M" + number(to) + " " + number(y) + "l" + number(-sign * 9) + " -4.5v9z\" class=\"" + kind + " h\"/>\n";
    // Beside the sender: an arrow over several lanes has its label where it begins.
    const double middle = from + sign * lane / 2;
    text(middle, y - 5, kind + (row.type ? " l m" : " l"), "middle", row.label);
    body_ += "</g>\n";
  }
  [[nodiscard]] std::string take() { return std::move(body_); }

 private:
  std::string body_;
};

/// One session, from `top` on.
class Part {
 public:
  Part(Picture& picture, const Ladder& ladder, double top, double box)
      : picture_(picture), ladder_(ladder), y_(top), box_(box) {}

  /// Returns where it ends.
  double draw() {
    place_rows();
    head();
    const double end = ends_at_;
    for (std::size_t i = 0; i < ladder_.lanes.size(); ++i) picture_.line(x(i), lanes_from_, x(i), end - kRow / 2, "lane");
    held();
    const std::int64_t begin = ladder_.rows.empty() ? 0 : ladder_.rows.front().at.time;
    for (const auto& [at, size] : gaps_) {
      picture_.line(kLeft, at, x(ladder_.lanes.size() - 1) + 20, at, "cut");
      picture_.text(kLeft - 10, at + 4, "gap small", "end", milliseconds(size) + " ms");
    }
    for (std::size_t i = 0; i < ladder_.rows.size(); ++i) {
      const LadderRow& row = ladder_.rows[i];
      picture_.text(kLeft - 10, rows_[i] + 4, "time", "end", exact_milliseconds(row.at.time - begin));
      picture_.arrow(x(row.from) + (row.held_since ? side(row) * 5 : 0), x(row.to), rows_[i], box_ + kApart, row);
    }
    if (ladder_.left_out != 0) picture_.text(kLeft, end, "small", "start", std::to_string(ladder_.left_out) + " more packets");
    return end + kMargin;
  }

 private:
  [[nodiscard]] double x(std::size_t lane) const { return kLeft + box_ / 2 + (box_ + kApart) * static_cast<double>(lane); }
  [[nodiscard]] static double side(const LadderRow& row) { return row.from < row.to ? 1 : -1; }
  // Time goes down the page: in steps that grow slowly with the time between two packets; long gaps are cut out.
  void place_rows() {
    lanes_from_ = y_ + kHead;
    double at = lanes_from_ + 6;
    std::int64_t last = ladder_.rows.empty() ? 0 : ladder_.rows.front().at.time;
    bool under = false;  // something is written under the arrow before
    for (const LadderRow& row : ladder_.rows) {
      const std::int64_t gap = std::max<std::int64_t>(row.at.time - last, 0);
      if (gap > kGap) {
        gaps_.emplace_back(at + kRow * 0.75 + (under ? kUnder : 0), gap);
        at += kRow * 1.1;
      } else {
        at += 9 * std::log10(1 + static_cast<double>(gap) / 200'000);  // 3 for 0.2 ms, 22 for 50 ms
      }
      at += kRow + (under ? kUnder : 0);
      under = row.held_since.has_value();
      last = row.at.time;
      rows_.push_back(at);
      where_[row.at.number] = at;
    }
    ends_at_ = at + kRow;
  }

  void head() {
    picture_.text(kLeft - 10, y_ + kHead - 2, "time", "end", "ms");
    picture_.text(kMargin, y_ + 12, "name", "start", "session " + std::to_string(ladder_.id) + ": " + ladder_.name);
    if (!ladder_.behind.empty()) picture_.text(kMargin, y_ + 29, "name", "start", "behind the node: " + ladder_.behind);
    for (std::size_t i = 0; i < ladder_.lanes.size(); ++i) {
      picture_.box(x(i) - box_ / 2, y_ + 42, box_, 44, "box", 6);
      picture_.text(x(i), y_ + 60, "role", "middle", ladder_.lanes[i].role);
      picture_.text(x(i), y_ + 76, "addr", "middle", ladder_.lanes[i].address);
    }
  }

  // The node has the packet from its arrival to its departure. Overlapping ones lie beside each other.
  void held() {
    std::vector<std::pair<std::size_t, double>> busy;  // lane and end, by place beside each other
    for (std::size_t i = 0; i < ladder_.rows.size(); ++i) {
      const LadderRow& row = ladder_.rows[i];
      if (!row.held_since || !where_.contains(row.held_since->number)) continue;
      const double from = where_[row.held_since->number];
      std::size_t place = 0;
      while (place < busy.size() && busy[place].first == row.from && busy[place].second > from) ++place;
      if (place == busy.size()) busy.emplace_back();
      busy[place] = {row.from, rows_[i]};
      const double offset = static_cast<double>(place % 3) * 3;
      picture_.box(x(row.from) - 4 + offset, from, 8, std::max(rows_[i] - from, 3.0), "held", 2);
      const std::string text = "held " + milliseconds(row.at.time - row.held_since->time) + " ms";
      const double middle = side(row) > 0 ? x(row.from) + 12 : x(row.from) - 12;
      picture_.text(middle, rows_[i] + 13, "small", side(row) > 0 ? "start" : "end", text);
    }
  }

  Picture& picture_;
  const Ladder& ladder_;
  double y_;
  double box_;
  double lanes_from_ = 0;
  double ends_at_ = 0;
  std::vector<double> rows_;
  std::vector<std::pair<double, std::int64_t>> gaps_;
  std::map<std::uint64_t, double> where_;  // of packets by number
};

}  // namespace

std::string draw_svg(const std::vector<const Ladder*>& ladders, const std::string& title) {
  Picture picture;
  double y = kMargin + 8;
  picture.text(kMargin, y + 4, "title", "start", title);
  y += 24;
  std::size_t lanes = 2;
  std::size_t longest = title.size() * 4 / 3;  // characters of the headings
  double box = kBox;
  for (const Ladder* ladder : ladders) {
    lanes = std::max(lanes, ladder->lanes.size());
    longest = std::max({longest, ladder->name.size() + 16, ladder->behind.size() + 18});
    for (const LadderLane& lane : ladder->lanes) box = std::max(box, 14 + 6.8 * static_cast<double>(lane.address.size()));
  }
  for (const Ladder* ladder : ladders) {
    y = Part(picture, *ladder, y, box).draw() + kMargin;
  }
  const double all_lanes = kLeft + (box + kApart) * static_cast<double>(lanes) - kApart + kMargin;
  const double width = std::max(all_lanes, 2 * kMargin + 7.2 * static_cast<double>(longest));
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width) + " " + number(y) +
                    "\" width=\"" + number(width) + "\" height=\"" + number(y) + "\" role=\"img\">\n<title>" + escaped(title) +
                    "</title>\n";
  out += std::string(kStyle) + "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n" + picture.take();
  return out + "</svg>\n";
}

}  // namespace asrp::dump
