// SPDX-License-Identifier: BSD-3-Clause
// `epochs`: a node's pools as they are and were; `epochs export` writes them, `epochs import` gives them to another node.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "commands/commands.hpp"
#include "listing.hpp"

namespace asrp::ctl {
namespace {

using nlohmann::json;
using Align = Table::Align;

constexpr std::size_t kLongestRequest = 4000;    // octets; a daemon takes 4096
constexpr std::size_t kLongestFile = 16u << 20;  // octets; a daemon takes no more

struct Arguments {
  std::string pool;
  std::string export_pool;
  std::string file;
  CLI::App* export_ = nullptr;
  CLI::App* import_ = nullptr;
};

Table::Cell number_of(const json& line) {
  const json& number = member(line, "epoch");
  return number == json(0) ? std::string("today") : "former " + plain(number);
}

/// Where only the configuration says that there was such an epoch, that.
Table::Cell began(const json& line) {
  const json& value = member(line, "began");
  return value.is_number_integer() ? moment_text(value) : "configured";
}

json with_pool(const char* command, const std::string& pool) {
  json request = {{"command", command}};
  if (!pool.empty()) request["pool"] = pool;
  return request;
}

int list(Console& console, const std::string& pool) {
  return show_listing(console, with_pool("epochs", pool),
                      {{"POOL", "pool"},
                       {"EPOCH", "epoch", Align::left, number_of},
                       {"BEGAN", "began", Align::left, began},
                       {"SERVERS", "servers", Align::right},
                       {"DIGEST", "digest"}});
}

int write_out(Console& console, const std::string& pool) {
  const auto rest = console.stream(with_pool("epochs_export", pool), [](const std::string& line) {
    const json object = json::parse(line, nullptr, false);
    const json& part = member(object, "part");
    if (part.is_string()) Console::put(part.get_ref<const std::string&>());
  });
  return rest ? 0 : 1;
}

/// A whole file, or standard input; nothing, and the message is out, if that failed.
std::optional<std::string> read_file(const std::string& name) {
  const bool standard = name == "-";
  std::FILE* const file = standard ? stdin : std::fopen(name.c_str(), "re");
  if (file == nullptr) {
    Console::fail(name + ": " + std::strerror(errno));
    return std::nullopt;
  }
  std::string text;
  char chunk[65536];
  for (std::size_t size = 0; text.size() <= kLongestFile && (size = std::fread(chunk, 1, sizeof chunk, file)) > 0;)
    text.append(chunk, size);
  const int error = std::ferror(file) != 0 ? errno : 0;
  if (!standard) std::fclose(file);
  if (error != 0) {
    Console::fail(name + ": " + std::strerror(error));
  } else if (text.size() > kLongestFile) {
    Console::fail(name + ": it is longer than 16 MiB");
  } else {
    return text;
  }
  return std::nullopt;
}

/// The next request, and where the part after it begins. Quotes and the like make a part longer in JSON; an octet that is not
/// ASCII stays beside its neighbours.
json next_part(std::uint64_t import, const std::string& text, std::size_t& at) {
  for (std::size_t size = kLongestRequest;; size /= 2) {
    std::size_t end = std::min(text.size(), at + size);
    while (end > at + 1 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    json request = {{"command", "epochs_import"}, {"import", import}, {"part", text.substr(at, end - at)}};
    if (end == text.size()) request["end"] = true;
    if (request.dump(-1, ' ', false, json::error_handler_t::replace).size() > kLongestRequest) continue;
    at = end;
    return request;
  }
}

std::string done_text(const json& answer) {
  std::string out = plain(member(answer, "taken")) + " epochs taken over, " + plain(member(answer, "known")) + " were known";
  if (const json& left_out = member(answer, "left_out"); left_out != json(0))
    out += ", " + plain(left_out) + " left out: none of their servers is configured here, or there are too many";
  out += "\n";
  for (const json& pool : member(answer, "unknown_pools")) out += "warning: there is no pool " + plain(pool) + " here\n";
  return out + "placement_digest " + plain(member(answer, "placement_digest")) + "\n";
}

int take_in(Console& console, const std::string& file) {
  const auto text = read_file(file);
  if (!text) return 1;
  const auto begun = console.ask({{"command", "epochs_import"}});
  if (!begun) return 1;
  const json& number = member(*begun, "import");
  const std::uint64_t import = number.is_number_unsigned() ? number.get<std::uint64_t>() : 0;
  std::optional<json> answer;
  for (std::size_t at = 0; !answer || at < text->size();) {
    answer = console.ask(next_part(import, *text, at));
    if (!answer) return 1;
  }
  answer->erase("ok");
  Console::print(console.options().json ? answer->dump() + "\n" : done_text(*answer));
  return 0;
}

}  // namespace

Command epochs_command() {
  const auto arguments = std::make_shared<Arguments>();
  return {"epochs", "a node's pools as they are and were; for another node to take over", "asrpctl epochs export >epochs.json",
          [arguments](CLI::App& app) {
            Arguments& a = *arguments;
            app.add_option("--pool", a.pool, "of this pool alone")->type_name("NAME");
            app.require_subcommand(0, 1);
            a.export_ = app.add_subcommand("export", "writes them as JSON, placement keys too");
            a.export_->add_option("POOL", a.export_pool, "this pool alone");
            a.import_ =
                app.add_subcommand("import", "takes over what another node has exported: all of it or, with an error, nothing");
            a.import_->add_option("FILE", a.file, "the other node's export; - for standard input")->required();
            for (CLI::App* each : {a.export_, a.import_}) each->fallthrough();
          },
          [arguments](Console& console) {
            if (arguments->export_->parsed()) return write_out(console, arguments->export_pool);
            if (arguments->import_->parsed()) return take_in(console, arguments->file);
            return list(console, arguments->pool);
          }};
}

}  // namespace asrp::ctl
