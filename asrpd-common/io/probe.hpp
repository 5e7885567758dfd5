// SPDX-License-Identifier: GPL-2.0-or-later
// One look at a server: is it well enough for new sessions? Each kind of look is a Prober; the twin is in testing/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "asrp/base/address.hpp"
#include "asrp/base/time.hpp"
#include "runtime/event_loop.hpp"

namespace asrp::io {

/// What is looked for, with the defaults of the configuration. Each kind takes what is its own.
struct ProbeQuestion {
  Duration timeout = std::chrono::seconds(1);  // a look that takes longer has failed
  std::string path = "/";                      // HTTP
  std::string host;                            // HTTP: the Host header; empty: the server's address and port
  unsigned lowest_status = 200;                // HTTP: what counts as well
  unsigned highest_status = 399;
  std::vector<std::string> command;  // external command: a program's absolute path and its arguments
  friend bool operator==(const ProbeQuestion&, const ProbeQuestion&) = default;
};

struct ProbeTarget {
  std::string pool;
  std::string id;
  Endpoint address;  // of the port that is looked at
};

struct ProbeResult {
  bool good = false;
  std::string detail;  // for people, one line of printable text: "HTTP status 503"
};

/// A look that is under way. Destroying it ends it without a word.
class Probe {
 public:
  virtual ~Probe() = default;
};

class Prober {
 public:
  using Done = std::function<void(const ProbeResult&)>;
  virtual ~Prober() = default;
  /// Begins to look. `done` is called once, in the loop's thread and never from within begin(), unless the probe has been
  /// destroyed; it may destroy the probe and begin others. The prober must outlive its probes, and `done`.
  virtual std::unique_ptr<Probe> begin(const ProbeQuestion& question, const ProbeTarget& target, Done done) = 0;
};

/// Opens a TCP connection and resets it: a listening server accepts it.
std::unique_ptr<Prober> make_tcp_prober(runtime::EventLoop& loop);

/// GET over HTTP/1.1, without redirects, proxies or a connection that stays; at most 64 KiB of the answer are read.
std::unique_ptr<Prober> make_http_prober(runtime::EventLoop& loop);

/// Runs a program in a process group of its own; status 0 means well. It has nothing on its standard input, and gets
/// ASRP_POOL, ASRP_SERVER, ASRP_ADDRESS and ASRP_PORT, PATH and LC_ALL=C, no other variable. At its end, its time limit or
/// after 64 KiB of output the whole group is killed.
std::unique_ptr<Prober> make_command_prober(runtime::EventLoop& loop);

}  // namespace asrp::io
