// SPDX-License-Identifier: GPL-2.0-or-later
// Reload: all or nothing, and the same read and checked without doing it.
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "config/diff.hpp"
#include "frame/daemon.hpp"
#include "runtime/notify.hpp"

namespace asrp::frame {

using runtime::json_quoted;
using runtime::log_error;
using runtime::log_info;

namespace {

std::string list_of(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ",") + json_quoted(text);
  return "[" + out + "]";
}

std::string problems_of(const std::vector<std::string>& problems) { return "\"problems\":" + list_of(problems); }

std::string change_object(const config::Change& change, bool waits) {
  std::string out = "{\"change\":\"" + std::string(to_string(change.kind)) + "\",\"key\":" + json_quoted(change.key);
  if (change.kind != config::Change::Kind::added) out += ",\"now\":" + json_quoted(change.before);
  if (change.kind != config::Change::Kind::removed) out += ",\"then\":" + json_quoted(change.after);
  return out + ",\"next_start\":" + (waits ? "true" : "false") + "}";
}

/// What the texts differ by. What differs between `next` and `next_start` is what waits.
bool put_changes(const Daemon::Texts& texts, runtime::LineSink& sink) {
  std::set<std::string> waiting;
  for (const config::Change& change : config::diff(texts.next, texts.next_start)) waiting.insert(change.key);
  for (const config::Change& change : config::diff(texts.now, texts.next_start))
    if (!sink.put(change_object(change, waiting.count(change.key) != 0))) return false;
  return true;
}

std::string count_text(const std::string& file, std::size_t errors) {
  return file + " has " + std::to_string(errors) + (errors == 1 ? " problem" : " problems");
}

}  // namespace

std::optional<std::string> Daemon::refusal(const std::optional<Next>& next, const config::Problems& problems) const {
  if (!next) return count_text(identity_.config_file, problems.errors());
  if (problems.bar_start()) return identity_.config_file + ": no daemon runs with it";
  if (!next->rules) return next->rules.error().to_string();
  return std::nullopt;
}

/// The rules come first and in another thread: packets go on meanwhile under the old configuration.
void Daemon::reload() {
  if (reloading_) {
    reload_again_ = true;
    return;
  }
  runtime::notify_reloading();
  level_before_ = runtime::log_level();
  reload_problems_.clear();
  config::Problems problems;
  auto next = read_next(identity_.config_file, problems);
  for (const config::Problem& problem : problems.list) {
    reload_problems_.push_back(problem.to_string());
    runtime::log(problem.is_warning ? runtime::LogLevel::warning : runtime::LogLevel::error, "config", problem.to_string());
  }
  if (const auto why = refusal(next, problems)) return fail_reload(*why);
  if (const auto trouble = runtime::configure_log(next->log)) return fail_reload("log: " + *trouble);
  for (const std::string& key : next->waiting) {
    reload_problems_.push_back(key + " has changed; it takes effect at the next start");
    runtime::log_warning("reload", reload_problems_.back());
  }
  reloading_ = true;
  auto sets = std::move(*next->rules);
  rules_->replace_later(std::move(sets), [this, next = std::move(*next)](const Outcome& done) { end_reload(next, done); });
}

void Daemon::end_reload(const Next& next, const Outcome& rules_done) {
  reloading_ = false;
  if (!rules_done) {
    fail_reload(rules_done.error().to_string());
  } else if (auto done = next.adopt(); !done) {
    if (auto sets = rules()) (void)rules_->replace(std::move(*sets));
    fail_reload(done.error().to_string());
  } else {
    arm_timer();
    log_info("reload", identity_.config_file + " is in force");
    runtime::notify_ready(activity());
    answer_reloads([](const runtime::ControlAnswer& answer, const std::string& problems) { answer.give(problems); });
  }
  reload_if_wanted_again();
}

/// Those who asked meanwhile want what the file has now.
void Daemon::reload_if_wanted_again() {
  if (!std::exchange(reload_again_, false)) return;
  reload_answers_ = std::exchange(again_answers_, {});
  reload();
}

void Daemon::renew_rules() {
  auto sets = rules();
  if (!sets) return log_error("rules", sets.error().to_string());
  reloading_ = true;
  rules_->replace_later(std::move(*sets), [this](const Outcome& done) {
    reloading_ = false;
    if (!done) log_error("rules", done.error().to_string());
    reload_if_wanted_again();
  });
}

void Daemon::fail_reload(const std::string& why) {
  (void)runtime::configure_log(settings().log);
  runtime::set_log_level(level_before_);
  log_error("reload", why + ": the running configuration stays");
  runtime::notify_ready(activity() + "; the last reload failed");
  answer_reloads([&why](const runtime::ControlAnswer& answer, const std::string& problems) {
    answer.refuse(why + ": the running configuration stays", "\"kind\":\"config\"," + problems);
  });
}

void Daemon::answer_reloads(const std::function<void(const runtime::ControlAnswer&, const std::string&)>& answer) {
  const std::string problems = problems_of(reload_problems_);
  for (const runtime::ControlAnswer& each : std::exchange(reload_answers_, {})) answer(each, problems);
}

void Daemon::on_reload_command(const runtime::ControlRequest& request, const runtime::ControlAnswer& answer) {
  if (request.flag("dry_run")) return dry_run(answer);
  (reloading_ ? again_answers_ : reload_answers_).push_back(answer);
  reload();
}

/// Reads and checks as a reload does, and tells what it would change.
void Daemon::dry_run(const runtime::ControlAnswer& answer) {
  config::Problems problems;
  const auto next = read_next(identity_.config_file, problems);
  std::vector<std::string> texts;
  for (const config::Problem& problem : problems.list) texts.push_back(problem.to_string());
  if (const auto why = refusal(next, problems)) return answer.refuse(*why, "\"kind\":\"config\"," + problems_of(texts));
  answer.stream(problems_of(texts),
                runtime::lines_of_thread(loop_,
                                         [config = next->texts(), consequences = next->consequences](runtime::LineSink& sink) {
                                           if (put_changes(config, sink) && consequences) consequences(sink);
                                         },
                                         {}));
}

}  // namespace asrp::frame
