// SPDX-License-Identifier: BSD-3-Clause
// Choosing allocates nothing. Counts the allocations of the whole program.
#include <doctest/doctest.h>

#include <cstdlib>
#include <new>

#include "asrp/policy/member_selection.hpp"
#include "support/seeded_random.hpp"

namespace {

std::size_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
// std::stable_sort asks for memory in this way, and gives it back in the usual one.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace asrp;
using namespace asrp::policy;

TEST_CASE("no policy allocates when it chooses, hears of loads or of health") {
  test::SeededRandom random(1);
  std::vector<SelectionMember> members;
  for (int i = 0; i < 50; ++i) members.push_back({"a server with a long name, number " + std::to_string(i), 2, 1, 9, true});
  for (std::uint8_t policy = 0; policy < kSelectionPolicyCount; ++policy) {
    MemberSelector selector(static_cast<SelectionPolicy>(policy), random, std::chrono::seconds(1));
    selector.set_members(members);
    CHECK(allocations > 0);
    const std::size_t before = allocations;
    std::uint16_t out[5];
    std::size_t chosen = 0;
    for (std::uint32_t i = 0; i < 1000; ++i) {
      const TimePoint now{std::chrono::milliseconds(10 * i)};
      if (i % 3 == 0) selector.report_load(now, i % 50, 1000 * i);
      if (i % 7 == 0) selector.set_usable(i % 50, i % 2 == 0);
      chosen += selector.select(now, selector.everyone(), out);
      chosen += selector.choose(now, selector.everyone().subspan(i % 40, 3)).has_value();
    }
    const std::size_t after = allocations;
    CHECK(after == before);
    CHECK(chosen > 2000);
  }
}
