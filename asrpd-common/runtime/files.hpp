// SPDX-License-Identifier: GPL-2.0-or-later
// Small files that must be whole at any instant.
#pragma once

#include <optional>
#include <string>

#include "asrp/base/result.hpp"
#include "io/error.hpp"

namespace asrp::runtime {

/// The text of a file; none if there is no such file.
Result<std::optional<std::string>, io::IoError> read_file(const std::string& path);
/// Replaces the file in one step, mode 0600; makes its directory if missing.
Result<Done, io::IoError> write_file(const std::string& path, const std::string& text);

}  // namespace asrp::runtime
