// SPDX-License-Identifier: GPL-2.0-or-later
// A worker's session table in ACT mode: the kernel's, and the index of mappings that all workers share.
#pragma once

#include <vector>

#include "asrp/engine/flow_table.hpp"
#include "asrpd-node/mappings.hpp"

namespace asrp::node {

class MappedFlows final : public engine::FlowTable {
 public:
  /// Both must outlive the object. `table` is the worker's own.
  MappedFlows(engine::FlowTable& table, Mappings& mappings) : table_(table), mappings_(mappings) {}

  /// A flow whose port another endpoint has is answered by `exists`, without the kernel.
  void install(std::span<const engine::Flow> flows, std::span<engine::InstallResult> results) override;
  std::optional<engine::FlowEntry> find(const Tuple& tuple) override { return table_.find(tuple); }
  void remove(const Tuple& client_side) override { table_.remove(client_side); }
  void set_mark(const Tuple& client_side, engine::FlowMark mark) override { table_.set_mark(client_side, mark); }
  std::optional<Endpoint> outside_of(Protocol protocol, const Endpoint& inside) override {
    return mappings_.outside_of(protocol, inside);
  }
  std::optional<Endpoint> inside_of(Protocol protocol, const Endpoint& outside) override {
    return mappings_.inside_of(protocol, outside);
  }
  bool has_session_with(Protocol protocol, const Endpoint& outside, const IpAddress& host) override {
    return mappings_.has_session_with(protocol, outside, host);
  }

 private:
  void install_some(std::span<const engine::Flow> flows, std::span<engine::InstallResult> results);

  engine::FlowTable& table_;
  Mappings& mappings_;
  std::vector<Mappings::Claim> claims_;
  std::vector<engine::Flow> passed_;  // those that the kernel is asked for, where they are not all
  std::vector<engine::InstallResult> passed_results_;
};

}  // namespace asrp::node
