// SPDX-License-Identifier: GPL-2.0-or-later
// The holder's iptables rules as a pure function of its configuration. All queue rules bypass: with no daemon the host works as
// if it had none.
#pragma once

#include "asrp/base/result.hpp"
#include "asrpd-holder/config.hpp"
#include "io/error.hpp"
#include "io/rule_set.hpp"

namespace asrp::holder {

/// Rules of one family. `syn_data_delivered`: net.ipv4.tcp_fastopen hands a SYN's data to applications without a cookie.
Result<io::RuleSet, io::IoError> holder_rules(const HolderConfig& config, Family family, bool syn_data_delivered);

/// The same chains without rules: what to remove.
io::RuleSet holder_chains(Family family);

/// Whether a value of net.ipv4.tcp_fastopen does that: a server enabled, and no cookie required.
bool delivers_syn_data(std::int64_t tcp_fastopen);

}  // namespace asrp::holder
