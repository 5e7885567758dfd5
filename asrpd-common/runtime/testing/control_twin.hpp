// SPDX-License-Identifier: GPL-2.0-or-later
// The control socket in memory, for the tests of commands: asks a table of commands and reads what comes, as much at a time as
// the test likes.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runtime/control_command.hpp"

namespace asrp::runtime {

class ControlTwin {
 public:
  explicit ControlTwin(const CommandTable& commands) : commands_(commands) {}

  /// Sends one request; what was still to come of the one before is given up.
  void send(std::string_view line) {
    client_ = std::make_shared<Client>();
    commands_.run(line, ControlAnswer(client_));
  }
  /// Reads all that there is without waiting: the answer, and the lines of its source. Each with its line end.
  std::string read() {
    while (read_piece()) continue;
    return std::exchange(client_->text, {});
  }
  /// send() and read().
  std::string ask(std::string_view line) {
    send(line);
    return read();
  }
  /// Lets the source append once; false if it has nothing (more).
  bool read_piece() {
    if (!client_->source) return false;
    const LineSource::More more = client_->source->append(client_->text);
    if (more == LineSource::More::no) {
      const std::string members = client_->source->end_members();
      client_->text += "{\"end\":true" + (members.empty() ? "" : "," + members) + "}\n";
      client_->source.reset();
    }
    return more == LineSource::More::yes;
  }
  /// The reader goes away in the middle.
  void hang_up() { client_.reset(); }
  [[nodiscard]] const std::string& text() const { return client_->text; }
  [[nodiscard]] bool is_streaming() const { return client_ && client_->source; }
  [[nodiscard]] bool is_woken() const { return client_ && client_->woken; }
  [[nodiscard]] bool is_subscribed() const { return client_ && client_->subscribed; }

 private:
  struct Client final : AnswerChannel, std::enable_shared_from_this<Client> {
    void answer(const std::string& line, std::unique_ptr<LineSource> from) override {
      text += line + "\n";
      source = std::move(from);
      if (source)
        source->on_more([weak = weak_from_this()] {
          if (const auto self = weak.lock()) self->woken = true;
        });
    }
    void subscribe() override { subscribed = true; }
    std::string text;
    std::unique_ptr<LineSource> source;
    bool woken = false;
    bool subscribed = false;
  };

  const CommandTable& commands_;
  std::shared_ptr<Client> client_;
};

}  // namespace asrp::runtime
