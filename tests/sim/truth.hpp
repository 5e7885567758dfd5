// SPDX-License-Identifier: BSD-3-Clause
// What a run knows about its sessions that no engine knows, and what it found wrong.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "asrp/base/tuple.hpp"
#include "asrp/session/backup.hpp"
#include "support/holder_twins.hpp"

namespace asrp::sim {

struct Session {
  std::uint32_t id = 0;
  Tuple client_side;
  std::size_t rounds = 1;
  std::size_t request_size = 64;
  std::size_t response_size = 64;
  Duration pause{};                          // before each further request
  Duration server_pause{};                   // before each response: the server speaks first after a fault
  std::uint32_t client = 0;                  // its number
  bool server_closes = false;                // TCP
  Duration patience{};                       // UDP: waits so much longer for an answer before it asks again
  std::optional<std::uint32_t> follows{};    // a session that used the same client port before, and has ended
  std::optional<std::uint32_t> successor{};  // the one that uses it next

  // Found out by the servers.
  std::optional<std::size_t> server;  // that talks to it
  bool is_protected = false;          // a backup of exactly this session counted
  TuplePair protected_tuples{};
  std::vector<Tuple> unchecked{};   // server-side tuples on which it was seen without a backup
  std::vector<Tuple> opened{};      // server-side tuples on which its SYNs made sockets, or, lost on the way, backups
  std::vector<Tuple> refused{};     // server-side tuples for which a holder answered its SYN with NC
  std::vector<IpAddress> chosen{};  // servers that nodes chose for it
  bool was_misled = false;          // packets of it went to another endpoint
  bool was_exposed = false;         // its server's holder was down at some time since: UDP may begin anew (decision 12)

  // Found out by the client.
  bool is_done = false;
  bool was_reset = false;
  bool is_abandoned = false;  // its host is not there any more

  void has_reached(const Tuple& peer) {
    if (std::find(opened.begin(), opened.end(), peer) == opened.end()) opened.push_back(peer);
  }
};

class Truth {
 public:
  virtual ~Truth() = default;

  std::vector<Session> sessions;
  std::unordered_map<Tuple, std::uint32_t, test::TupleHash> running{};  // by client side: the one that began last

  /// Octet `offset` of a session's stream in one direction.
  static std::uint8_t octet(std::uint32_t id, bool to_server, std::size_t offset) {
    const std::size_t mixed = id * 2654435761u + (to_server ? 97 : 31) + offset * 7 + (offset >> 8) * 3;
    return static_cast<std::uint8_t>(mixed ^ (mixed >> 11));
  }

  /// Initial sequence numbers tell whose a segment is, whatever its addresses became.
  std::map<std::uint32_t, std::uint32_t> client_isns;
  std::map<std::uint32_t, std::uint32_t> server_isns;
  static std::optional<std::uint32_t> owner(const std::map<std::uint32_t, std::uint32_t>& isns, std::uint32_t sequence) {
    auto after = isns.upper_bound(sequence);
    if (after == isns.begin()) after = isns.end();
    if (isns.empty() || sequence - std::prev(after)->first > (1u << 20)) return std::nullopt;
    return std::prev(after)->second;
  }

  /// A packet of `owner` was given to an endpoint of session `receiver`.
  void misdelivered(std::optional<std::uint32_t> owner_of_it, std::optional<std::uint32_t> receiver, std::string where) {
    const bool is_known = owner_of_it && *owner_of_it < sessions.size();
    if (is_known) sessions[*owner_of_it].was_misled = true;
    const bool is_known_to_follow =
        is_known && receiver && (sessions[*owner_of_it].follows == receiver || sessions[*receiver].follows == owner_of_it);
    if (is_known_to_follow) return;  // of two sessions with one tuple, one after the other: their ends know which it is
    const bool is_excused = is_known && (owner_of_it == receiver ? is_split(*owner_of_it) || is_outlived(*owner_of_it)
                                                                 : is_excused_clash(*owner_of_it, receiver));
    if (is_excused) {
      ++excused;
      return;
    }
    wrong(std::move(where) + (is_known ? " of session " + std::to_string(*owner_of_it) : " of nobody"));
  }
  /// A node that did not see the end of the port's former session has an entry of it for a while yet, which leads elsewhere: a
  /// live entry of another server wins over RS and PS (decision 13).
  [[nodiscard]] bool is_outlived(std::uint32_t id) const {
    const Session& session = sessions[id];
    if (!session.follows) return false;
    const Session& former = sessions[*session.follows];
    const auto is_formers = [&](const Tuple& opened) { return opened == former.protected_tuples.server_side; };
    return !std::all_of(session.opened.begin(), session.opened.end(), is_formers) ||
           former.protected_tuples != session.protected_tuples;
  }
  /// Its SYNs reached two servers, or one by two mappings: a client that hears of both can only give up, and two holders have a
  /// backup. So may those of the one that had its port before, whose forgotten half-open socket answers still. Where nodes
  /// choose on their own, entries may lead to two servers though no SYN came to one of them.
  [[nodiscard]] bool is_split(std::uint32_t id) const {
    const Session& session = sessions[id];
    return session.opened.size() > 1 || (session.follows && sessions[*session.follows].opened.size() > 1) ||
           (nodes_choose_alone && session.chosen.size() > 1);
  }
  /// Which node made a session, and how often its table had been lost before.
  struct Maker {
    std::uint64_t node = 0;
    std::uint64_t life = 0;
    friend bool operator==(const Maker&, const Maker&) = default;
  };
  /// A node has made a session, for the one that has its client's port now.
  virtual void created(const TuplePair& tuples, const Maker& /*maker*/) {
    const auto found = running.find(tuples.client_side);
    if (found == running.end()) return;
    std::vector<IpAddress>& chosen = sessions[found->second].chosen;
    const IpAddress server = tuples.server_side.dst.address;
    if (std::find(chosen.begin(), chosen.end(), server) == chosen.end()) chosen.push_back(server);
  }
  /// A holder has taken a backup: of the session that has its client's port now.
  virtual void stored(const TuplePair& tuples) {
    backed_up_.insert(tuples);
    const auto found = running.find(tuples.client_side);
    if (found != running.end() && tuples.client_side.protocol == Protocol::tcp)
      sessions[found->second].has_reached(tuples.server_side);
  }
  virtual void released(const TuplePair& tuples) { backed_up_.erase(tuples); }
  /// A packet of a session came to its server, by this server-side tuple.
  virtual void reached(std::uint32_t /*id*/, const Tuple& /*peer*/) {}
  /// Some holder has a backup of exactly this session.
  [[nodiscard]] bool is_backed_up(const TuplePair& tuples) const { return backed_up_.contains(tuples); }
  /// UDP: its server's holder was away, and the session, or the one that had its port before, began anew at another server
  /// since. Nodes with an entry of the former keep to that.
  [[nodiscard]] virtual bool is_moved(std::uint32_t id) const {
    const Session& session = sessions[id];
    if (session.client_side.protocol != Protocol::udp) return false;
    const auto is_elsewhere = [&](const Tuple& peer) { return peer != session.protected_tuples.server_side; };
    return session.was_exposed || std::any_of(session.unchecked.begin(), session.unchecked.end(), is_elsewhere) ||
           (session.follows && sessions[*session.follows].was_exposed);
  }
  /// Full NAT: an ICMP error quotes the SYN of `owner_of_it`, which a router complained of before the holder could answer its
  /// NS: the mapping is the one of session `receiver`, whose client the error came to. The NC comes behind it, and the SYN has
  /// not reached a stack by that mapping. (A client's TCP finds a sequence number that is not its own, and ignores the error.)
  [[nodiscard]] bool is_of_unconfirmed(std::optional<std::uint32_t> owner_of_it, std::uint32_t receiver,
                                       std::uint32_t sequence) const {
    if (!is_full_nat || !owner_of_it || *owner_of_it == receiver || !client_isns.contains(sequence)) return false;
    const Session& there = sessions[receiver];
    const std::vector<Tuple>& opened = sessions[*owner_of_it].opened;
    return there.is_protected && std::find(opened.begin(), opened.end(), there.protected_tuples.server_side) == opened.end();
  }
  /// A SYN of `owner_of_it` met the live socket of session `holder_of_it`, and gets no answer as long as that is there.
  virtual void blocked(std::optional<std::uint32_t> owner_of_it, std::optional<std::uint32_t> holder_of_it) {
    if (!owner_of_it || !holder_of_it || owner_of_it == holder_of_it) return;
    if (is_excused_clash(*holder_of_it, {})) sessions[*owner_of_it].was_misled = true;
  }
  bool is_full_nat = false;
  bool nodes_choose_alone = false;  // by a policy that does not decide alike everywhere, or by health that differs
  bool is_explicit = false;         // each UDP packet may begin a session
  std::size_t errors = 0;           // ICMP errors that came to whom they speak to
  std::size_t excused = 0;

  void wrong(std::string what) {
    if (problems.size() < 20) problems.push_back(std::move(what));
    ++problem_count;
  }
  std::vector<std::string> problems;
  std::size_t problem_count = 0;

 protected:
  /// What full NAT can't exclude, and the engines can't see: a packet that came without NS (its holder was away, or the NS took
  /// another way) took the mapping of another session; or a SYN's second copy took another node, which does not know that the
  /// first one's mapping was refused, and the answer to the first was faster than the NC to this node (or that NC is lost: it
  /// is sent once for each NS; until the SYN comes again, the other session's segments may go to this client); or a node has an
  /// entry of a session that ended where it did not see it, the port serves another client by now, and the paths moved. The
  /// kernel's timeouts bound the latter.
  [[nodiscard]] virtual bool is_excused_clash(std::uint32_t owner_of_it, std::optional<std::uint32_t> receiver) const {
    if (!is_full_nat) return false;
    const Session& owner = sessions[owner_of_it];
    if (!owner.unchecked.empty()) return true;
    if (!receiver) return false;
    const Session& there = sessions[*receiver];
    if (there.is_done) return true;
    const Tuple& taken = there.protected_tuples.server_side;
    if (std::find(owner.refused.begin(), owner.refused.end(), taken) != owner.refused.end()) return true;
    const Tuple& mapping = owner.protected_tuples.server_side;
    if (std::find(there.refused.begin(), there.refused.end(), mapping) != there.refused.end()) return true;
    if (std::find(there.unchecked.begin(), there.unchecked.end(), mapping) != there.unchecked.end()) return true;
    // The client's port serves another session by now, too.
    return there.follows && sessions[*there.follows].protected_tuples.server_side == mapping;
  }

 private:
  struct PairHash {
    std::size_t operator()(const TuplePair& pair) const {
      return table_hash(pair.server_side, table_hash(pair.client_side, 3));
    }
  };
  std::unordered_set<TuplePair, PairHash> backed_up_;
};

/// In front of each request and, shorter, each response.
struct RequestHead {
  static constexpr std::size_t kSize = 16;
  std::uint32_t id, round, response_size, pause_ms;
};
struct ResponseHead {
  static constexpr std::size_t kSize = 12;
  std::uint32_t id, round, server;
};

}  // namespace asrp::sim
