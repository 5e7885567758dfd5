// SPDX-License-Identifier: BSD-3-Clause
// What the node believes of each holder: is it there, and do SYN with data reach it (decision 8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "asrp/base/address.hpp"
#include "asrp/base/cookie.hpp"
#include "asrp/base/time.hpp"

namespace asrp::engine {

/// Whether SYN with an inline NS get through to a server.
struct InlinePath {
  enum class State : std::uint8_t { open, avoided, trial };
  State state = State::open;
  std::uint32_t sent = 0;      // SYN with inline NS in the present window
  std::uint32_t repeated = 0;  // of these, SYN that came again unanswered
  TimePoint until{};           // avoided: when one SYN tries again; trial: when its silence means success

  /// May this SYN carry its NS? Counts it if so.
  bool admit(TimePoint now);
  /// A SYN that carried its NS has come again.
  void on_repeated(TimePoint now, Duration retry);
};

struct Holder {
  IpAddress address;
  bool answered = false;  // at least once
  bool gone = false;
  bool outstanding = false;  // the last probe has no answer yet
  std::size_t repeats = 0;   // how often that probe was sent again
  TimePoint asked{};         // when it was sent first
  TimePoint turn{};          // when the next one is
  int silences = 0;          // probes in a row that all their repeats left without an answer
  Cookie cookie;
  std::uint16_t source_port = 0;
  TimePoint due{};
  InlinePath path;
  bool used = true;  // by the present configuration
};

/// All holders of the configuration, known by the server's address.
class Holders {
 public:
  Holder* find(const IpAddress& address) {
    const auto it = holders_.find(address);
    return it == holders_.end() ? nullptr : &it->second;
  }
  [[nodiscard]] const Holder* find(const IpAddress& address) const {
    const auto it = holders_.find(address);
    return it == holders_.end() ? nullptr : &it->second;
  }
  std::map<IpAddress, Holder>& all() { return holders_; }
  [[nodiscard]] const std::map<IpAddress, Holder>& all() const { return holders_; }

 private:
  std::map<IpAddress, Holder> holders_;
};

}  // namespace asrp::engine
