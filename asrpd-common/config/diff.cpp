// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/diff.hpp"

#include <map>

#include "config/value.hpp"

namespace asrp::config {
namespace {

constexpr const char* kSecret = "(secret)";

/// Octets that are worth nothing any more once they have been shown.
bool is_secret(std::string_view key) { return key == "key" || key == "placement_key" || key.ends_with("_secret"); }

struct Leaf {
  std::string text;
  bool secret = false;
};
/// Keys to values. An item of a list has a leaf of its own, "present", under its name: so one that comes or goes is seen.
using Flat = std::map<std::string, Leaf>;

std::string item_name(const Value& item, std::size_t place) {
  for (const char* const name : {"name", "id", "client"})
    if (const Value* const found = item.find(name); found != nullptr && found->kind == Value::Kind::text) return found->text;
  const Value* const protocol = item.find("protocol");
  const Value* const port = item.find("port");
  if (protocol != nullptr && port != nullptr) return protocol->text + "-" + std::to_string(port->integer);
  return std::to_string(place + 1);
}

std::string text_of(const Value& value) {
  if (value.kind != Value::Kind::array) return value.describe();
  std::string out = "[";
  for (const Value& each : value.items) out += (out.size() > 1 ? ", " : "") + text_of(each);
  return out + "]";
}

void flatten(const Value& value, const std::string& path, Flat& out) {
  for (const Member& member : value.members) {
    const std::string key = path.empty() ? member.key : path + "." + member.key;
    const bool of_tables = member.value.kind == Value::Kind::array && !member.value.items.empty() &&
                           member.value.items[0].kind == Value::Kind::table;
    if (of_tables) {
      for (std::size_t i = 0; i < member.value.items.size(); ++i) {
        const std::string item = key + "." + item_name(member.value.items[i], i);
        out[item] = {};
        flatten(member.value.items[i], item, out);
      }
    } else if (member.value.kind == Value::Kind::table) {
      flatten(member.value, key, out);
    } else {
      out[key] = {text_of(member.value), is_secret(member.key)};
    }
  }
}

Flat flat(std::string_view text) {
  Problems problems;
  Flat out;
  if (const auto root = parse_toml(text, "", problems)) flatten(*root, "", out);
  return out;
}

/// The keys of `from` that `other` lacks; what lies below an item that is lacking as a whole is not told apart.
void add_lacking(const Flat& from, const Flat& other, Change::Kind kind, std::map<std::string, Change>& out) {
  std::string whole;
  for (const auto& [key, leaf] : from) {
    if (other.count(key) != 0 || (!whole.empty() && key.starts_with(whole))) continue;
    const std::string shown = leaf.secret ? kSecret : leaf.text;
    out[key] = {kind, key, kind == Change::Kind::removed ? shown : "", kind == Change::Kind::added ? shown : ""};
    whole = leaf.text.empty() && !leaf.secret ? key + "." : "";
  }
}

}  // namespace

std::string_view to_string(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::added:
      return "added";
    case Change::Kind::removed:
      return "removed";
    case Change::Kind::changed:
      return "changed";
  }
  return "";
}

std::vector<Change> diff(std::string_view before, std::string_view after) {
  const Flat old_keys = flat(before);
  const Flat new_keys = flat(after);
  std::map<std::string, Change> changes;
  add_lacking(old_keys, new_keys, Change::Kind::removed, changes);
  add_lacking(new_keys, old_keys, Change::Kind::added, changes);
  for (const auto& [key, leaf] : old_keys) {
    const auto found = new_keys.find(key);
    if (found == new_keys.end() || found->second.text == leaf.text) continue;
    changes[key] = {Change::Kind::changed, key, leaf.secret ? kSecret : leaf.text, leaf.secret ? kSecret : found->second.text};
  }
  std::vector<Change> out;
  for (auto& [key, change] : changes) out.push_back(std::move(change));
  return out;
}

}  // namespace asrp::config
