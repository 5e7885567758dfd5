// SPDX-License-Identifier: GPL-2.0-or-later
// The holder's configuration file: TOML in, plain structs out, all problems at once. `asrpd.toml.5` explains every key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "asrp/engine/holder_options.hpp"
#include "asrpd-holder/load_source.hpp"
#include "config/common.hpp"

namespace asrp::holder {

struct MarksConfig {
  std::uint32_t own = 0x80000000;   // packet mark: a packet of the daemon's own, or one that it has looked at
  std::uint32_t done = 0x04000000;  // packet and connection mark: the flow needs the outbound queue no more
};

struct HolderConfig {
  engine::HolderOptions options;  // without port and marker of their own tables: filled by load_config()
  std::string state_dir = "/run/asrp/holder";
  runtime::ControlPlace control{.path = "/run/asrp/holder.sock"};
  config::OnStop on_stop = config::OnStop::keep;
  bool loopback = false;  // also what comes in by lo
  config::QueueConfig queue{.base = 51210, .length = 65536, .receive_buffer = 32u << 20, .burst = 64};
  MarksConfig marks;
  runtime::LogOptions log;
  LoadConfig load;
  config::MetricsConfig metrics{.listen = {IpAddress::v4(0x7f000001), 9152}};

  [[nodiscard]] bool follows_udp() const;
};

/// The word of the configuration for it.
std::string_view name_of(engine::Push push);

/// Reads and checks a file. No value if there is an error; `problems` has it, and the warnings in any case.
std::optional<HolderConfig> load_config(const std::string& file, config::Problems& problems);
/// The same from text; `file` names it in messages.
std::optional<HolderConfig> parse_config(std::string_view text, const std::string& file, config::Problems& problems);
/// The effective configuration as TOML that reads back the same.
std::string print_config(const HolderConfig& config);

}  // namespace asrp::holder
