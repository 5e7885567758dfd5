// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include "io/process.hpp"

using namespace asrp::io;

TEST_CASE("a program gets arguments as they are, input and output of any length") {
  const std::string input(300000, 'x');
  auto outcome = run_process({"cat", "-"}, input);
  REQUIRE(outcome.has_value());
  CHECK(outcome->status == 0);
  CHECK(outcome->output == input);
  auto words = run_process({"printf", "%s|%s", "$HOME; ls", "a b"}, {});
  REQUIRE(words.has_value());
  CHECK(words->output == "$HOME; ls|a b");
}

TEST_CASE("exit status, standard error, missing programs and the time limit are told apart") {
  auto failed = run_process({"ls", "/no/such/path"}, {});
  REQUIRE(failed.has_value());
  CHECK(failed->status == 2);
  CHECK(failed->errors.find("/no/such/path") != std::string::npos);
  auto missing = run_process({"no-such-program"}, {});
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().error_number == ENOENT);
  auto slow = run_process({"sleep", "30"}, {}, std::chrono::milliseconds(50));
  REQUIRE_FALSE(slow.has_value());
  CHECK(slow.error().error_number == ETIMEDOUT);
}
