// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/value.hpp"

#define TOML_HEADER_ONLY 0
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "config/text.hpp"
#include "config/unreadable.hpp"
#include "runtime/files.hpp"

namespace asrp::config {
namespace {

Value convert(const toml::node& node);

void convert_members(const toml::table& table, Value& out) {
  out.kind = Value::Kind::table;
  for (const auto& [key, node] : table) {
    Member member{std::string(key.str()), convert(node)};
    member.value.line = key.source().begin.line;
    out.members.push_back(std::move(member));
  }
  // toml++ sorts by key; the order of the file makes messages easier to follow.
  std::stable_sort(out.members.begin(), out.members.end(),
                   [](const Member& a, const Member& b) { return a.value.line < b.value.line; });
}

Value convert(const toml::node& node) {
  Value out;
  out.line = node.source().begin.line;
  if (const auto* table = node.as_table()) {
    convert_members(*table, out);
  } else if (const auto* array = node.as_array()) {
    out.kind = Value::Kind::array;
    for (const toml::node& item : *array) out.items.push_back(convert(item));
  } else if (const auto* text = node.as_string()) {
    out.kind = Value::Kind::text;
    out.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    out.kind = Value::Kind::integer;
    out.integer = integer->get();
  } else if (const auto* boolean = node.as_boolean()) {
    out.kind = Value::Kind::boolean;
    out.boolean = boolean->get();
  } else {
    out.text = node.is_floating_point() ? "a number with a fraction" : "a date or time";
  }
  return out;
}

/// The parser's words. What they repeat of the file stands between the first and the last apostrophe; a very long part has no
/// last one.
std::string complaint(std::string_view words) {
  constexpr std::size_t kLongest = 200;
  const std::size_t first = words.find('\'');
  if (first == std::string_view::npos) return escaped(words, kLongest);
  const std::size_t last = words.rfind('\'') == first ? words.size() : words.rfind('\'');
  return escaped(words.substr(0, first + 1), kLongest) + escaped(words.substr(first + 1, last - first - 1)) +
         escaped(words.substr(last), kLongest);
}

}  // namespace

std::string Problem::to_string() const {
  const std::string place =
      key.empty() ? (line == 0 ? "" : ":" + std::to_string(line)) : ":" + std::to_string(line) + ":" + key;
  return file + place + ": " + (is_warning ? "warning: " : "") + message;
}

std::size_t Problems::errors() const {
  return static_cast<std::size_t>(std::count_if(list.begin(), list.end(), [](const Problem& p) { return !p.is_warning; }));
}

bool Problems::bar_start() const {
  return std::any_of(list.begin(), list.end(), [](const Problem& p) { return p.bars_start; });
}

const Value* Value::find(std::string_view key) const {
  for (const Member& member : members)
    if (member.key == key) return &member.value;
  return nullptr;
}

std::string Value::describe() const {
  switch (kind) {
    case Kind::boolean:
      return boolean ? "true" : "false";
    case Kind::integer:
      return std::to_string(integer);
    case Kind::text:
      return shown(text);
    case Kind::array:
      return "a list";
    case Kind::table:
      return "a table";
    case Kind::other:
      return text;
  }
  return text;
}

std::optional<Value> parse_toml(std::string_view text, const std::string& file, Problems& problems) {
  try {
    Value root;
    convert_members(toml::parse(text, std::string_view(file)), root);
    root.line = 1;
    return root;
  } catch (const toml::parse_error& error) {
    problems.list.push_back({file, error.source().begin.line, "", "not TOML: " + complaint(error.description()), false});
    return std::nullopt;
  }
}

std::optional<Value> load_toml(const std::string& file, Problems& problems) {
  const auto text = runtime::read_file(file);
  if (text && text->has_value()) return parse_toml(**text, file, problems);
  std::string why = why_unreadable(text ? ENOENT : text.error().error_number);
  if (!text && !text.error().advice.empty()) why += "; " + text.error().advice;
  problems.list.push_back({file, 0, "", "cannot be read: " + why, false});
  return std::nullopt;
}

}  // namespace asrp::config
