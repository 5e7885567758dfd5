// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>

#include "config/reader.hpp"
#include "config/unreadable.hpp"

namespace asrp::config {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

constexpr std::string_view kDraw = "openssl rand -hex 16";

/// No more of a line than a key and generous white space need: the file may be a device that never ends. Returns why there is
/// none.
std::optional<std::string> read_first_line(const std::filesystem::path& path, std::string& out) {
  char start[256];
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  stream.read(start, sizeof start);
  out.assign(start, static_cast<std::size_t>(stream.gcount()));
  if (out.empty() && errno == 0) return "it is empty; write one there: " + std::string(kDraw);
  if (out.empty() && errno == ENOENT) return why_unreadable(ENOENT) + "; write one there: " + std::string(kDraw);
  if (out.empty()) return why_unreadable(errno);
  out.resize(std::min(out.find('\n'), out.size()));
  return std::nullopt;
}

/// Those of the example files spell so. Everybody has them.
bool is_of_an_example(const HashKey& key) {
  static constexpr std::string_view kWord = "example";
  return std::equal(kWord.begin(), kWord.end(), key.begin());
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
    if (const auto why = read_first_line(path, text))
      return problem(file_key, "cannot read a key from " + shown(path.string()) + ": " + *why);
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && (status.st_mode & 077) != 0)
      warning(file_key,
              shown(path.string()) + " can be read by others than its owner; chmod 600 it, the owner being the daemon's user");
    out.file = file->text;
  } else {
    text = here->text;
  }
  // The found text is not repeated here: it may be a secret with a typing error.
  if (!parse_key(trimmed(text), out.value)) {
    problem(reported, "found something else than " + std::string(kAllowed) + "; draw one: " + std::string(kDraw));
  } else if (out.value == HashKey{}) {
    problem(reported, "is all zeros; draw a key, for example with `" + std::string(kDraw) + "`");
  } else if (is_of_an_example(out.value)) {
    bar_start(reported, "is that of the example, which everybody has, and the daemon does not run with it; draw your own: " +
                            std::string(kDraw));
  }
}

}  // namespace asrp::config
