// SPDX-License-Identifier: GPL-2.0-or-later
// Backups in LMDB under /run: memory-mapped, one write transaction per burst, whole after SIGKILL at any instant (decision 15).
#pragma once

#include <memory>
#include <string>

#include "asrp/base/result.hpp"
#include "asrp/session/record_store.hpp"
#include "io/error.hpp"

namespace asrp::io {

struct LmdbOptions {
  std::string directory;                        // made with mode 0700 if missing
  std::size_t map_size = std::size_t{4} << 30;  // address space, not memory
};

Result<std::unique_ptr<session::RecordStore>, IoError> open_lmdb_store(const LmdbOptions& options);

}  // namespace asrp::io
