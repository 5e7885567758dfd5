// SPDX-License-Identifier: BSD-3-Clause
#include "report/ladder_model.hpp"

#include <algorithm>

#include "report/follow_text.hpp"
#include "report/format.hpp"

namespace asrp::dump {
namespace {

using packet::Carriage;
using wire::MsgType;

constexpr std::int64_t kSoon = 60'000'000;  // nanoseconds from a packet to the query that it causes

std::string flow_label(const LadderEvent& event) {
  std::string label;
  const auto flag = [&](std::uint8_t bit, std::string_view name) {
    if ((event.tcp_flags & bit) != 0) label += (label.empty() ? "" : " ") + std::string(name);
  };
  if (event.tcp) {
    flag(packet::kTcpSyn, "SYN");
    flag(packet::kTcpFin, "FIN");
    flag(packet::kTcpRst, "RST");
    if (event.data == 0 || !label.empty()) flag(packet::kTcpAck, "ACK");
  }
  if (event.data != 0 || label.empty()) label += (label.empty() ? "" : " ") + counted(event.data, "octet");
  return label;
}

std::string message_label(const LadderEvent& event) {
  std::string label(wire::to_string(*event.type));
  if ((event.flags & wire::kFlagNa) != 0) label += " F-NA";
  if ((event.flags & wire::kFlagCc) != 0) label += " F-CC";
  if (event.carriage == Carriage::inline_tcp || event.carriage == Carriage::inline_udp) label += " in " + flow_label(event);
  return label;
}

constexpr std::string_view kUnnamed = "unnamed ";

/// Finds for each event the node that it is about, as its lane will be called: messages name it; for packets of the flow their
/// neighbour on the link tells, or else the messages around them.
class Nodes {
 public:
  Nodes(const std::vector<LadderEvent>& events, NodePlaces& places) : events_(events), places_(places), of_(events.size()) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      const auto node = events[i].node ? events[i].node : places.node_at(events[i].node_place);
      if (node) of_[i] = node->to_string();
    }
    for (std::size_t i = 0; i < events.size(); ++i) both_sides(i);
    for (std::size_t i = 0; i < events.size(); ++i) {
      const unsigned unnamed = of_[i].empty() ? places.unnamed_at(events[i].node_place) : 0;
      if (unnamed != 0) of_[i] = std::string(kUnnamed) + std::to_string(unnamed);
    }
    for (std::size_t i = 0; i < events.size(); ++i) both_sides(i);
    std::string current;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (of_[i].empty()) of_[i] = ahead(i, current);
      current = of_[i];
    }
    for (std::size_t i = events.size(); i-- > 0;) {  // what comes before the first that is named
      if (of_[i].empty() && i + 1 < events.size()) of_[i] = of_[i + 1];
    }
  }
  [[nodiscard]] const std::string& of(std::size_t event) const { return of_[event]; }

 private:
  // A packet goes through one node: what is known on one side of it holds on the other.
  void both_sides(std::size_t behind) {
    if (!events_[behind].came) return;
    for (std::size_t j = behind; j-- > 0;) {
      if (events_[j].at.number != events_[behind].came->number) continue;
      const std::string node = of_[behind].empty() ? of_[j] : of_[behind];
      places_.join(events_[behind].node_place, events_[j].node_place);
      if (const auto address = IpAddress::parse(node)) {
        if (of_[j].empty()) places_.learn(events_[j].node_place, *address);
        if (of_[behind].empty()) places_.learn(events_[behind].node_place, *address);
      }
      of_[j] = of_[behind] = node;
      return;
    }
  }

  // A packet in front of the node goes to the node that asks for it, or lets it out on its other side.
  std::string ahead(std::size_t i, const std::string& current) const {
    const LadderEvent& event = events_[i];
    if (event.came) return current;
    for (std::size_t j = i + 1; j < events_.size() && events_[j].at.time - event.at.time < kSoon; ++j) {
      const bool left = events_[j].came && events_[j].came->number == event.at.number;
      if (left || events_[j].type == MsgType::QS) return of_[j].empty() ? current : of_[j];
    }
    return current;
  }

  const std::vector<LadderEvent>& events_;
  NodePlaces& places_;
  std::vector<std::string> of_;  // empty: not known
};

class Lanes {
 public:
  explicit Lanes(std::vector<LadderLane>& lanes) : lanes_(lanes) {}

  std::size_t of(const std::string& role, const std::string& address) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i].address == address && (lanes_[i].role == role || !address.empty())) return i;
    }
    const auto rank = [](const std::string& r) { return r == "client" ? 0 : r == "node" ? 1 : 2; };
    std::size_t place = lanes_.size();
    while (place > 0 && rank(lanes_[place - 1].role) > rank(role)) --place;
    lanes_.insert(lanes_.begin() + static_cast<std::ptrdiff_t>(place), {role, address});
    return place;
  }

 private:
  std::vector<LadderLane>& lanes_;
};

struct Ends {
  std::string from_role, from;
  std::string to_role, to;
};

Ends ends_of(const LadderEvent& event, const std::string& middle, const Session& session) {
  const std::string client = session.tuples.client_side.src.address.to_string();
  const std::string server = session.paired ? session.tuples.server_side.dst.address.to_string() : "";
  if (event.standalone) {
    const bool answers = event.type != MsgType::NS && event.type != MsgType::QS;
    const std::string holder = (answers ? event.src : event.dst).to_string();
    const std::string role = holder == client ? "client" : "server";
    const std::string other = (answers ? event.dst : event.src).to_string();
    const std::string self = event.type == MsgType::NS ? middle : other;
    return answers ? Ends{role, holder, "node", self} : Ends{"node", self, role, holder};
  }
  const bool at_client = event.side == Side::client;
  const std::string end = at_client ? client : server;
  const std::string role = at_client ? "client" : "server";
  return at_client == event.to_server ? Ends{role, end, "node", middle} : Ends{"node", middle, role, end};
}

std::string detail_of(const LadderEvent& event) {
  std::string detail;
  if (event.type) detail = hex8(event.cookie.value) + " " + std::string(packet::to_string(event.carriage));
  if (event.came) detail += (detail.empty() ? "held " : ", held ") + milliseconds(event.at.time - event.came->time) + " ms";
  return detail;
}

}  // namespace

LadderEvent event_of(const Heard& heard) {
  LadderEvent event;
  event.at = heard.seen.at;
  event.side = heard.side;
  event.to_server = heard.to_server;
  event.src = heard.seen.tuple.src.address;
  event.dst = heard.seen.tuple.dst.address;
  event.tcp = heard.seen.is_tcp();
  event.tcp_flags = heard.seen.tcp_flags;
  event.data = heard.seen.data;
  if (heard.came) event.came = heard.came->at;
  event.node_place = node_place_of(heard);
  event.node = node_named_by(heard);
  if (heard.message == nullptr) return event;
  event.type = heard.message->type;
  event.carriage = heard.carriage;
  event.standalone = heard.carriage == Carriage::standalone;
  event.flags = heard.message->flags;
  event.cookie = heard.message->cookie;
  return event;
}

void Ladder::arrange(const Session& session, NodePlaces& places) {
  id = session.id;
  name = session.tuples.client_side.to_string();
  if (session.paired) behind = flow_text(session.tuples.server_side);
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.at.number < b.at.number; });
  const Nodes nodes(events, places);
  Lanes known(lanes);
  for (std::size_t i = 0; i < events.size(); ++i) {  // first all lanes, so that their places are final
    const Ends ends = ends_of(events[i], nodes.of(i), session);
    known.of(ends.from_role, ends.from);
    known.of(ends.to_role, ends.to);
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    const LadderEvent& event = events[i];
    const Ends ends = ends_of(event, nodes.of(i), session);
    LadderRow row{
        event.at,  known.of(ends.from_role, ends.from), known.of(ends.to_role, ends.to), event.type, {}, detail_of(event),
        event.came};
    row.label = event.type ? message_label(event) : flow_label(event);
    rows.push_back(std::move(row));
  }
  for (const std::string_view role : {"node", "server"}) {
    const auto is_one = [&](const LadderLane& lane) { return lane.role == role; };
    const bool several = std::count_if(lanes.begin(), lanes.end(), is_one) > 1;
    std::size_t number = 0;
    for (LadderLane& lane : lanes) {
      if (several && lane.role == role) lane.role += " " + std::to_string(++number);
    }
  }
}

}  // namespace asrp::dump
