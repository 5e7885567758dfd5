// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: what the node remembers of clients' holders. A client isn't probed as a server is: there may be very many, most of
// them asleep. What it says, or leaves unsaid when asked, tells whether a holder is there (decision 26).
#pragma once

#include <cstddef>
#include <cstdint>

#include "asrp/base/address.hpp"
#include "asrp/base/time.hpp"
#include "asrp/engine/nat_options.hpp"
#include "asrp/policy/rate_limiter.hpp"
#include "asrp/session/tag_table.hpp"

namespace asrp::engine {

/// Forgets: what is lost costs a question more, or lets a client have its rates anew.
class ActClients {
 public:
  /// `cells`: a power of two. `seed`: secret, addresses are an attacker's to choose.
  ActClients(std::size_t cells, std::uint64_t seed) : cells_(cells), seed_(seed) {}
  void set_options(const NatOptions& options);

  [[nodiscard]] bool has_no_holder(TimePoint now, const IpAddress& client) const;
  /// Its holder has spoken. True: it was held for one without.
  bool heard(TimePoint now, const IpAddress& client);
  /// Nobody listens there. True: that is news. A sign that is not news makes the time begin again.
  bool unreachable(TimePoint now, const IpAddress& client);
  /// A recovery ended in its silence. True: one too many, and that is news.
  bool silent(TimePoint now, const IpAddress& client);

  /// One more HS of it is within the rates: its own, and that of all.
  bool take_hello(TimePoint now, const IpAddress& client);
  /// One more question to it, for a packet from outside, is within the rate.
  bool take_query(TimePoint now, const IpAddress& client);
  [[nodiscard]] bool may_query(TimePoint now, const IpAddress& client) const;

 private:
  struct Client {
    policy::RateLimiter hellos{0};
    policy::RateLimiter queries{0};
    TimePoint no_holder_until{};
    std::uint32_t silences = 0;
  };

  [[nodiscard]] std::uint64_t tag_of(const IpAddress& client) const;
  [[nodiscard]] const Client* find(TimePoint now, const IpAddress& client) const;
  Client& at(TimePoint now, const IpAddress& client);
  bool set_without(TimePoint now, Client& client) const;

  session::TagTable<Client> cells_;
  std::uint64_t seed_;
  policy::RateLimiter all_hellos_{0};
  std::uint32_t hellos_per_client_ = 0;
  std::uint32_t outside_queries_ = 0;
  std::uint32_t silences_ = 0;
  Duration no_holder_for_{};
};

}  // namespace asrp::engine
