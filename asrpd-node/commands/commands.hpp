// SPDX-License-Identifier: GPL-2.0-or-later
// The commands of the control socket that only a node has. To add one: a file of its own here with a function that declares it,
// its line below and in commands.cpp; its counterpart is a file in tools/asrpctl/commands.
#pragma once

#include <functional>

#include "asrp/engine/node_options.hpp"
#include "asrpd-node/config.hpp"
#include "asrpd-node/server_watch.hpp"
#include "asrpd-node/session_count.hpp"
#include "asrpd-node/state.hpp"
#include "asrpd-node/worker.hpp"
#include "runtime/control_command.hpp"
#include "runtime/event_loop.hpp"

namespace asrp::node {

/// What commands may use of the running node, in the loop's thread.
class NodeAccess {
 public:
  virtual ~NodeAccess() = default;
  /// In force now.
  [[nodiscard]] virtual const NodeConfig& config() const = 0;
  [[nodiscard]] virtual const engine::NodeOptions& options() const = 0;
  [[nodiscard]] virtual runtime::EventLoop& event_loop() = 0;
  /// One after the other, each in its own thread; returns when all are done.
  virtual void for_each_worker(const std::function<void(Worker&)>& task) = 0;
  /// Health and drain.
  [[nodiscard]] virtual const ServerWatch& servers() const = 0;
  [[nodiscard]] virtual engine::HolderSight holder_sight(const IpAddress& host) = 0;
  /// What a server has reported of itself lately, in parts of 0xffffffff; nothing once that is too old.
  [[nodiscard]] virtual std::optional<std::uint32_t> load_of(const IpAddress& host) const = 0;
  /// Another number after each reload.
  [[nodiscard]] virtual std::uint64_t revision() const = 0;
  /// The kernel's table, with sockets of its own.
  virtual Result<std::unique_ptr<io::Conntrack>, io::IoError> open_table() = 0;
  /// What is drained from now on. On failure, when the file can't be written, all stays as it was.
  virtual Result<Done, io::IoError> change_drains(Drains next) = 0;
  /// The pools' epochs that are kept.
  [[nodiscard]] virtual const State& state() const = 0;
  /// From now on this node knows what another one knows, too. On failure, when the file can't be written, all stays as it was.
  virtual Result<Done, io::IoError> take_over(const State& told) = 0;
  /// Goes through the kernel's table in another thread; `counted` is called when that is done.
  virtual void count_sessions(std::function<void(const SessionCount& sessions)> counted) = 0;
};

/// Why the node asks for no flows now; none: it is ready.
std::vector<std::string> reasons_against(const NodeAccess& node);

/// Adds all. `node` must outlive the table.
void add_commands(runtime::CommandTable& commands, NodeAccess& node);

runtime::ControlCommand backends_command(NodeAccess& node);
runtime::ControlCommand epochs_command(NodeAccess& node);
runtime::ControlCommand epochs_export_command(NodeAccess& node);
runtime::ControlCommand epochs_import_command(NodeAccess& node);
runtime::ControlCommand explain_command(NodeAccess& node);
runtime::ControlCommand nat_lookup_command(NodeAccess& node);
runtime::ControlCommand nat_ranges_command(NodeAccess& node);
runtime::ControlCommand queries_command(NodeAccess& node);
runtime::ControlCommand services_command(NodeAccess& node);
runtime::ControlCommand sessions_command(NodeAccess& node);
runtime::ControlCommand drain_command(NodeAccess& node);
runtime::ControlCommand drains_command(NodeAccess& node);
runtime::ControlCommand ready_command(NodeAccess& node);
runtime::ControlCommand undrain_command(NodeAccess& node);

}  // namespace asrp::node
