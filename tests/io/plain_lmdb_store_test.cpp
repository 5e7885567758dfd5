// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "io/lmdb_store.hpp"

using namespace asrp;
using namespace asrp::io;

namespace {

// On tmpfs where there is one, as /run is.
class Directory {
 public:
  Directory() {
    std::string pattern = std::filesystem::exists("/dev/shm") ? "/dev/shm/asrp-store-XXXXXX" : "/tmp/asrp-store-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  [[nodiscard]] std::string path() const { return path_ + "/backups"; }

 private:
  std::string path_;
};

std::unique_ptr<session::RecordStore> open_store(const Directory& directory, std::size_t map_size = 64u << 20) {
  auto store = open_lmdb_store({directory.path(), map_size});
  REQUIRE_MESSAGE(store.has_value(), (store ? "" : store.error().to_string()));
  return std::move(*store);
}

Buffer record_of(std::uint32_t slot, std::uint32_t version) {
  Buffer record;
  ByteWriter out(record);
  out.u32(slot);
  out.u32(version);
  for (std::uint32_t i = 0; i < 25 + slot % 60; ++i) out.u8(static_cast<std::uint8_t>(slot + version + i));
  return record;
}

std::map<std::uint32_t, Buffer> content(session::RecordStore& store) {
  std::map<std::uint32_t, Buffer> all;
  store.for_each([&](std::uint32_t slot, Octets record) { all[slot] = Buffer(record.begin(), record.end()); });
  return all;
}

Buffer copy(Octets octets) { return {octets.begin(), octets.end()}; }

}  // namespace

TEST_CASE("records are seen before and after the commit, and after reopening") {
  const Directory directory;
  {
    auto store = open_store(directory);
    CHECK(store->get(7).empty());
    CHECK(store->commit());
    CHECK(store->put(7, record_of(7, 1)));
    CHECK(store->put(0xffffffff, record_of(1, 1)));
    CHECK(copy(store->get(7)) == record_of(7, 1));
    CHECK(content(*store).size() == 2);
    CHECK(store->commit());
    CHECK(copy(store->get(7)) == record_of(7, 1));
    CHECK(store->put(7, record_of(7, 2)));
    store->erase(0xffffffff);
    store->erase(12345);
    CHECK(store->commit());
    CHECK(store->put(8, record_of(8, 1)));  // never committed
  }
  auto store = open_store(directory);
  CHECK(content(*store) == std::map<std::uint32_t, Buffer>{{7, record_of(7, 2)}});
  CHECK((std::filesystem::status(directory.path()).permissions() & std::filesystem::perms::all) ==
        std::filesystem::perms::owner_all);
}

TEST_CASE("a visitor may change the store, with and without an open transaction") {
  const Directory directory;
  auto store = open_store(directory);
  for (const bool open_transaction : {false, true}) {
    for (std::uint32_t slot = 0; slot < 1000; ++slot) REQUIRE(store->put(slot, record_of(slot, 1)));
    if (!open_transaction) REQUIRE(store->commit());
    std::size_t visited = 0;
    store->for_each([&](std::uint32_t slot, Octets record) {
      CHECK(copy(record) == record_of(slot, 1));
      ++visited;
      if (slot % 3 != 0) store->erase(slot);
    });
    CHECK(visited == 1000);
    CHECK(content(*store).size() == 334);
    REQUIRE(store->commit());
  }
}

TEST_CASE("a full store refuses, keeps what it has, can be emptied and filled again") {
  const Directory directory;
  auto store = open_store(directory, 2u << 20);
  std::uint32_t stored = 0;
  while (stored < 100000 && store->put(stored, record_of(stored, 1))) {
    ++stored;
    if (stored % 50 == 0) REQUIRE(store->commit());
  }
  CHECK(stored > 5000);
  REQUIRE(stored < 100000);
  CHECK(store->commit());
  while (stored < 100000 && store->put(stored, record_of(stored, 1))) ++stored;
  CHECK(content(*store).size() == stored);
  CHECK_FALSE(store->put(stored, record_of(stored, 1)));
  CHECK(store->commit());
  for (std::uint32_t slot = 0; slot < stored; ++slot) {
    store->erase(slot);
    if (slot % 50 == 0) REQUIRE(store->commit());
  }
  REQUIRE(store->commit());
  CHECK(content(*store).empty());
  for (std::uint32_t slot = 0; slot < stored / 2; ++slot) {
    REQUIRE(store->put(slot, record_of(slot, 3)));
    if (slot % 50 == 0) REQUIRE(store->commit());
  }
  CHECK(store->commit());
}

TEST_CASE("a directory that cannot be used is an error that names it") {
  const Directory directory;
  auto refused = open_lmdb_store({directory.path() + "/no/such", 1u << 20});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().to_string().find("/no/such") != std::string::npos);
  std::filesystem::create_directory(directory.path());
  std::FILE* file = std::fopen((directory.path() + "/data.mdb").c_str(), "w");
  REQUIRE(file != nullptr);
  for (int i = 0; i < 3000; ++i) std::fputs("no data base", file);
  std::fclose(file);
  refused = open_lmdb_store({directory.path(), 1u << 20});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().advice.find("remove the directory") != std::string::npos);
}

namespace {

constexpr std::uint32_t kSlots = 5000;

// Deterministic changes: transaction `number` puts and erases some slots.
template <typename Put, typename Erase>
void transaction(std::uint32_t number, const Put& put, const Erase& erase) {
  std::minstd_rand random(number + 1);
  const std::uint32_t count = 1 + static_cast<std::uint32_t>(random()) % 40;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t slot = static_cast<std::uint32_t>(random()) % kSlots;
    if (random() % 4 == 0) {
      erase(slot);
    } else {
      put(slot, number);
    }
  }
}

[[noreturn]] void store_until_killed(const std::string& path, std::uint32_t first, int report) {
  auto store = open_lmdb_store({path, 64u << 20});
  if (!store) ::_exit(1);
  for (std::uint32_t number = first;; ++number) {
    transaction(
        number, [&](std::uint32_t slot, std::uint32_t version) { (*store)->put(slot, record_of(slot, version)); },
        [&](std::uint32_t slot) { (*store)->erase(slot); });
    if (!(*store)->commit() || ::write(report, &number, sizeof number) != sizeof number) ::_exit(1);
  }
}

void apply(std::map<std::uint32_t, Buffer>& model, std::uint32_t number) {
  transaction(
      number, [&](std::uint32_t slot, std::uint32_t version) { model[slot] = record_of(slot, version); },
      [&](std::uint32_t slot) { model.erase(slot); });
}

}  // namespace

TEST_CASE("SIGKILL at any instant loses nothing that was committed, and nothing is half there (200 rounds)") {
  const Directory directory;
  std::map<std::uint32_t, Buffer> model;
  std::uint32_t next = 0;
  std::mt19937 random(4711);
  for (int round = 0; round < 200; ++round) {
    int pipe_ends[2];
    REQUIRE(::pipe(pipe_ends) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::close(pipe_ends[0]);
      store_until_killed(directory.path(), next, pipe_ends[1]);
    }
    ::close(pipe_ends[1]);
    ::usleep(static_cast<useconds_t>(random() % 8000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::uint32_t number = 0;
    while (::read(pipe_ends[0], &number, sizeof number) == sizeof number) {
      REQUIRE(number == next);
      apply(model, next++);
    }
    ::close(pipe_ends[0]);
    auto store = open_store(directory);
    const auto found = content(*store);
    if (found != model) apply(model, next++);  // it was killed between a commit and its report
    REQUIRE(found == model);
  }
  CHECK(next > 200);
}
