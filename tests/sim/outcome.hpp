// SPDX-License-Identifier: BSD-3-Clause
// How a run ends, and what is told of it, in both worlds.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "sim/agenda.hpp"
#include "sim/network.hpp"
#include "sim/truth.hpp"

namespace asrp::sim {

struct Outcome {
  std::vector<std::string> problems;  // of all kinds, the first few
  std::size_t problem_count = 0;
  std::size_t done = 0;
  std::size_t without_backup = 0;  // sessions that never had one, though their host has a holder
  std::size_t excused = 0;         // sessions lost to what Truth excuses
  std::size_t events = 0;          // of the agenda
  std::size_t foretold = 0;        // packets of which explain() was right
  std::size_t errors = 0;          // ICMP errors that came to whom they speak to

  void take(const Truth& truth, const Agenda& agenda) {
    problems = truth.problems;
    problem_count = truth.problem_count;
    errors = truth.errors;
    events = agenda.done();
  }
};

/// When all is over, nothing is kept: not by nodes within seconds, not by holders within their longest wait.
inline void run_out(Agenda& agenda, Network& network) {
  network.set_impairment({});
  agenda.run_until(agenda.now() + std::chrono::seconds(595));
  network.silence_ends();  // who never learnt that its session ended would repeat a segment at any time
  agenda.run_until(agenda.now() + std::chrono::seconds(5));
}

/// Of the hosts with a holder, `who`: none may have a backup now.
template <typename Hosts>
void check_outlived(const Hosts& hosts, const std::string& who, Truth& truth) {
  for (const auto& host : hosts) {
    if (const std::size_t left = host->outlived_backups(); left != 0) {
      truth.wrong(who + ": " + std::to_string(left) + " backups are left of sessions that ended");
    }
  }
}

}  // namespace asrp::sim
