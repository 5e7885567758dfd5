// SPDX-License-Identifier: GPL-2.0-or-later
// Listings of the node's sessions: which are wanted, of which service and server they are, how they are written, who has most.
// Pure; commands/sessions.cpp feeds it from the kernel's table, in a thread of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "asrp/base/prefix.hpp"
#include "asrp/engine/node_options.hpp"
#include "io/conntrack.hpp"

namespace asrp::node {

/// What is asked for; what is none matches all.
struct SessionFilter {
  std::optional<Prefix> client;
  std::optional<Prefix> server;
  std::optional<Endpoint> server_port;  // this address and port
  std::string server_id;
  std::string service;
  std::optional<Protocol> protocol;
  std::string state;  // "ESTABLISHED", "ASSURED"...; "WAITING" and "UNPROTECTED" are those without a backup
};

/// Reads what people write: an address, a prefix, address and port, or else an id. Nothing if it is none of those.
bool read_server(const std::string& text, SessionFilter& out);

/// Finds services and servers by what an entry has of them. Owns all it knows.
class SessionDirectory {
 public:
  explicit SessionDirectory(const std::vector<engine::Service>& services);

  struct Place {
    std::string service;  // empty: of none that is served now
    std::string server;   // its id; empty: of none that the service has now
  };
  [[nodiscard]] Place place_of(const TuplePair& session) const;
  [[nodiscard]] bool has_service(const std::string& name) const;

 private:
  struct Entry {
    std::string name;
    std::map<Endpoint, std::string> servers;
  };
  std::map<std::pair<Protocol, Endpoint>, Entry> services_;
};

bool matches(const SessionFilter& filter, const io::Conntrack::Detail& session, const SessionDirectory::Place& place);

/// One JSON object.
std::string session_object(const io::Conntrack::Detail& session, const SessionDirectory::Place& place);

/// Who has most, in bounded memory: exact as long as there are no more than kClients of them; beyond, the small ones are
/// forgotten, and what is shown may be too low by error() at most.
class Talkers {
 public:
  static constexpr std::size_t kClients = 65536;  // at most twice as many at a time, about 100 octets each
  enum class By : std::uint8_t { sessions, octets };

  explicit Talkers(By by, std::size_t clients = kClients) : by_(by), clients_(clients) {}
  void add(const io::Conntrack::Detail& session);

  struct Line {
    IpAddress client;
    std::uint64_t sessions = 0;
    io::Traffic traffic;
  };
  /// The first `count`, largest first; ties by address.
  [[nodiscard]] std::vector<Line> top(std::size_t count) const;
  [[nodiscard]] std::uint64_t error() const { return error_; }

 private:
  struct Sum {
    std::uint64_t measure = 0;
    std::uint64_t sessions = 0;
    io::Traffic traffic;
  };
  void forget_small();

  By by_;
  std::size_t clients_;
  std::map<IpAddress, Sum> sums_;
  std::uint64_t error_ = 0;
};

std::string talker_object(const Talkers::Line& line, bool counted);

}  // namespace asrp::node
