// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/limits.hpp"

#include <doctest/doctest.h>

#include "asrp/engine/holder_options.hpp"
#include "asrp/engine/node_options.hpp"

TEST_CASE("ASRP-PORT is 51200 at nodes and holders that are not told otherwise [spec 7.3-1]") {
  CHECK(asrp::kDefaultPort == 51200);
  CHECK(asrp::engine::NodeOptions{}.port == 51200);
  CHECK(asrp::engine::HolderOptions{}.port == 51200);
}
