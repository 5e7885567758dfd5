// SPDX-License-Identifier: GPL-2.0-or-later
// Route MTUs and the ways that packets leave by, through rtnetlink, cached for a second per destination, bounded.
#pragma once

#include <memory>

#include "asrp/base/result.hpp"
#include "asrp/engine/flow_table.hpp"
#include "io/error.hpp"

namespace asrp::io {

/// Routes as the kernel has them now. What a number of route_of() stands for is watched only after watch().
class RoutePaths : public engine::Paths {
 public:
  /// Begins to follow changes of routes, addresses and links.
  virtual Result<Done, IoError> watch() = 0;
  /// Readable when something has changed; -1 before watch().
  [[nodiscard]] virtual int descriptor() const = 0;
  /// Takes what has changed: what used it has other numbers from now on.
  virtual void refresh() = 0;
};

Result<std::unique_ptr<RoutePaths>, IoError> open_route_paths();

}  // namespace asrp::io
