// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/turn_pace.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace asrp;
using namespace asrp::runtime;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

/// A kernel's account that the test keeps.
class Account {
 public:
  Account() : name_((std::filesystem::temp_directory_path() / "asrp-account-XXXXXX").string()) {
    const int file = mkstemp(name_.data());
    REQUIRE(file >= 0);
    close(file);
    write("0 0 0");
  }
  ~Account() { unlink(name_.c_str()); }
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  void write(const std::string& line) { std::ofstream(name_) << line << '\n'; }
  void waited(Duration duration) {
    write("5000000 " + std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count()) + " 17");
  }
  [[nodiscard]] const char* name() const { return name_.c_str(); }

 private:
  std::string name_;
};

constexpr TimePoint kStart{std::chrono::hours(1)};

}  // namespace

TEST_CASE("turn pace: where processors are free no turn waits, however many there are") {
  Account account;
  TurnPace pace(kStart, account.name());
  for (int i = 0; i < 5000; ++i) {
    account.waited(TurnPace::kWindow / TurnPace::kBusyPart * (i / 1000));  // a twentieth of each window, and no more
    CHECK(pace.rest(kStart + microseconds(10) * i) == Duration::zero());
  }
}

TEST_CASE("turn pace: on a busy processor turns begin 750 us apart, until it is free again") {
  Account account;
  TurnPace pace(kStart, account.name());
  account.waited(TurnPace::kWindow / TurnPace::kBusyPart + microseconds(1));
  const TimePoint busy = kStart + TurnPace::kWindow;
  CHECK(pace.rest(busy) == Duration::zero());  // nothing was done lately
  CHECK(pace.rest(busy + microseconds(50)) == TurnPace::kDistance - microseconds(50));
  // It began at 750 and took 100: the next one at 1500.
  CHECK(pace.rest(busy + TurnPace::kDistance + microseconds(100)) == TurnPace::kDistance - microseconds(100));
  // One that took longer than the distance is followed at once, and not by several.
  CHECK(pace.rest(busy + milliseconds(4)) == Duration::zero());
  CHECK(pace.rest(busy + milliseconds(4) + microseconds(1)) == TurnPace::kDistance - microseconds(1));

  const TimePoint free = busy + TurnPace::kWindow;
  CHECK(pace.rest(free) == Duration::zero());
  for (int i = 1; i < 100; ++i) CHECK(pace.rest(free + microseconds(i)) == Duration::zero());
}

TEST_CASE("turn pace: without an account, or with one that cannot be read, nothing waits") {
  Account account;
  account.write("");
  TurnPace empty(kStart, account.name());
  account.write("12 many 3");
  TurnPace none(kStart, "/nonexistent/schedstat");
  for (int i = 0; i < 100; ++i) {
    CHECK(empty.rest(kStart + milliseconds(i)) == Duration::zero());
    CHECK(none.rest(kStart + milliseconds(i)) == Duration::zero());
  }
  account.waited(milliseconds(500));  // since when is not known
  for (int i = 0; i < 5; ++i) CHECK(empty.rest(kStart + milliseconds(100) + microseconds(i)) == Duration::zero());
}

TEST_CASE("turn pace: the kernel's own account is one that can be read, where there is one") {
  std::ifstream account("/proc/thread-self/schedstat");
  std::uint64_t on_processor = 0;
  std::uint64_t waiting = 0;
  if (!account) return;
  account >> on_processor >> waiting;
  REQUIRE(account.good());
  CHECK(on_processor > 0);
}
