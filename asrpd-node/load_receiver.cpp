// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/load_receiver.hpp"

#include <algorithm>

namespace asrp::node {

void LoadReceiver::configure(const NodeConfig& config) {
  max_age_ = config.recovery.load_age;
  keys_.clear();
  for (const config::SecretKey& key : config.load.keys) keys_.push_back(key.value);
  const std::map<IpAddress, Host> before = std::exchange(hosts_, {});
  for (const PoolConfig& pool : config.pools) {
    for (const engine::Backend& server : pool.servers) {
      Host& host = hosts_[server.address.address];
      host.servers.emplace_back(pool.name, server.id);
      if (const auto known = before.find(server.address.address); known != before.end()) {
        host.reported = known->second.reported;
        host.load = known->second.load;
      }
    }
  }
  window_.keep_only([this](const IpAddress& sender) { return hosts_.count(sender) > 0; });
}

void LoadReceiver::on_report(TimePoint now, std::uint64_t wall_ms, const IpAddress& from, Octets octets) {
  const auto host = hosts_.find(from);
  if (host == hosts_.end()) {
    ++counts_.sender;
    return;
  }
  const auto report = policy::decode_load_report(octets, keys_, from);
  if (!report) {
    switch (report.error()) {
      case policy::ReportError::size:
        ++counts_.size;
        return;
      case policy::ReportError::version:
        ++counts_.version;
        return;
      case policy::ReportError::mac:
        ++counts_.mac;
        return;
    }
  }
  switch (window_.ask(from, *report, wall_ms)) {
    case policy::ReportWindow::Verdict::time:
      ++counts_.time;
      return;
    case policy::ReportWindow::Verdict::repeated:
      ++counts_.repeated;
      return;
    case policy::ReportWindow::Verdict::fresh:
      break;
  }
  ++counts_.accepted;
  host->second.reported = now;
  host->second.load = report->load;
  for (const auto& [pool, server] : host->second.servers) tell_(pool, server, report->load);
}

void LoadReceiver::append_counters(std::vector<runtime::CounterLine>& lines) const {
  lines.push_back({"load.accepted", counts_.accepted, "load reports taken"});
  lines.push_back({"load.discarded.sender", counts_.sender, "load reports from an address that is no server's"});
  lines.push_back({"load.discarded.size", counts_.size, "datagrams that are no load report"});
  lines.push_back({"load.discarded.version", counts_.version, "load reports of an unknown version"});
  lines.push_back({"load.discarded.mac", counts_.mac, "load reports under another key, or altered"});
  lines.push_back({"load.discarded.time", counts_.time, "load reports whose time is not ours: clocks differ by over 10 s"});
  lines.push_back({"load.discarded.repeated", counts_.repeated, "load reports that were there before"});
}

std::size_t LoadReceiver::unknown(TimePoint now) const {
  return static_cast<std::size_t>(
      std::count_if(hosts_.begin(), hosts_.end(), [&](const auto& each) { return !is_known(now, each.second); }));
}

std::optional<std::uint32_t> LoadReceiver::load_of(TimePoint now, const IpAddress& host) const {
  const auto found = hosts_.find(host);
  if (found == hosts_.end() || !is_known(now, found->second)) return std::nullopt;
  return found->second.load;
}

}  // namespace asrp::node
