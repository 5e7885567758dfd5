// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "config/reader.hpp"

namespace asrp::config {
namespace {

std::string_view why_no_address(std::string_view text) {
  if (text.find('/') != std::string_view::npos) return "; a prefix length has no place here";
  if (text.find('%') != std::string_view::npos) return "; an address with a zone cannot be used";
  return "";
}

std::optional<IpAddress> read_address(const std::string& text, std::string& message) {
  const auto address = IpAddress::parse(text);
  if (!address) {
    message = "found " + shown(text) + ", allowed is an IPv4 or IPv6 address" + std::string(why_no_address(text));
  } else if (address->unmapped() != *address) {
    message = "found " + shown(text) + ", an IPv4-mapped address; write " + address->unmapped().to_string();
    return std::nullopt;
  }
  return address;
}

}  // namespace

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

bool Reader::prefixes(std::string_view key, std::vector<Prefix>& out) {
  if (!has(key)) {
    ask(key);
    return false;
  }
  std::vector<std::string> read;
  texts(key, read);
  out.clear();
  for (const std::string& each : read) {
    const auto prefix = Prefix::parse(each);
    if (!prefix) {
      problem(key, "found " + shown(each) + ", allowed are addresses and prefixes such as \"10.0.0.0/24\"");
    } else if (prefix->address.unmapped() != prefix->address) {
      problem(key, "found " + shown(each) + ", an IPv4-mapped address; write it as IPv4");
    } else if (!prefix->is_network()) {
      problem(key, "found " + shown(each) + ", whose address has bits behind the prefix");
    } else {
      out.push_back(*prefix);
    }
  }
  return out.size() == read.size();
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

}  // namespace asrp::config
