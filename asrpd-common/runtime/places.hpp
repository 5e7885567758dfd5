// SPDX-License-Identifier: GPL-2.0-or-later
// Places in the file system that a daemon writes to, and why it cannot: asked before anything is begun, with the rights that
// the daemon keeps.
#pragma once

#include <optional>
#include <string>

namespace asrp::runtime {

struct PlaceTrouble {
  std::string at;      // the part of the path that is meant
  std::string reason;  // "is not a directory"
};

/// Why no files can be made in `directory`, which the daemon makes itself where it is missing; none if they can. A process
/// without the daemons' capabilities is not the daemon, and learns only what holds for everybody.
std::optional<PlaceTrouble> why_no_files_in(const std::string& directory);
/// The same for a file that is appended to, or made with its directory.
std::optional<PlaceTrouble> why_no_file(const std::string& path);
/// The directory that a file of this name stands in: "." for a bare name.
std::string directory_of(const std::string& path);

}  // namespace asrp::runtime
