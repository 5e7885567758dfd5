// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "options_table.hpp"

namespace asrp::dump {
namespace {

constexpr std::string_view kOptional = "[";  // an argument in brackets may be left out

/// A word behind --ladder that can only be meant as a picture's name: of a kind that can be drawn, or of one that can't.
bool is_picture(std::string_view word) {
  constexpr std::string_view kEndings[] = {".svg", ".png", ".pdf", ".jpg", ".jpeg", ".gif", ".webp", ".eps", ".ps", ".html"};
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](auto ending) { return has_ending(word, ending); });
}

class Parser {
 public:
  Parser() : app_("asrpdump: see what ASRP does", "asrpdump FILE|-r FILE|-i INTERFACE [FILTER]") {
    app_.set_help_flag();  // the table has its own
    app_.allow_extras();
    for (const OptionGroup& group : option_groups()) {
      for (const OptionRow& row : group.rows) add(group, row);
    }
  }

  ParsedOptions parse(std::vector<std::string> arguments) {
    refuse_empty(arguments);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::ParseError& error) {
      problem(error.what());
    }
    take_rest();
    const Options& options = parsed_.options;
    if (!options.help && !options.version && !options.list_interfaces) check_together();
    return std::move(parsed_);
  }

  std::string help() {
    app_.get_formatter()->column_width(34);
    app_.footer(
        "FILTER is a pcap-filter(7) expression. Without one a live capture takes what can hold ASRP.\n"
        "Exit status: 0 read to the end, 1 error, 2 wrong usage, 3 certain findings of --check.\n"
        "\nExamples:\n"
        "  asrpdump capture.pcap                        one line per message\n"
        "  asrpdump -v -r capture.pcapng host 192.0.2.7 every field\n"
        "  asrpdump -i any --json | jq .type            live, for scripts\n"
        "  asrpdump -r big.pcap.gz -w asrp.pcap         only what carries ASRP\n"
        "  asrpdump -r capture.pcap --sessions --check  who was recovered, and was it done right?\n"
        "Manual: asrpdump(1).");
    return app_.help();
  }

 private:
  void problem(std::string text) { parsed_.problems.push_back(std::move(text)); }

  /// The row's function runs as soon as its option is met: -n and -N, for instance, go by their order.
  void add(const OptionGroup& group, const OptionRow& row) {
    const std::string letter = row.letter == 0 ? "" : std::string("-") + row.letter;
    const std::string spelling = row.name.empty() ? letter : std::string(row.name);
    const auto take = [this, &row, spelling](const CLI::results_t& values) {
      apply(row, spelling, values.back());
      return true;
    };
    auto* const option = app_.add_option(letter + "," + std::string(row.name), take, std::string(row.help));
    option->type_name(std::string(row.argument))->group(std::string(group.title))->trigger_on_parse();
    if (row.argument.empty() || row.argument.starts_with(kOptional)) option->expected(0);
  }

  void apply(const OptionRow& row, const std::string& spelling, std::string_view value) {
    const bool is_bare = value == "true";  // what CLI11 gives to an option without a value
    if (row.argument.empty() && !is_bare) return problem(spelling + " takes no value");
    const bool is_optional = row.argument.starts_with(kOptional);
    if (is_optional && is_bare) {
      picture_row_ = &row;
      picture_at_ = app_.remaining().size();
    }
    if (row.argument.empty() || (is_optional && is_bare)) value = {};
    const std::string wrong = row.apply(parsed_.options, value);
    if (!wrong.empty()) problem(spelling + (value.empty() ? " " : " " + std::string(value) + ": ") + wrong);
  }

  /// CLI11 would take the next word, an option even, as the value of "--session=".
  void refuse_empty(std::vector<std::string>& arguments) {
    const auto end = std::find(arguments.begin(), arguments.end(), "--");
    const auto is_empty = [this](const std::string& argument) {
      if (!argument.starts_with("--") || argument.find('=') != argument.size() - 1) return false;
      problem(argument + " needs a value");
      return true;
    };
    arguments.erase(std::remove_if(arguments.begin(), end, is_empty), end);
  }

  /// What is no option of the table: a picture's name, unknown options, FILE and FILTER.
  void take_rest() {
    Options& options = parsed_.options;
    std::vector<std::string> rest = app_.remaining();
    if (picture_row_ != nullptr && picture_at_ < rest.size() && is_picture(rest[picture_at_])) {
      apply(*picture_row_, std::string(picture_row_->name), rest[picture_at_]);
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(picture_at_));
    }
    bool is_only_words = false;
    bool is_file_given = !options.read.empty() || !options.live.interface.empty();
    for (const std::string& word : rest) {
      if (!is_only_words && word == "--") {
        is_only_words = true;
      } else if (!is_only_words && word.size() > 1 && word.starts_with("-")) {
        problem(word + ": no such option");
      } else if (!is_file_given) {
        options.read = word;
        is_file_given = true;
      } else {
        options.filter += (options.filter.empty() ? "" : " ") + word;
      }
    }
  }

  void check_together() {
    const Options& options = parsed_.options;
    if (options.read.empty() && options.live.interface.empty()) problem("nothing to read: give FILE, -r FILE or -i INTERFACE");
    if (!options.read.empty() && !options.live.interface.empty()) problem("-r and -i exclude each other");
    if (options.json && options.ladder && options.ladder_file.empty()) {
      problem("--ladder draws where --json writes: give it a file, --ladder FILE.svg, or leave one of them out");
    }
    if (options.session && !options.sessions && !options.ladder)
      problem("--session is of use only with --sessions or --ladder");
    if (options.ladder_limit != 0 && !options.ladder) problem("--ladder-limit is of use only with --ladder");
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

  CLI::App app_;
  const OptionRow* picture_row_ = nullptr;  // an option whose value may be the word that follows
  std::size_t picture_at_ = 0;              // where that word would stand among the rest
  ParsedOptions parsed_;
};

}  // namespace

ParsedOptions parse_options(const std::vector<std::string>& arguments) { return Parser().parse(arguments); }

std::string help_text() { return Parser().help(); }

}  // namespace asrp::dump
