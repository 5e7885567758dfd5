// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/wire/types.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string_view>

using namespace asrp::wire;

TEST_CASE("names of types, layouts and errors, as in the draft and in asrpdump") {
  CHECK(to_string(MsgType::NS) == "NS");
  CHECK(to_string(MsgType::HS) == "HS");
  CHECK(to_string(MsgType::NC) == "NC");
  CHECK(to_string(StType::null) == "NULL");
  CHECK(to_string(StType::ST46) == "ST46");
  CHECK(to_string(StType::ST6) == "ST6");
  CHECK(to_string(DecodeError::truncated) == "truncated");
  CHECK(to_string(DecodeError::length) == "length");
}

TEST_CASE("all known numbers have names of their own, all others have none") {
  std::set<std::string_view> names;
  for (int i = 0; i < 256; ++i) {
    const std::string_view type = to_string(static_cast<MsgType>(i));
    const std::string_view layout = to_string(static_cast<StType>(i));
    CHECK((type == "?") == (i >= kMsgTypeCount));
    CHECK((layout == "?") == (i >= kStTypeCount));
    names.insert(type);
    names.insert(layout);
  }
  CHECK(names.size() == kMsgTypeCount + kStTypeCount + 1U);
}
