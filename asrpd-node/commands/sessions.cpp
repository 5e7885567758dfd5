// SPDX-License-Identifier: GPL-2.0-or-later
// `sessions`: the kernel's table, filtered, one object a line; or who has most of them. The table is read in a thread and with
// a socket of its own, as fast as the reader takes it.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <memory>

#include "asrpd-node/commands/commands.hpp"
#include "asrpd-node/session_list.hpp"
#include "runtime/line_thread.hpp"
#include "runtime/sysctl.hpp"

namespace asrp::node {
namespace {

using runtime::ControlAnswer;
using runtime::ControlArgument;
using runtime::ControlRequest;

constexpr int kListings = 4;  // at a time: each has a thread and makes the kernel go through its table
constexpr std::uint64_t kMostTop = 10000;

/// Counts itself as long as it lives.
class Turn {
 public:
  explicit Turn(std::shared_ptr<std::atomic<int>> turns) : turns_(std::move(turns)), first_(turns_->fetch_add(1)) {}
  ~Turn() { turns_->fetch_sub(1); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  [[nodiscard]] bool good() const { return first_ < kListings; }

 private:
  std::shared_ptr<std::atomic<int>> turns_;
  int first_;
};

/// What is wrong, or nothing.
std::string read_filter(const ControlRequest& request, const SessionDirectory& directory, SessionFilter& out) {
  if (const auto client = request.text("client")) {
    const auto prefix = Prefix::parse(*client);
    if (!prefix) return "client is an address or a prefix";
    out.client = prefix->network();
  }
  if (const auto server = request.text("server"); server && !read_server(*server, out))
    return "server is an address, a prefix, an address with a port, or an id";
  if (const auto service = request.text("service")) {
    if (!directory.has_service(*service)) return "there is no service \"" + *service + "\"";
    out.service = *service;
  }
  if (const auto protocol = request.text("protocol")) {
    if (*protocol != "tcp" && *protocol != "udp") return "protocol is tcp or udp";
    out.protocol = *protocol == "tcp" ? Protocol::tcp : Protocol::udp;
  }
  out.state = request.text("state").value_or("");
  std::transform(out.state.begin(), out.state.end(), out.state.begin(), [](unsigned char c) { return std::toupper(c); });
  return {};
}

void list(io::Conntrack& table, const SessionDirectory& directory, const SessionFilter& filter, runtime::LineSink& sink) {
  std::uint64_t count = 0;
  table.for_each_detail([&](const io::Conntrack::Detail& session) {
    const SessionDirectory::Place place = directory.place_of(session.flow.tuples);
    if (!matches(filter, session, place)) return;
    if (sink.put(session_object(session, place))) {
      ++count;
    } else {
      table.end_visits();
    }
  });
  sink.end_with("\"sessions\":" + std::to_string(count));
}

void list_top(io::Conntrack& table, const SessionDirectory& directory, const SessionFilter& filter, Talkers::By by,
              std::size_t count, bool counted, runtime::LineSink& sink) {
  Talkers talkers(by);
  std::uint64_t sessions = 0;
  table.for_each_detail([&](const io::Conntrack::Detail& session) {
    if (!matches(filter, session, directory.place_of(session.flow.tuples))) return;
    talkers.add(session);
    ++sessions;
  });
  for (const Talkers::Line& line : talkers.top(count))
    if (!sink.put(talker_object(line, counted))) return;
  sink.end_with("\"sessions\":" + std::to_string(sessions) + ",\"too_low_by\":" + std::to_string(talkers.error()));
}

void answer_sessions(NodeAccess& node, const std::shared_ptr<std::atomic<int>>& turns, const ControlRequest& request,
                     const ControlAnswer& answer) {
  SessionDirectory directory(node.options().services);
  SessionFilter filter;
  if (const std::string problem = read_filter(request, directory, filter); !problem.empty())
    return answer.refuse(problem, "\"kind\":\"argument\"");
  const bool counted = runtime::read_sysctl("net.netfilter.nf_conntrack_acct").value_or(0) != 0;
  const std::string by = request.text("by").value_or(counted ? "octets" : "sessions");
  if (by != "sessions" && by != "octets") return answer.refuse("by is sessions or octets", "\"kind\":\"argument\"");
  const std::uint64_t top = std::min(request.number("top").value_or(0), kMostTop);
  if (top > 0 && by == "octets" && !counted)
    return answer.refuse("the kernel does not count octets: set net.netfilter.nf_conntrack_acct = 1, for new sessions",
                         "\"kind\":\"argument\"");
  auto turn = std::make_shared<Turn>(turns);
  if (!turn->good())
    return answer.refuse("there are " + std::to_string(kListings) + " listings already; try again", "\"kind\":\"busy\"");
  auto opened = node.open_table();
  if (!opened) return answer.refuse(opened.error().to_string());
  const std::shared_ptr<io::Conntrack> table = std::move(*opened);
  auto make = [table, turn, directory = std::move(directory), filter, counted, top,
               way = by == "octets" ? Talkers::By::octets : Talkers::By::sessions](runtime::LineSink& sink) {
    if (top == 0) return list(*table, directory, filter, sink);
    list_top(*table, directory, filter, way, static_cast<std::size_t>(top), counted, sink);
  };
  answer.stream("\"counted\":" + std::string(counted ? "true" : "false"),
                runtime::lines_of_thread(node.event_loop(), std::move(make), [table] { table->end_visits(); }));
}

}  // namespace

runtime::ControlCommand sessions_command(NodeAccess& node) {
  using Kind = ControlArgument::Kind;
  return {"sessions",
          {{"client", Kind::text},
           {"server", Kind::text},
           {"service", Kind::text},
           {"protocol", Kind::text},
           {"state", Kind::text},
           {"top", Kind::number},
           {"by", Kind::text}},
          [&node, turns = std::make_shared<std::atomic<int>>(0)](const ControlRequest& request, const ControlAnswer& answer) {
            answer_sessions(node, turns, request, answer);
          }};
}

}  // namespace asrp::node
