// SPDX-License-Identifier: GPL-2.0-or-later
// Commands of the control socket: what a request is, how a command is declared, how it answers. Nothing here knows sockets;
// ControlSocket carries it, tests have a twin of it (control_twin.hpp).
//
// A request is one line with a flat JSON object: {"command": "drain", "server": "s1"}. Its answer is one line,
// {"ok": true, ...} or {"ok": false, "error": "..."}. A long answer says {"ok": true, "stream": true, ...}, then has any number
// of lines, and ends with {"end": true, ...}.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace asrp::runtime {

/// What a command may be given. A request with another member, or with one of another type, is refused before the command
/// sees it.
struct ControlArgument {
  enum class Kind : std::uint8_t { text, number, flag };  // string, integer from 0 up, true or false
  std::string name;
  Kind kind = Kind::text;
  bool required = false;
};

/// The arguments of a request, of the types that the command declares.
class ControlRequest {
 public:
  using Value = std::variant<std::string, std::uint64_t, bool>;

  ControlRequest() = default;
  explicit ControlRequest(std::map<std::string, Value, std::less<>> values) : values_(std::move(values)) {}

  [[nodiscard]] std::optional<std::string> text(std::string_view name) const { return get<std::string>(name); }
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name) const { return get<std::uint64_t>(name); }
  /// False if it is not given.
  [[nodiscard]] bool flag(std::string_view name) const { return get<bool>(name).value_or(false); }

 private:
  template <typename T>
  [[nodiscard]] std::optional<T> get(std::string_view name) const {
    const auto found = values_.find(name);
    if (found == values_.end() || !std::holds_alternative<T>(found->second)) return std::nullopt;
    return std::get<T>(found->second);
  }

  std::map<std::string, Value, std::less<>> values_;
};

/// Where the lines of a long answer come from. Asked in the loop's thread, and only when the reader has taken what was there:
/// so a reader that stalls stops its own source, and no more than a piece of it is in memory.
class LineSource {
 public:
  enum class More : std::uint8_t { yes, later, no };
  static constexpr std::size_t kPiece = 64 * 1024;  // octets that one append() should add at most

  virtual ~LineSource() = default;  // at the end, or when the reader has gone
  /// Appends whole lines, each with its line end. `later`: calls what on_more() was given once there is more.
  virtual More append(std::string& out) = 0;
  /// Called once, before all others. `wake` is called in the loop's thread.
  virtual void on_more(std::function<void()> wake) { static_cast<void>(wake); }
  /// Members of the last line: "\"sessions\":12". Asked after append() has said `no`.
  virtual std::string end_members() { return {}; }
};

/// Who takes an answer.
class AnswerChannel {
 public:
  virtual ~AnswerChannel() = default;
  /// The answer, without its line end; with `source`, what comes after it.
  virtual void answer(const std::string& line, std::unique_ptr<LineSource> source) = 0;
  /// After the answer come event lines, until the asker goes.
  virtual void subscribe() = 0;
};

/// The one answer to a request, given at once or later, in the loop's thread. Copies are the same answer. What nobody waits
/// for any more goes nowhere; an answer that nobody gave is a refusal when the last copy is gone.
class ControlAnswer {
 public:
  explicit ControlAnswer(std::weak_ptr<AnswerChannel> channel);

  /// {"ok": true, members}; `members` is empty or "\"name\":value,...".
  void give(const std::string& members = {}) const;
  /// {"ok": false, "error": why, members}.
  void refuse(const std::string& why, const std::string& members = {}) const;
  /// {"ok": true, "stream": true, members}, and then the lines of `source`.
  void stream(const std::string& members, std::unique_ptr<LineSource> source) const;
  /// {"ok": true}, and then a line for each event.
  void subscribe() const;
  /// False once the asker has gone.
  [[nodiscard]] bool is_wanted() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

struct ControlCommand {
  std::string name;
  std::vector<ControlArgument> arguments;
  std::function<void(const ControlRequest&, ControlAnswer)> run;
};

/// The commands of a daemon, by name.
class CommandTable {
 public:
  /// A name that is there already is replaced.
  void add(ControlCommand command);
  /// Runs what a line asks for, or refuses it; "kind" of a refusal is "request", "command" or "argument".
  void run(std::string_view line, const ControlAnswer& answer) const;
  /// Sorted.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::map<std::string, ControlCommand, std::less<>> commands_;
};

}  // namespace asrp::runtime
