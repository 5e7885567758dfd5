// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/engine/holder_counters.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace asrp::test {
namespace {

TEST_CASE("every counter of the holder has a name of its own and a help text") {
  std::set<std::string> names;
  for (std::size_t i = 0; i < engine::Counters<engine::HolderCounter>::kSize; ++i) {
    const auto info = engine::info(static_cast<engine::HolderCounter>(i));
    CHECK(!info.help.empty());
    CHECK(names.insert(std::string(info.name)).second);
    CHECK(info.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.") == std::string::npos);
  }
  CHECK(engine::info(engine::HolderCounter::sent_rs).name == "messages.sent.RS");
}

TEST_CASE("counters of received messages are in the order of the types") {
  using engine::HolderCounter;
  const auto first = static_cast<int>(HolderCounter::received_ns);
  CHECK(static_cast<int>(HolderCounter::received_na) == first + 1);
  CHECK(static_cast<int>(HolderCounter::received_qs) == first + 2);
  CHECK(static_cast<int>(HolderCounter::received_rs) == first + 3);
  CHECK(static_cast<int>(HolderCounter::received_rx) == first + 4);
  CHECK(static_cast<int>(HolderCounter::received_hs) == first + 5);
  CHECK(static_cast<int>(HolderCounter::received_ps) == first + 6);
  CHECK(static_cast<int>(HolderCounter::received_nc) == first + 7);
}

}  // namespace
}  // namespace asrp::test
