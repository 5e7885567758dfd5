// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "config/reader.hpp"

namespace asrp::config {
namespace {

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

}  // namespace

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
    if (!is_printable(file->text))
      return problem(file_key, "found " + shown(file->text) + ", allowed is a path without control characters");
    std::filesystem::path path(file->text);
    if (path.is_relative()) path = std::filesystem::path(file_).parent_path() / path;
    if (!read_first_line(path, text)) return problem(file_key, "cannot read a key from " + shown(path.string()));
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && (status.st_mode & 077) != 0)
      warning(file_key, shown(path.string()) + " can be read by others than its owner; chmod 600 it");
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

}  // namespace asrp::config
