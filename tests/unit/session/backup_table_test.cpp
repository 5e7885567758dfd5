// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/backup_table.hpp"

#include <doctest/doctest.h>

#include <map>

#include "support/holder_lab.hpp"

namespace asrp::test {
namespace {

using session::Backup;
using session::BackupTable;
using session::kNoSlot;

Backup backup_of(const TuplePair& tuples, std::uint32_t cookie = 1) {
  Backup backup;
  backup.tuples = tuples;
  backup.cookie = Cookie{cookie};
  backup.node_local_ip = address("192.0.2.10");
  return backup;
}

/// Sessions that share tuples with others now and then.
TuplePair random_session(SeededRandom& random) {
  const auto client = static_cast<std::uint16_t>(1 + random.below(40));
  const auto mapped = static_cast<std::uint16_t>(1 + random.below(40));
  TuplePair session = full_nat_session();
  session.client_side.src.port = client;
  session.server_side.src.port = mapped;
  return session;
}

TEST_CASE("a backup is found by either tuple, either way round, and by nothing else") {
  MemoryStore store;
  BackupTable table(store, 7);
  const TuplePair session = full_nat_session();
  const std::uint32_t slot = table.add(backup_of(session));
  CHECK(slot == 0);
  for (const Tuple& t : {session.client_side, session.server_side}) {
    CHECK(table.find(t) == slot);
    CHECK(table.find(t.reversed()) == slot);
    Tuple other = t;
    other.protocol = Protocol::udp;
    CHECK(table.find(other) == kNoSlot);
  }
  const Tuple mixed{session.client_side.src, session.server_side.dst, Protocol::tcp};
  CHECK(table.find(mixed) == kNoSlot);
  CHECK(table.read(slot) == backup_of(session));
  table.release(slot);
  CHECK(table.find(session.client_side) == kNoSlot);
  CHECK(table.find(session.server_side) == kNoSlot);
  CHECK(!table.read(slot));
  CHECK(table.size() == 0);
}

TEST_CASE("both tuples the same: one entry, found, released") {
  MemoryStore store;
  BackupTable table(store, 7);
  const TuplePair session{nat_session().server_side, nat_session().server_side};
  const std::uint32_t slot = table.add(backup_of(session));
  CHECK(table.find(session.server_side) == slot);
  table.release(slot);
  CHECK(table.find(session.server_side) == kNoSlot);
}

TEST_CASE("slots are used again, lowest numbers stay in use") {
  MemoryStore store;
  BackupTable table(store, 7);
  for (int round = 0; round < 100; ++round) {
    const std::uint32_t slot = table.add(backup_of(nat_session("203.0.113.7:" + std::to_string(1 + round))));
    CHECK(slot == 0);
    table.release(slot);
    CHECK(table.commit());
  }
  CHECK(table.slot_limit() == 1);
}

TEST_CASE("an update that changes nothing writes nothing") {
  MemoryStore store;
  BackupTable table(store, 7);
  const std::uint32_t slot = table.add(backup_of(nat_session(), 1));
  CHECK(table.commit());
  CHECK(table.update(slot, backup_of(nat_session(), 1)));
  CHECK(!table.is_dirty());
  CHECK(table.update(slot, backup_of(nat_session(), 2)));
  CHECK(table.is_dirty());
  CHECK(table.read(slot)->cookie.value == 2);
}

TEST_CASE("a store that refuses: nothing added") {
  MemoryStore store;
  store.capacity = 0;
  BackupTable table(store, 7);
  CHECK(table.add(backup_of(nat_session())) == kNoSlot);
  CHECK(table.find(nat_session().client_side) == kNoSlot);
  CHECK(!table.is_dirty());
  store.capacity = 1;
  CHECK(table.add(backup_of(nat_session())) == 0);
}

TEST_CASE("a record that the store lost is no backup, and its slot can be released") {
  MemoryStore store;
  BackupTable table(store, 7);
  const std::uint32_t slot = table.add(backup_of(nat_session()));
  store.erase(slot);
  CHECK(table.find(nat_session().client_side) == kNoSlot);
  CHECK(!table.read(slot));
  table.release(slot);
  CHECK(table.size() == 0);
  CHECK(table.add(backup_of(nat_session())) == slot);
  CHECK(table.find(nat_session().client_side) == slot);
}

TEST_CASE("load finds what was committed, and erases two records with one tuple down to one") {
  MemoryStore store;
  {
    BackupTable table(store, 7);
    table.add(backup_of(full_nat_session("203.0.113.7:1", "10.9.0.1:1")));
    table.add(backup_of(full_nat_session("203.0.113.7:2", "10.9.0.1:2")));
    CHECK(table.commit());
    table.add(backup_of(full_nat_session("203.0.113.7:3", "10.9.0.1:3")));
  }
  store.crash();
  Buffer record;
  session::encode_backup(backup_of(full_nat_session("203.0.113.9:1", "10.9.0.1:2")), record);
  store.put(5, record);
  BackupTable table(store, 8);
  const auto loaded = table.load();
  CHECK(loaded.backups == 2);
  CHECK(loaded.damaged == 1);
  CHECK(table.find(full_nat_session("203.0.113.7:2", "10.9.0.1:2").client_side) == 1);
  CHECK(table.find(full_nat_session("203.0.113.7:3", "10.9.0.1:3").client_side) == kNoSlot);
  CHECK(table.add(backup_of(full_nat_session("203.0.113.7:3", "10.9.0.1:3"))) == 2);  // the lowest free slot
}

TEST_CASE("random lives with commits that fail, against a model of what counts") {
  for (const std::uint64_t seed : {21, 22, 23, 24}) {
    SeededRandom random(seed);
    MemoryStore store;
    BackupTable table(store, seed);
    std::map<std::uint32_t, Backup> now;        // what the table must show
    std::map<std::uint32_t, Backup> committed;  // what the store must hold, but for records whose erasure is still owed
    std::map<std::uint32_t, Backup> added;      // since the last commit
    for (int step = 0; step < 5000; ++step) {
      const TuplePair session = random_session(random);
      const std::uint32_t slot = table.find(session.client_side);
      if (random.one_in(4) && !now.empty()) {
        const auto victim = std::next(now.begin(), static_cast<std::ptrdiff_t>(random.below(now.size())))->first;
        table.release(victim);
        now.erase(victim);
        added.erase(victim);
      } else if (slot != kNoSlot && now.at(slot).tuples == session) {
        const Backup changed = backup_of(session, static_cast<std::uint32_t>(step));
        CHECK(table.update(slot, changed));
        now[slot] = changed;
        if (added.contains(slot)) added[slot] = changed;
      } else if (slot == kNoSlot && table.find(session.server_side) == kNoSlot) {
        const std::uint32_t fresh = table.add(backup_of(session));
        REQUIRE(!now.contains(fresh));
        now[fresh] = added[fresh] = backup_of(session);
      }
      if (!random.one_in(5)) continue;
      store.fail_commits = random.one_in(3);
      const bool dirty = table.is_dirty();
      const bool done = table.commit();
      CHECK(done == (!store.fail_commits || !dirty));
      if (done) {
        if (dirty) committed = now;
      } else {
        for (const auto& [s, backup] : added) now.erase(s);
        for (auto& [s, backup] : now) backup = committed.at(s);
      }
      added.clear();
      REQUIRE(table.size() == now.size());
      for (const auto& [s, backup] : now) {
        REQUIRE(table.read(s) == backup);
        REQUIRE(table.find(backup.tuples.client_side) == s);
        REQUIRE(table.find(backup.tuples.server_side.reversed()) == s);
      }
      if (done && !table.is_dirty()) CHECK(store.size() == now.size());
    }
  }
}

}  // namespace
}  // namespace asrp::test
