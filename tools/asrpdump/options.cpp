// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "options_table.hpp"

namespace asrp::dump {
namespace {

constexpr std::string_view kOptional = "[";  // an argument in brackets may be left out

/// Calls `visit` with each row until it returns true.
template <typename Visit>
const OptionRow* find_row(Visit visit) {
  for (const OptionGroup& group : option_groups()) {
    for (const OptionRow& row : group.rows) {
      if (visit(row)) return &row;
    }
  }
  return nullptr;
}

std::string spelling(const OptionRow& row) { return row.name.empty() ? std::string("-") + row.letter : std::string(row.name); }

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  ParsedOptions parse() {
    while (at_ < arguments_.size()) {
      const std::string& argument = arguments_[at_++];
      if (is_only_words_ || argument == "-" || !argument.starts_with("-")) {
        words_.push_back(argument);
      } else if (argument == "--") {
        is_only_words_ = true;
      } else if (argument.starts_with("--")) {
        long_option(argument);
      } else {
        letters(argument);
      }
    }
    const bool is_only_asked = parsed_.options.help || parsed_.options.version || parsed_.options.list_interfaces;
    if (!is_only_asked) take_words();
    if (!is_only_asked) check_together();
    return std::move(parsed_);
  }

 private:
  void problem(std::string text) { parsed_.problems.push_back(std::move(text)); }

  void apply(const OptionRow& row, std::string_view value) {
    const std::string wrong = row.apply(parsed_.options, value);
    if (!wrong.empty()) problem(spelling(row) + (value.empty() ? " " : " " + std::string(value) + ": ") + wrong);
  }

  void long_option(const std::string& argument) {
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const OptionRow* const row = find_row([&](const OptionRow& r) { return r.name == name; });
    if (row == nullptr) return problem(name + ": no such option");
    if (row->argument.empty()) {
      if (equals != std::string::npos) return problem(name + " takes no value");
      return apply(*row, {});
    }
    if (equals != std::string::npos) return apply(*row, std::string_view(argument).substr(equals + 1));
    if (row->argument.starts_with(kOptional)) {
      const bool is_picture = at_ < arguments_.size() && arguments_[at_].ends_with(".svg");
      return apply(*row, is_picture ? std::string_view(arguments_[at_++]) : std::string_view());
    }
    with_next(*row);
  }

  /// The argument is the next word.
  void with_next(const OptionRow& row) {
    if (at_ == arguments_.size()) return problem(spelling(row) + " needs a value: " + std::string(row.argument));
    apply(row, arguments_[at_++]);
  }

  void letters(const std::string& argument) {
    for (std::size_t i = 1; i < argument.size(); ++i) {
      const char letter = argument[i];
      const OptionRow* const row = find_row([&](const OptionRow& r) { return r.letter == letter; });
      if (row == nullptr) {
        problem(std::string("-") + letter + ": no such option");
      } else if (row->argument.empty()) {
        apply(*row, {});
      } else {
        if (i + 1 == argument.size()) return with_next(*row);
        return apply(*row, std::string_view(argument).substr(i + 1));
      }
    }
  }

  void take_words() {
    Options& options = parsed_.options;
    auto begin = words_.begin();
    if (options.read.empty() && options.live.interface.empty() && begin != words_.end()) options.read = *begin++;
    for (; begin != words_.end(); ++begin) options.filter += (options.filter.empty() ? "" : " ") + *begin;
  }

  void check_together() {
    const Options& options = parsed_.options;
    if (options.read.empty() && options.live.interface.empty()) problem("nothing to read: give FILE, -r FILE or -i INTERFACE");
    if (!options.read.empty() && !options.live.interface.empty()) problem("-r and -i exclude each other");
    if (options.json && options.print) problem("--json and --print exclude each other");
    if (!options.write) return;
    const WriteOptions& write = *options.write;
    if (write.name.empty()) problem("-C, -G, -W and -U are of use only with -w FILE");
    if (write.files != 0 && write.size == 0 && write.seconds == 0) problem("-W needs -C or -G");
    const bool is_standard = write.name == "-";
    if (is_standard && (write.size != 0 || write.seconds != 0)) problem("-w - can't be rotated");
    if (is_standard && (options.wants_text() || options.json || options.has_report())) {
      problem("-w - leaves no room for other output");
    }
  }

  const std::vector<std::string>& arguments_;
  std::size_t at_ = 0;
  bool is_only_words_ = false;
  std::vector<std::string> words_;
  ParsedOptions parsed_;
};

void append_row(std::string& out, const OptionRow& row) {
  constexpr std::size_t kColumn = 34;
  std::string left = row.letter != 0 ? std::string("  -") + row.letter : "    ";
  if (!row.name.empty()) left += (row.letter != 0 ? ", " : "  ") + std::string(row.name);
  if (!row.argument.empty()) left += " " + std::string(row.argument);
  out += left;
  if (left.size() >= kColumn) {
    out += "\n" + std::string(kColumn, ' ');
  } else {
    out.append(kColumn - left.size(), ' ');
  }
  out += row.help;
  out += "\n";
}

}  // namespace

ParsedOptions parse_options(const std::vector<std::string>& arguments) { return Parser(arguments).parse(); }

std::string help_text() {
  std::string out =
      "asrpdump: see what ASRP does\n"
      "Usage: asrpdump [OPTIONS] FILE|-r FILE|-i INTERFACE [FILTER]\n";
  for (const OptionGroup& group : option_groups()) {
    out += "\n" + std::string(group.title) + ":\n";
    for (const OptionRow& row : group.rows) append_row(out, row);
  }
  out +=
      "\nFILTER is a pcap-filter(7) expression. Without one a live capture takes what can hold ASRP.\n"
      "Exit status: 0 read to the end, 1 error, 2 wrong usage, 3 certain findings of --check.\n"
      "\nExamples:\n"
      "  asrpdump capture.pcap                        one line per message\n"
      "  asrpdump -v -r capture.pcapng host 192.0.2.7 every field\n"
      "  asrpdump -i any --json | jq .type            live, for scripts\n"
      "  asrpdump -r big.pcap.gz -w asrp.pcap         only what carries ASRP\n"
      "  asrpdump -r capture.pcap --sessions --check  who was recovered, and was it done right?\n"
      "Manual: asrpdump(1).\n";
  return out;
}

}  // namespace asrp::dump
