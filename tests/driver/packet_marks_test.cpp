// SPDX-License-Identifier: BSD-3-Clause
#include "frame/packet_marks.hpp"

#include <doctest/doctest.h>

using namespace asrp;
using engine::PacketId;

TEST_CASE("each packet gets the mark that it came with, whatever the order and the queue") {
  frame::PacketMarks marks;
  constexpr std::uint32_t kWraps = 0xffffffffu - 40;  // the kernel's numbers begin again at 0
  const auto number = [](std::uint32_t i) { return kWraps + i; };
  for (std::uint32_t i = 0; i < 100; ++i) {  // two queues in turn, every third packet without a mark
    marks.add({7, number(i)}, i % 3 == 0 ? 0 : 1000 + i);
    marks.add({6, number(i)}, i % 3 == 1 ? 0 : 2000 + i);
  }
  for (std::uint32_t i = 100; i-- > 0;) {
    CHECK(marks.of({6, number(i)}) == (i % 3 == 1 ? 0 : 2000 + i));
    CHECK(marks.of({7, number(i)}) == (i % 3 == 0 ? 0 : 1000 + i));
  }
  CHECK(marks.of({6, number(100)}) == 0);
  CHECK(marks.of({5, number(2)}) == 0);
}

TEST_CASE("marks may come after some were asked for, and end with their burst") {
  frame::PacketMarks marks;
  CHECK(marks.of({1, 1}) == 0);
  marks.add({1, 9}, 90);
  CHECK(marks.of({1, 9}) == 90);
  marks.add({1, 3}, 30);
  CHECK(marks.of({1, 3}) == 30);
  CHECK(marks.of({1, 9}) == 90);
  marks.clear();
  CHECK(marks.of({1, 3}) == 0);
  CHECK(marks.of({1, 9}) == 0);
}
