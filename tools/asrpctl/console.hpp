// SPDX-License-Identifier: BSD-3-Clause
// What all commands share: where the daemon is, how often to ask it, and in which form to show what it says.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "control_client.hpp"

namespace asrp::ctl {

struct GlobalOptions {
  std::string socket;  // empty: the node's, or the holder's where only that one is there
  bool json = false;
  std::optional<double> watch;  // seconds
};

/// Two answers to the same question: `before` is none for the first one.
struct Sample {
  const nlohmann::json& now;
  const nlohmann::json* before = nullptr;
  double seconds = 0;  // between them
  bool colours = false;
};

class Console {
 public:
  explicit Console(GlobalOptions options);

  [[nodiscard]] const GlobalOptions& options() const { return options_; }
  /// Whether standard output is a terminal that wants colours.
  [[nodiscard]] bool colours() const { return colours_; }

  /// Asks, and shows the answer: with --json as one object without "ok" (or what `json_of` makes of it), else as `text_of`
  /// says. With --watch again and again. Returns the exit status.
  int show(const nlohmann::json& request, const std::function<std::string(const Sample&)>& text_of,
           const std::function<nlohmann::json(const nlohmann::json&)>& json_of = {});
  /// Runs `once`, with --watch again and again until it fails. Returns the exit status.
  int repeat(const std::function<int()>& once);
  /// Asks once; nothing, and the message is out, if that failed.
  std::optional<nlohmann::json> ask(const nlohmann::json& request);
  /// Asks for a long answer: `on_line` for each object of it, in its order. Returns the first line's members with those of the
  /// last one; nothing, and the message is out, if that failed or was cut short.
  std::optional<nlohmann::json> stream(const nlohmann::json& request,
                                       const std::function<void(const std::string& line)>& on_line);
  /// Lines without end, after the answer to `request`.
  int follow(const nlohmann::json& request);

  /// Prints "asrpctl: text" to standard error; returns 1.
  static int fail(const std::string& text);
  static void print(const std::string& text);
  /// The same, and leaves it to the end of the answer that it is out: for lines in great numbers.
  static void put(const std::string& text);

 private:
  bool connect();
  int refused(const nlohmann::json& request, const Answer& answer);
  void begin_screen() const;

  GlobalOptions options_;
  bool terminal_;
  bool colours_;
  bool connected_ = false;
  ControlClient client_;
};

}  // namespace asrp::ctl
