// SPDX-License-Identifier: BSD-3-Clause
// Every fixture beside this file through the daemons' readers: good.* without a word, bad.* with exactly the problems that its
// "# expect:" lines name, warn.* with warnings alone.
#include "asrpd-holder/config.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "asrp/policy/epoch_bounds.hpp"
#include "asrpd-node/config.hpp"
#include "config/unreadable.hpp"

using namespace asrp;

namespace {

/// A checkout leaves the key file readable by all, which the reader warns of.
std::filesystem::path prepared_fixtures() {
  const std::filesystem::path folder = ASRP_SOURCE_DIR "/tests/config";
  using std::filesystem::perms;
  std::filesystem::permissions(folder / "placement.key", perms::owner_read | perms::owner_write);
  return folder;
}
const std::filesystem::path kFixtures = prepared_fixtures();

std::vector<std::filesystem::path> fixtures(const std::string& prefix) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(kFixtures))
    if (entry.path().filename().string().rfind(prefix, 0) == 0) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  REQUIRE(!out.empty());
  return out;
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::vector<std::string> expectations(const std::filesystem::path& file) {
  static const std::string kMark = "# expect: ";
  std::vector<std::string> out;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    if (line.rfind(kMark, 0) == 0) out.push_back(line.substr(kMark.size()));
  return out;
}

/// Reads a fixture with the reader that its name asks for; whether there is a configuration.
bool load(const std::filesystem::path& file, config::Problems& problems) {
  const bool is_node = file.filename().string().find(".node-") != std::string::npos;
  return is_node ? node::load_config(file.string(), problems).has_value()
                 : holder::load_config(file.string(), problems).has_value();
}

void check_expected(const std::filesystem::path& file, const config::Problems& problems) {
  const auto expected = expectations(file);
  std::string found;
  for (const config::Problem& problem : problems.list) found += problem.to_string() + "\n";
  INFO(file.filename().string(), " said:\n", found);
  CHECK(problems.list.size() == expected.size());
  for (const std::string& each : expected) {
    const bool said = std::any_of(problems.list.begin(), problems.list.end(), [&](const config::Problem& problem) {
      return problem.to_string().find(each) != std::string::npos;
    });
    CHECK_MESSAGE(said, "not said: ", each);
  }
}

}  // namespace

TEST_CASE("good configurations are read without a word") {
  for (const auto& file : fixtures("good.")) {
    config::Problems problems;
    const bool read = load(file, problems);
    check_expected(file, problems);
    CHECK_MESSAGE(read, file.filename().string());
  }
}

TEST_CASE("bad configurations: all problems at once, with file, line, key, what was found and what is allowed") {
  for (const auto& file : fixtures("bad.")) {
    config::Problems problems;
    CHECK_MESSAGE(!load(file, problems), file.filename().string());
    REQUIRE(!expectations(file).empty());
    check_expected(file, problems);
    for (const config::Problem& problem : problems.list) CHECK(problem.to_string().rfind(file.string() + ":", 0) == 0);
  }
}

TEST_CASE("warnings do not stop a start") {
  for (const auto& file : fixtures("warn.")) {
    config::Problems problems;
    CHECK_MESSAGE(load(file, problems), file.filename().string());
    REQUIRE(!expectations(file).empty());
    CHECK(problems.errors() == 0);
    check_expected(file, problems);
  }
}

TEST_CASE("a printed configuration reads back as the same") {
  for (const auto& file : fixtures("good.")) {
    if (file.filename().string().find(".node-") == std::string::npos) {
      config::Problems problems;
      const auto read = holder::load_config(file.string(), problems);
      REQUIRE(read);
      const std::string printed = holder::print_config(*read);
      const auto again = holder::parse_config(printed, file.string(), problems);
      REQUIRE_MESSAGE(again, printed);
      CHECK(holder::print_config(*again) == printed);
    } else {
      config::Problems problems;
      const auto read = node::load_config(file.string(), problems);
      REQUIRE(read);
      const std::string printed = node::print_config(*read);
      const auto again = node::parse_config(printed, file.string(), problems);
      REQUIRE_MESSAGE(again, printed);
      CHECK(node::print_config(*again) == printed);
    }
  }
}

// The full fixtures give each key another value than its default, so a key that the printer forgets, or the reader does not
// store, shows as a line of the small file's print that the full one's has too.
TEST_CASE("no key is lost between reading and printing") {
  const auto lines_in_common = [](const std::string& a, const std::string& b) {
    std::vector<std::string> common;
    std::istringstream stream(a);
    for (std::string line; std::getline(stream, line);)
      if (line.find('=') != std::string::npos && ("\n" + b).find("\n" + line + "\n") != std::string::npos)
        common.push_back(line);
    return common;
  };
  config::Problems problems;
  const auto small = node::load_config((kFixtures / "good.node-small.toml").string(), problems);
  const auto full = node::load_config((kFixtures / "good.node-full.toml").string(), problems);
  REQUIRE(small);
  REQUIRE(full);
  // The full file has services and servers besides, which show defaults where they may.
  const std::string full_settings = node::print_config(*full).substr(0, node::print_config(*full).find("[[pools]]"));
  for (const std::string& line : lines_in_common(full_settings, node::print_config(*small)))
    CHECK_MESSAGE(line.rfind("use = ", 0) == 0, "printed with its default: ", line);

  const auto small_holder = holder::load_config((kFixtures / "good.holder-small.toml").string(), problems);
  const auto full_holder = holder::load_config((kFixtures / "good.holder-full.toml").string(), problems);
  REQUIRE(small_holder);
  REQUIRE(full_holder);
  const std::string printed = holder::print_config(*full_holder);
  for (const std::string& line :
       lines_in_common(printed.substr(0, printed.find("[[services]]")), holder::print_config(*small_holder)))
    CHECK_MESSAGE(false, "printed with its default: ", line);
}

TEST_CASE("services, pools and keys of the full fixture arrive in the engine's options") {
  config::Problems problems;
  const auto config = node::load_config((kFixtures / "good.node-full.toml").string(), problems);
  REQUIRE(config);
  const policy::Epoch former{{{"s3", 4}}, HashKey{9}};
  using policy::SelectionPolicy;
  const engine::NodeOptions options = node::to_options(*config, {{"web", {former}}});
  REQUIRE(options.services.size() == 3);
  const engine::Service& web = options.services[0];
  CHECK(web.pool == "web");
  CHECK(web.policy == SelectionPolicy::weighted_random);
  CHECK(web.ranks == 4);
  CHECK(web.all_down == engine::AllDown::drop);
  CHECK(web.routing == engine::Routing::symmetric);
  CHECK(web.no_session == engine::NoSession::reset);
  CHECK(web.on_conflict == engine::ConflictHandling::drop);
  CHECK(web.server_initiated);
  REQUIRE(web.backends.size() == 3);
  CHECK(web.backends[0].weight == 5);
  CHECK(web.backends[0].state == engine::BackendState::joining);
  CHECK(web.backends[0].holder == engine::HolderPresence::probe);
  CHECK(web.backends[1].state == engine::BackendState::disabled);
  CHECK(web.backends[1].holder == engine::HolderPresence::no);
  REQUIRE(web.past_epochs.size() == 3);
  CHECK(web.past_epochs[0] == former);
  CHECK(web.past_epochs[1].members == std::vector<policy::EpochMember>{{"old", 1}, {"s1", 2, 7}});
  CHECK(to_hex(web.past_epochs[1].key) == "303132333435363738393a3b3c3d3e3f");
  CHECK(to_hex(web.past_epochs[2].key) == "303132333435363738393a3b3c3d3e4f");
  const engine::Service& mail = options.services[1];
  CHECK(mail.policy == SelectionPolicy::least_used_degradation);
  CHECK(mail.ranks == 3);
  CHECK(mail.backends[0].degradation == 429497);
  const engine::Service& dns = options.services[2];
  CHECK(dns.policy == SelectionPolicy::priority);
  CHECK(dns.all_down == engine::AllDown::first);
  CHECK(dns.backends[0].priority == 0xffffffff);
  CHECK(dns.protocol == Protocol::udp);
  CHECK(dns.forward == engine::ForwardMode::full_nat);
  CHECK(dns.explicit_first == engine::ExplicitFirst::dns);
  CHECK(dns.full_nat.addresses.size() == 2);
  CHECK(dns.full_nat.first_port == 2000);
  CHECK(dns.full_nat.last_port == 2999);
  CHECK(to_hex(options.cookie_keys.sign) == "202122232425262728292a2b2c2d2e2f");
  REQUIRE(options.cookie_keys.accept.size() == 1);
  CHECK(to_hex(options.cookie_keys.accept[0]) == "404142434445464748494a4b4c4d4e4f");
  CHECK(config->tcp_established() == std::chrono::hours(2));
}

TEST_CASE("tcp_established follows from what the servers have (decision 4)") {
  config::Problems problems;
  const std::string small = text_of(kFixtures / "good.node-small.toml");
  const auto with_holders = node::parse_config(small, "x.toml", problems);
  REQUIRE(with_holders);
  CHECK(with_holders->tcp_established() == std::chrono::seconds(600));
  std::string without = small;
  without.replace(without.find("\"10.0.2.1:80\""), 13, "\"10.0.2.1:80\", holder = \"no\"");
  const auto one_without = node::parse_config(without, "x.toml", problems);
  REQUIRE(one_without);
  CHECK(one_without->tcp_established() == std::chrono::seconds(7440));
}

TEST_CASE("a file that is not there, and one that is a folder, are one problem each") {
  for (const std::string& file : {(kFixtures / "absent.toml").string(), kFixtures.string()}) {
    config::Problems problems;
    CHECK(!node::load_config(file, problems));
    REQUIRE(problems.list.size() == 1);
    CHECK(problems.list[0].to_string().rfind(file + ": cannot be read: ", 0) == 0);
  }
}

TEST_CASE("a pool, and a former one, with more servers than placement numbers is a problem") {
  const auto problems_with = [](std::size_t servers, std::size_t former) {
    std::string text = "[node]\nlocal_ips = [\"198.51.100.1\"]\n[keys]\nplacement_key = \"" + std::string(31, '0') +
                       "1\"\ncookie_keys = [{ key = \"" + std::string(31, '0') +
                       "2\", use = \"sign\" }]\n[[services]]\nname = \"web\"\naddress = \"192.0.2.1:80\"\n"
                       "protocol = \"tcp\"\npool = \"web\"\n[[pools]]\nname = \"web\"\nservers = [\n";
    for (std::size_t i = 0; i < servers; ++i)
      text += "{ id = \"s" + std::to_string(i) + "\", address = \"10." + std::to_string(i >> 16) + "." +
              std::to_string(i >> 8 & 255) + "." + std::to_string(i & 255) + ":80\" },\n";
    text += "]\n[[pools.past_epochs]]\nmembers = [\n";
    for (std::size_t i = 0; i < former; ++i) text += "{ id = \"s" + std::to_string(i) + "\" },\n";
    config::Problems problems;
    (void)node::parse_config(text + "]\n", "x.toml", problems);
    std::vector<std::string> out;
    for (const config::Problem& problem : problems.list) out.push_back(problem.to_string());
    return out;
  };
  using Texts = std::vector<std::string>;
  constexpr std::size_t kMost = policy::kMaxEpochMembers;
  CHECK(problems_with(kMost, 1) == Texts{});
  CHECK(problems_with(kMost + 1, 1) == Texts{"x.toml:13:pools[0].servers: found 65534, allowed are at most 65533"});
  CHECK(problems_with(1, kMost) == Texts{});
  CHECK(problems_with(1, kMost + 1) ==
        Texts{"x.toml:17:pools[0].past_epochs[0].members: found 65534, allowed are at most 65533"});
}

TEST_CASE("a file that never ends is a problem, as configuration and as key") {
  for (const bool is_node : {true, false}) {
    config::Problems problems;
    CHECK(!(is_node ? node::load_config("/dev/zero", problems).has_value()
                    : holder::load_config("/dev/zero", problems).has_value()));
    REQUIRE(problems.list.size() == 1);
    CHECK(problems.list[0].to_string() == "/dev/zero: cannot be read: File too large; at most 16 MiB are read");
  }
  std::string text = text_of(kFixtures / "good.node-full.toml");
  text.replace(text.find("\"placement.key\""), 15, "\"/dev/zero\"");
  config::Problems problems;
  CHECK(!node::parse_config(text, "x.toml", problems));
  CHECK(problems.errors() == 1);
  CHECK(problems.list.back().to_string() ==
        "x.toml:12:keys.placement_key_file: found something else than a key of 32 hexadecimal digits; draw one: openssl rand "
        "-hex 16");
}

TEST_CASE("a key file: why it cannot be read, and what to do") {
  const std::string folder = (std::filesystem::temp_directory_path() / "asrp-key-file").string();
  std::filesystem::create_directories(folder);
  const auto said = [&](const std::string& name) {
    std::string text = text_of(kFixtures / "good.node-full.toml");
    text.replace(text.find("\"placement.key\""), 15, "\"" + folder + "/" + name + "\"");
    config::Problems problems;
    CHECK(!node::parse_config(text, "x.toml", problems));
    return problems.list.empty() ? "" : problems.list.back().to_string();
  };
  const std::string begin = "x.toml:12:keys.placement_key_file: cannot read a key from \"" + folder;
  CHECK(said("absent") == begin + "/absent\": No such file or directory; write one there: openssl rand -hex 16");
  std::ofstream(folder + "/empty").flush();
  CHECK(said("empty") == begin + "/empty\": it is empty; write one there: openssl rand -hex 16");
  std::filesystem::remove_all(folder);
  CHECK(config::why_unreadable(EACCES).find("Permission denied; user ") == 0);
  CHECK(config::why_unreadable(EACCES).find("chown") != std::string::npos);
}

TEST_CASE("the examples of the package are good, but no daemon runs with the keys that everybody has") {
  for (const char* name : {"node.toml", "node-nat.toml", "holder.toml"}) {
    config::Problems problems;
    const std::string file = ASRP_SOURCE_DIR "/packaging/examples/" + std::string(name);
    const bool read = std::string(name) != "holder.toml" ? node::load_config(file, problems).has_value()
                                                         : holder::load_config(file, problems).has_value();
    CHECK(read);
    for (const config::Problem& problem : problems.list)
      CHECK_MESSAGE((problem.bars_start && problem.message.rfind("is that of the example, ", 0) == 0), problem.to_string());
    const bool has_keys = std::string(name) != "holder.toml";
    CHECK(problems.errors() == 0);
    CHECK(problems.list.size() == (has_keys ? 2 : 0));
    CHECK(problems.bar_start() == has_keys);
  }
}

TEST_CASE("the manual has every key and every table") {
  const std::string manual = text_of(ASRP_SOURCE_DIR "/docs/man/asrpd.toml.5");
  config::Problems problems;
  const auto node_config = node::load_config((kFixtures / "good.node-full.toml").string(), problems);
  const auto holder_config = holder::load_config((kFixtures / "good.holder-full.toml").string(), problems);
  REQUIRE(node_config);
  REQUIRE(holder_config);
  std::istringstream lines(node::print_config(*node_config) + holder::print_config(*holder_config));
  std::size_t keys = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string key = line.substr(0, line.find(" = "));
    if (key == line || key == "key" || key == "use" || key.ends_with("_file") || key == "members")
      continue;  // within a sentence
    CHECK_MESSAGE(manual.find("\n.B " + key + "\n") != std::string::npos, "not in the manual: ", key);
    ++keys;
  }
  CHECK(keys > 60);
}
