// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/mapped_flows.hpp"

#include <algorithm>

namespace asrp::node {

using engine::InstallResult;
using Claim = Mappings::Claim;

void MappedFlows::install(std::span<const engine::Flow> flows, std::span<InstallResult> results) {
  claims_.resize(flows.size());
  mappings_.claim(flows, claims_);
  if (std::find(claims_.begin(), claims_.end(), Claim::taken) == claims_.end()) {
    table_.install(flows, results);
  } else {
    install_some(flows, results);
  }
  mappings_.settle(flows, claims_, results);
}

void MappedFlows::install_some(std::span<const engine::Flow> flows, std::span<InstallResult> results) {
  passed_.clear();
  for (std::size_t i = 0; i < flows.size(); ++i)
    if (claims_[i] != Claim::taken) passed_.push_back(flows[i]);
  passed_results_.assign(passed_.size(), InstallResult::failed);
  if (!passed_.empty()) table_.install(passed_, passed_results_);
  std::size_t next = 0;
  for (std::size_t i = 0; i < flows.size(); ++i)
    results[i] = claims_[i] == Claim::taken ? InstallResult::exists : passed_results_[next++];
}

}  // namespace asrp::node
