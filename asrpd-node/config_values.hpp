// SPDX-License-Identifier: GPL-2.0-or-later
// Values that several tables of the node's configuration have.
#pragma once

#include <string>
#include <string_view>

#include "config/reader.hpp"

namespace asrp::node {

/// Whether a text may name a pool, a server, a service or a network: names are used in files, log lines and JSON keys.
bool is_name(std::string_view text);
inline constexpr std::string_view kNameRule = "1 to 64 letters, digits, '-', '_' and '.'";
/// Asks for a name, which must be there.
void read_name(config::Reader& reader, std::string_view key, std::string& out);

/// Asks for a range of ports, "1024-65535"; false if there is one that cannot be read, which is reported.
bool read_ports(config::Reader& reader, std::string_view key, std::uint16_t& first, std::uint16_t& last);
/// The same as text.
std::string ports_text(std::uint16_t first, std::uint16_t last);

}  // namespace asrp::node
