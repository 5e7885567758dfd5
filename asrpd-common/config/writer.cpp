// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/writer.hpp"

#include <cstdio>

namespace asrp::config {

void Writer::table(std::string_view name) { out_ += (out_.empty() ? "[" : "\n[") + std::string(name) + "]\n"; }
void Writer::item(std::string_view name) { out_ += (out_.empty() ? "[[" : "\n[[") + std::string(name) + "]]\n"; }

void Writer::raw(std::string_view key, std::string_view value) { out_ += std::string(key) + " = " + std::string(value) + "\n"; }

void Writer::text(std::string_view key, std::string_view value) { raw(key, quoted(value)); }
void Writer::integer(std::string_view key, std::int64_t value) { raw(key, std::to_string(value)); }
void Writer::boolean(std::string_view key, bool value) { raw(key, value ? "true" : "false"); }
void Writer::duration(std::string_view key, Duration value) { raw(key, quoted(format_duration(value))); }

void Writer::durations(std::string_view key, const std::vector<Duration>& values) {
  std::vector<std::string> texts;
  for (const Duration value : values) texts.push_back(quoted(format_duration(value)));
  raw(key, list(texts));
}

void Writer::addresses(std::string_view key, const std::vector<IpAddress>& values) {
  std::vector<std::string> texts;
  for (const IpAddress& value : values) texts.push_back(quoted(value.to_string()));
  raw(key, list(texts));
}

void Writer::secret(const std::string& key, const SecretKey& value) {
  if (value.file.empty()) {
    text(key, to_hex(value.value));
  } else {
    text(key + "_file", value.file);
  }
}

std::string Writer::quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto octet = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (octet < 0x20 || octet == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", octet);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string Writer::list(const std::vector<std::string>& values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i == 0 ? "" : ", ") + values[i];
  return out + "]";
}

}  // namespace asrp::config
