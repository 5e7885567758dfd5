// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/reader.hpp"

#include <algorithm>

namespace asrp::config {
namespace {

const Value& empty_table() {
  static const Value table = [] {
    Value v;
    v.kind = Value::Kind::table;
    return v;
  }();
  return table;
}

}  // namespace

Reader::Reader(const Value& value, std::string path, std::string file, Problems& problems)
    : value_(&value), path_(std::move(path)), file_(std::move(file)), problems_(&problems) {}

std::string Reader::name_of(std::string_view key) const {
  if (path_.empty()) return std::string(key);
  return key.empty() ? path_ : path_ + "." + std::string(key);
}

unsigned Reader::line(std::string_view key) const {
  // "full_nat.ports": as deep as the file has it.
  const Value* at = value_;
  for (std::string_view rest = key; !rest.empty();) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const Value* found = at->find(rest.substr(0, dot));
    if (found == nullptr) break;
    at = found;
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  return at->line;
}

void Reader::report(std::string_view key, unsigned at, std::string message, bool is_warning) {
  problems_->list.push_back({file_, at, name_of(key), std::move(message), is_warning});
}

void Reader::problem(std::string_view key, std::string message) { report(key, line(key), std::move(message)); }
void Reader::warning(std::string_view key, std::string message) { report(key, line(key), std::move(message), true); }
void Reader::bar_start(std::string_view key, std::string message) {
  warning(key, std::move(message));
  problems_->list.back().bars_start = true;
}

const Value* Reader::ask(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  return value_->find(key);
}

const Value* Reader::ask(std::string_view key, Value::Kind kind, std::string_view allowed) {
  const Value* found = ask(key);
  if (found == nullptr || found->kind == kind) return found;
  problem(key, "found " + found->describe() + ", allowed is " + std::string(allowed));
  return nullptr;
}

bool Reader::require(std::string_view key) {
  if (ask(key) != nullptr) return true;
  report(key, value_->line, "is missing");
  return false;
}

bool Reader::text(std::string_view key, std::string& out) {
  const Value* found = ask(key, Value::Kind::text, "a string");
  if (found != nullptr) out = found->text;
  return found != nullptr;
}

bool Reader::path(std::string_view key, std::string& out) {
  std::string read;
  if (!text(key, read)) return false;
  if (!is_printable(read)) {
    problem(key, "found " + shown(read) + ", allowed is a path without control characters");
    return false;
  }
  out = std::move(read);
  return true;
}

void Reader::boolean(std::string_view key, bool& out) {
  if (const Value* found = ask(key, Value::Kind::boolean, "true or false")) out = found->boolean;
}

bool Reader::read_integer(std::string_view key, std::int64_t& out, std::int64_t low, std::int64_t high) {
  const std::string allowed = "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
  const Value* found = ask(key, Value::Kind::integer, allowed);
  if (found == nullptr) return false;
  if (found->integer < low || found->integer > high) {
    problem(key, "found " + found->describe() + ", allowed is " + allowed);
    return false;
  }
  out = found->integer;
  return true;
}

std::size_t Reader::read_choice(std::string_view key, const std::vector<std::string_view>& names) {
  std::string allowed;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) allowed += i + 1 == names.size() ? " or " : ", ";
    allowed += "\"" + std::string(names[i]) + "\"";
  }
  const Value* found = ask(key, Value::Kind::text, allowed);
  if (found == nullptr) return names.size();
  const auto at = std::find(names.begin(), names.end(), found->text);
  if (at == names.end()) problem(key, "found " + found->describe() + ", allowed is " + allowed);
  return static_cast<std::size_t>(at - names.begin());
}

void Reader::duration(std::string_view key, Duration& out, Duration low, Duration high) {
  const std::string allowed =
      "a time with its unit, from \"" + format_duration(low) + "\" to \"" + format_duration(high) + "\"";
  const Value* found = ask(key, Value::Kind::text, allowed);
  if (found == nullptr) return;
  const auto parsed = parse_duration(found->text);
  if (parsed && *parsed >= low && *parsed <= high) {
    out = *parsed;
  } else {
    problem(key, "found " + found->describe() + ", allowed is " + allowed);
  }
}

void Reader::each_text(std::string_view key, std::string_view allowed,
                       const std::function<void(const std::string& name, const Value& item)>& each) {
  const Value* found = ask(key, Value::Kind::array, "a list with " + std::string(allowed));
  if (found == nullptr) return;
  for (std::size_t i = 0; i < found->items.size(); ++i) {
    const Value& item = found->items[i];
    const std::string name = std::string(key) + "[" + std::to_string(i) + "]";
    if (item.kind == Value::Kind::text) {
      each(name, item);
    } else {
      report(name, item.line, "found " + item.describe() + ", allowed is " + std::string(allowed));
    }
  }
}

void Reader::durations(std::string_view key, std::vector<Duration>& out, Duration low, Duration high) {
  if (!has(key)) return (void)ask(key);
  std::vector<Duration> read;
  const std::string allowed = "times from \"" + format_duration(low) + "\" to \"" + format_duration(high) + "\"";
  each_text(key, allowed, [&](const std::string& name, const Value& item) {
    const auto parsed = parse_duration(item.text);
    if (parsed && *parsed >= low && *parsed <= high) {
      read.push_back(*parsed);
    } else {
      report(name, item.line, "found " + item.describe() + ", allowed are " + allowed);
    }
  });
  out = std::move(read);
}

void Reader::texts(std::string_view key, std::vector<std::string>& out) {
  if (!has(key)) return (void)ask(key);
  std::vector<std::string> read;
  each_text(key, "strings", [&](const std::string&, const Value& item) { read.push_back(item.text); });
  out = std::move(read);
}

Reader Reader::table(std::string_view key) {
  const Value* found = ask(key, Value::Kind::table, "a table");
  Reader reader(found != nullptr ? *found : empty_table(), name_of(key), file_, *problems_);
  return reader;
}

std::vector<Reader> Reader::tables(std::string_view key) {
  std::vector<Reader> readers;
  const Value* found = ask(key, Value::Kind::array, "a list of tables, each under [[" + name_of(key) + "]]");
  if (found == nullptr) return readers;
  for (std::size_t i = 0; i < found->items.size(); ++i) {
    const Value& item = found->items[i];
    const std::string name = std::string(key) + "[" + std::to_string(i) + "]";
    if (item.kind == Value::Kind::table) {
      readers.emplace_back(item, name_of(name), file_, *problems_);
    } else {
      report(name, item.line, "found " + item.describe() + ", allowed is a table");
    }
  }
  return readers;
}

void Reader::finish() {
  for (const Member& member : value_->members) {
    if (std::find(asked_.begin(), asked_.end(), member.key) != asked_.end()) continue;
    std::string message = "is not known here";
    if (const auto guess = nearest(member.key, asked_)) message += "; did you mean " + *guess + "?";
    report(escaped(member.key), member.value.line, message);
  }
}

}  // namespace asrp::config
