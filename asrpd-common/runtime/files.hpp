// SPDX-License-Identifier: GPL-2.0-or-later
// Small files that must be whole at any instant.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "asrp/base/result.hpp"
#include "io/error.hpp"

namespace asrp::runtime {

/// What read_file takes at most: a device that never ends must not fill the memory.
inline constexpr std::size_t kMaxFile = 16u << 20;

/// The text of a file; none if there is no such file. More than kMaxFile octets are an error.
Result<std::optional<std::string>, io::IoError> read_file(const std::string& path);
/// Replaces the file in one step, mode 0600; makes its directory if missing.
Result<Done, io::IoError> write_file(const std::string& path, const std::string& text);

}  // namespace asrp::runtime
