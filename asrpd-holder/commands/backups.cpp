// SPDX-License-Identifier: GPL-2.0-or-later
// `backups`: what the holder keeps, filtered, one object a line. Read from the table by number, some each turn of the loop:
// what comes or goes meanwhile is in the listing or not.
#include <memory>

#include "asrp/base/prefix.hpp"
#include "asrpd-holder/commands/commands.hpp"

namespace asrp::holder {
namespace {

using runtime::ControlAnswer;
using runtime::ControlArgument;
using runtime::ControlRequest;

constexpr std::uint32_t kNumbersAPiece = 256;  // looked at in one turn, wanted or not

struct Filter {
  std::optional<Prefix> client;
  std::optional<Prefix> node;
  std::optional<std::uint64_t> port;  // of the service here
  std::optional<Protocol> protocol;

  [[nodiscard]] bool matches(const session::Backup& backup) const {
    const Tuple& here = backup.tuples.server_side;
    if (client && !client->contains(backup.tuples.client_side.src.address)) return false;
    if (node && !node->contains(backup.node_local_ip)) return false;
    if (port && here.dst.port != *port) return false;
    return !protocol || here.protocol == *protocol;
  }
};

/// What is wrong, or nothing.
std::string read_filter(const ControlRequest& request, Filter& out) {
  for (const auto& [name, prefix] : {std::pair("client", &out.client), std::pair("node", &out.node)}) {
    const auto text = request.text(name);
    if (!text) continue;
    *prefix = Prefix::parse(*text);
    if (!*prefix) return std::string(name) + " is an address or a prefix";
    *prefix = (*prefix)->network();
  }
  out.port = request.number("port");
  if (const auto protocol = request.text("protocol")) {
    if (*protocol != "tcp" && *protocol != "udp") return "protocol is tcp or udp";
    out.protocol = *protocol == "tcp" ? Protocol::tcp : Protocol::udp;
  }
  return {};
}

std::string backup_object(engine::Role role, const session::Backup& backup) {
  const auto& [client_side, server_side] = backup.tuples;
  return "{\"mode\":\"" + std::string(role == engine::Role::psv ? "psv" : "act") + "\",\"protocol\":\"" +
         to_string(server_side.protocol) + "\",\"client\":\"" + client_side.src.to_string() + "\",\"address\":\"" +
         client_side.dst.to_string() + "\",\"source\":\"" + server_side.src.to_string() + "\",\"server_address\":\"" +
         server_side.dst.to_string() + "\",\"node\":\"" + backup.node_local_ip.to_string() +
         "\",\"session_data_octets\":" + std::to_string(backup.data_size) + "}";
}

class Lines final : public runtime::LineSource {
 public:
  Lines(HolderAccess& holder, const Filter& filter) : holder_(holder), filter_(filter) {}
  More append(std::string& out) override {
    for (std::uint32_t looked = 0; looked < kNumbersAPiece; ++looked, ++next_) {
      if (next_ >= holder_.engine().backup_limit(role_)) {
        if (role_ == engine::Role::act) return More::no;
        role_ = engine::Role::act;
        next_ = 0;
      }
      const auto backup = holder_.engine().backup(role_, next_);
      if (!backup || !filter_.matches(*backup)) continue;
      out += backup_object(role_, *backup) + "\n";
      ++count_;
    }
    return More::yes;
  }
  std::string end_members() override { return "\"backups\":" + std::to_string(count_); }

 private:
  HolderAccess& holder_;
  Filter filter_;
  engine::Role role_ = engine::Role::psv;
  std::uint32_t next_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace

runtime::ControlCommand backups_command(HolderAccess& holder) {
  using Kind = ControlArgument::Kind;
  return {"backups",
          {{"client", Kind::text}, {"node", Kind::text}, {"port", Kind::number}, {"protocol", Kind::text}},
          [&holder](const ControlRequest& request, const ControlAnswer& answer) {
            Filter filter;
            if (const std::string problem = read_filter(request, filter); !problem.empty())
              return answer.refuse(problem, "\"kind\":\"argument\"");
            answer.stream("", std::make_unique<Lines>(holder, filter));
          }};
}

}  // namespace asrp::holder
