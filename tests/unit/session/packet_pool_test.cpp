// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/packet_pool.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"

using namespace asrp;
using asrp::session::PacketPool;
using asrp::test::pattern;

TEST_CASE("packets come back octet for octet, whatever their size") {
  PacketPool pool(100, 1 << 20);
  std::vector<PacketPool::Handle> handles;
  const std::size_t sizes[] = {0, 1, 239, 240, 241, 479, 480, 481, 1500, 65535};
  for (const std::size_t size : sizes) handles.push_back(pool.store(pattern(size)));
  for (std::size_t i = 0; i < handles.size(); ++i) {
    Buffer out{0xaa};
    pool.append_to(handles[i], out);
    REQUIRE(out.size() == sizes[i] + 1);
    CHECK(Buffer(out.begin() + 1, out.end()) == pattern(sizes[i]));
    CHECK(pool.size_of(handles[i]) == sizes[i]);
  }
  for (const auto handle : handles) pool.release(handle);
  CHECK(pool.packets() == 0);
  CHECK(pool.octets() == 0);
}

TEST_CASE("bounds in packets and in octets") {
  PacketPool pool(2, 100);
  const auto a = pool.store(pattern(60));
  CHECK(pool.store(pattern(41)) == PacketPool::kNone);
  const auto b = pool.store(pattern(40));
  CHECK(b != PacketPool::kNone);
  CHECK(pool.store(pattern(0)) == PacketPool::kNone);
  pool.release(a);
  CHECK(pool.store(pattern(60)) != PacketPool::kNone);
  pool.set_limits(1, 10);
  CHECK(pool.packets() == 2);
  CHECK(pool.store(pattern(1)) == PacketPool::kNone);
}

TEST_CASE("blocks are reused, and do not mix") {
  PacketPool pool(1000, 1 << 20);
  for (int round = 0; round < 100; ++round) {
    std::vector<PacketPool::Handle> handles;
    for (std::size_t i = 0; i < 50; ++i) handles.push_back(pool.store(pattern(i * 37)));
    for (std::size_t i = 0; i < 50; i += 2) pool.release(handles[i]);
    for (std::size_t i = 1; i < 50; i += 2) {
      Buffer out;
      pool.append_to(handles[i], out);
      CHECK(out == pattern(i * 37));
      pool.release(handles[i]);
    }
  }
  CHECK(pool.octets() == 0);
}
