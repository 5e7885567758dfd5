// SPDX-License-Identifier: BSD-3-Clause
// The client's end of a daemon's control socket: newline-delimited JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace asrp::ctl {

struct Answer {
  bool ok = false;
  std::string error;    // why not ok
  nlohmann::json body;  // the whole answer, an object
  /// What kind of refusal: "command" where the daemon has no such command, "argument", "request", "busy"; else empty.
  [[nodiscard]] std::string kind() const;
};

class ControlClient {
 public:
  ControlClient() = default;
  ~ControlClient();
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  /// Connects; returns what is wrong and what to do, or nothing.
  std::string connect(const std::string& path);
  /// `request` is an object with "command" and the arguments.
  Answer ask(const nlohmann::json& request);
  /// The next line of a stream; false when the daemon has closed it.
  bool next_line(std::string& line);

 private:
  int fd_ = -1;
  std::string input_;
  std::size_t taken_ = 0;  // of input_
};

}  // namespace asrp::ctl
