// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/reader.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

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

struct Unit {
  std::string_view name;
  Duration size;
};
constexpr Unit kUnits[] = {{"h", std::chrono::hours(1)},         {"min", std::chrono::minutes(1)},
                           {"s", std::chrono::seconds(1)},       {"ms", std::chrono::milliseconds(1)},
                           {"us", std::chrono::microseconds(1)}, {"ns", std::chrono::nanoseconds(1)}};

std::string_view why_no_address(std::string_view text) {
  if (text.find('/') != std::string_view::npos) return "; a prefix length has no place here";
  if (text.find('%') != std::string_view::npos) return "; an address with a zone cannot be used";
  return "";
}

std::optional<IpAddress> read_address(const std::string& text, std::string& message) {
  const auto address = IpAddress::parse(text);
  if (!address) {
    message = "found \"" + text + "\", allowed is an IPv4 or IPv6 address" + std::string(why_no_address(text));
  } else if (address->unmapped() != *address) {
    message = "found \"" + text + "\", an IPv4-mapped address; write " + address->unmapped().to_string();
    return std::nullopt;
  }
  return address;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// No more of a line than a key and generous white space need: the file may be a device that never ends.
bool read_first_line(const std::filesystem::path& path, std::string& out) {
  char start[256];
  std::ifstream stream(path, std::ios::binary);
  stream.read(start, sizeof start);
  out.assign(start, static_cast<std::size_t>(stream.gcount()));
  const bool any = !out.empty();
  out.resize(std::min(out.find('\n'), out.size()));
  return any;
}

bool parse_key(const std::string& text, HashKey& out) {
  Buffer octets;
  if (text.size() != 32 || !from_hex(text, octets) || octets.size() != out.size()) return false;
  std::copy(octets.begin(), octets.end(), out.begin());
  return true;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Unit& u : kUnits)
    if (u.name == unit && number <= Duration::max().count() / u.size.count()) return number * u.size;
  return std::nullopt;
}

std::string format_duration(Duration duration) {
  // Hours and minutes are read, but written as seconds: "7440s" compares with "600s" at a glance.
  for (const Unit& u : kUnits)
    if (u.size <= std::chrono::seconds(1) && duration % u.size == Duration::zero())
      return std::to_string(duration / u.size) + std::string(u.name);
  return std::to_string(duration.count()) + "ns";
}

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

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

template <typename Each>
void Reader::each_text(std::string_view key, std::string_view allowed, Each each) {
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

void Reader::address(std::string_view key, IpAddress& out) {
  const Value* found = ask(key, Value::Kind::text, "an IPv4 or IPv6 address");
  if (found == nullptr) return;
  std::string message;
  if (const auto parsed = read_address(found->text, message)) {
    out = *parsed;
  } else {
    problem(key, message);
  }
}

void Reader::addresses(std::string_view key, std::vector<IpAddress>& out) {
  if (!has(key)) return (void)ask(key);
  std::vector<IpAddress> read;
  each_text(key, "addresses", [&](const std::string& name, const Value& item) {
    std::string message;
    const auto parsed = read_address(item.text, message);
    if (!parsed) {
      report(name, item.line, message);
    } else if (std::find(read.begin(), read.end(), *parsed) != read.end()) {
      report(name, item.line, "found " + item.describe() + " a second time");
    } else {
      read.push_back(*parsed);
    }
  });
  out = std::move(read);
}

void Reader::endpoint(std::string_view key, Endpoint& out) {
  static constexpr std::string_view kAllowed = "ADDRESS:PORT with a port from 1 to 65535, IPv6 as [ADDRESS]:PORT";
  const Value* found = ask(key, Value::Kind::text, kAllowed);
  if (found == nullptr) return;
  const auto parsed = Endpoint::parse(found->text);
  if (parsed && parsed->port != 0 && parsed->address.unmapped() == parsed->address && !parsed->address.is_unspecified()) {
    out = *parsed;
  } else {
    problem(key,
            "found " + found->describe() + ", allowed is " + std::string(kAllowed) + std::string(why_no_address(found->text)));
  }
}

void Reader::texts(std::string_view key, std::vector<std::string>& out) {
  if (!has(key)) return (void)ask(key);
  std::vector<std::string> read;
  each_text(key, "strings", [&](const std::string&, const Value& item) { read.push_back(item.text); });
  out = std::move(read);
}

void Reader::secret(const std::string& key, SecretKey& out) {
  static constexpr std::string_view kAllowed = "a key of 32 hexadecimal digits";
  const std::string file_key = key + "_file";
  std::string text;
  const Value* here = ask(key, Value::Kind::text, kAllowed);
  const Value* file = ask(file_key, Value::Kind::text, "the name of a file");
  if (here != nullptr && file != nullptr) problem(file_key, "is given besides " + name_of(key) + "; give one of them");
  if (here == nullptr && file == nullptr) {
    if (!has(key) && !has(file_key))
      report(key, value_->line, "is missing; allowed is " + std::string(kAllowed) + ", or " + file_key);
    return;
  }
  std::string_view reported = key;
  if (here == nullptr) {
    reported = file_key;
    std::filesystem::path path(file->text);
    if (path.is_relative()) path = std::filesystem::path(file_).parent_path() / path;
    if (!read_first_line(path, text)) return problem(file_key, "cannot read a key from " + path.string());
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && (status.st_mode & 077) != 0)
      warning(file_key, path.string() + " can be read by others than its owner; chmod 600 it");
    out.file = file->text;
  } else {
    text = here->text;
  }
  // The found text is not repeated here: it may be a secret with a typing error.
  if (!parse_key(trimmed(text), out.value)) {
    problem(reported, "found something else than " + std::string(kAllowed));
  } else if (out.value == HashKey{}) {
    problem(reported, "is all zeros; draw a key, for example with `openssl rand -hex 16`");
  }
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
    report(member.key, member.value.line, message);
  }
}

}  // namespace asrp::config
