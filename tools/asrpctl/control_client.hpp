// SPDX-License-Identifier: BSD-3-Clause
// The client's end of a daemon's control socket: newline-delimited JSON.
#pragma once

#include <string>

namespace asrp::ctl {

struct Answer {
  bool ok = false;
  std::string line;   // the whole answer
  std::string error;  // why not ok
};

class ControlClient {
 public:
  ControlClient() = default;
  ~ControlClient();
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  /// Connects; returns what is wrong and what to do, or nothing.
  std::string connect(const std::string& path);
  Answer ask(const std::string& command);
  /// The next line of a stream; false when the daemon has closed it.
  bool next_line(std::string& line);
  void wait_a_second() const;

 private:
  int fd_ = -1;
  std::string input_;
};

}  // namespace asrp::ctl
