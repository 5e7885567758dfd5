// SPDX-License-Identifier: BSD-3-Clause
// docs/metrics.md has tables made of the pages themselves; they must be today's. ASRP_WRITE_DOCS=1 writes them anew. The
// dashboard and the alert rules ask for nothing that no daemon has.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "asrpd-holder/status.hpp"
#include "asrpd-node/load_receiver.hpp"
#include "asrpd-node/nat_status.hpp"
#include "asrpd-node/status.hpp"
#include "driver/twins.hpp"
#include "frame/daemon.hpp"

using namespace asrp;
using namespace asrp::test;
using runtime::MetricsPage;

namespace {

const std::string kRoot = ASRP_SOURCE_DIR;

MetricsPage begun_page(const std::string& program) {
  MetricsPage page(frame::metrics_prefix(program));
  frame::add_common_metrics(page, {"1.2.3", 1.5e9, 0, true});
  return page;
}

/// The pages of daemons over twins of the edges: the same functions that the real ones call.
MetricsPage node_page() {
  NodeTwins twins;
  const engine::NodeEngine engine{basic_options(), twins.conntrack, twins.paths, twins.random, twins.events};
  MetricsPage page = begun_page("asrpd-node");
  node::Measured measured = node::measured(engine, twins.edges(), {});
  node::append_health_counters(measured.counters, 0, 0);
  node::LoadReceiver([](const auto&, const auto&, std::uint32_t) {}).append_counters(measured.counters);
  node::append_mapping_counters(measured.counters, {});
  engine::NodeOptions both = engine.options();  // a node has one or the other; the page of the document has all
  both.nat = nat_options().nat;
  node::add_metrics(page, measured, both, {"0", "0"}, {}, {}, {});
  node::add_mapping_metrics(page, {});
  return page;
}

MetricsPage holder_page() {
  HolderTwins twins;
  const engine::HolderEngine engine{{}, twins.store, twins.sessions, twins.paths, twins.random, twins.events};
  MetricsPage page = begun_page("asrpd-holder");
  holder::add_metrics(page, engine, twins.edges(), {}, {});
  return page;
}

std::string text_of(const std::string& file) {
  std::ifstream stream(kRoot + "/" + file, std::ios::binary);
  REQUIRE_MESSAGE(stream.is_open(), file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

constexpr const char* kNameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_";

/// Names of families that a file asks for.
std::set<std::string> asked_in(const std::string& file) {
  const std::string text = text_of(file);
  std::set<std::string> out;
  for (const std::string program : {"asrp_node_", "asrp_holder_"}) {
    for (std::size_t at = text.find(program); at != std::string::npos; at = text.find(program, at + 1)) {
      std::string name = text.substr(at, text.find_first_not_of(kNameCharacters, at) - at);
      for (const std::string part : {"_bucket", "_sum", "_count"})
        if (name.ends_with(part)) name.resize(name.size() - part.size());
      out.insert(name);
    }
  }
  return out;
}

const std::set<std::string>& on_dashboard() {
  static const std::set<std::string> kNames = asked_in("packaging/grafana/asrp.json");
  return kNames;
}

const std::set<std::string>& in_alerts() {
  static const std::set<std::string> kNames = asked_in("packaging/prometheus/alerts.yml");
  return kNames;
}

std::string shown_in(const std::string& family) {
  const bool dashboard = on_dashboard().count(family) > 0;
  const bool alerts = in_alerts().count(family) > 0;
  return dashboard ? (alerts ? "dashboard, alerts" : "dashboard") : (alerts ? "alerts" : "");
}

std::string label_names(const MetricsPage::Family& family) {
  std::vector<std::string> names;  // in the order of the longest
  for (const auto& sample : family.samples)
    if (sample.labels.size() > names.size()) {
      names.clear();
      for (const auto& [name, value] : sample.labels) names.push_back(name);
    }
  std::string out;
  for (const std::string& name : names)
    if (name != "le") out += (out.empty() ? "" : ", ") + name;
  return out;
}

/// The values of a family's labels, where each has a meaning of its own.
std::string values_table(const MetricsPage::Family& family) {
  if (family.type != MetricsPage::Type::counter || family.samples.front().labels.empty()) return "";
  std::string out = "\n`" + family.name + "`:\n\n| " + label_names(family) + " | meaning |\n|---|---|\n";
  for (const auto& sample : family.samples) {
    std::string values;
    for (const auto& [name, value] : sample.labels) values += (values.empty() ? "`" : ", `") + value + "`";
    out += "| " + values + " | " + sample.meaning + " |\n";
  }
  return out;
}

std::string reference(const MetricsPage& page) {
  std::string out = "| metric | type | labels | meaning | shown in |\n|---|---|---|---|---|\n";
  for (const auto& family : page.families())
    out += "| `" + family.name + "` | " + std::string(to_string(family.type)) + " | " + label_names(family) + " | " +
           family.help + " | " + shown_in(family.name) + " |\n";
  for (const auto& family : page.families()) out += values_table(family);
  return out;
}

/// The file with what stands between the marks of `program` replaced.
std::string with_reference(const std::string& text, const std::string& program, const std::string& tables) {
  const std::string begin = "<!-- metrics of " + program + " -->\n";
  const std::string end = "<!-- end -->\n";
  const std::size_t from = text.find(begin);
  REQUIRE(from != std::string::npos);
  const std::size_t to = text.find(end, from);
  REQUIRE(to != std::string::npos);
  return text.substr(0, from + begin.size()) + "\n" + tables + "\n" + text.substr(to);
}

}  // namespace

TEST_CASE("docs/metrics.md has every metric and value as the daemons give them") {
  const std::string before = text_of("docs/metrics.md");
  std::string now = with_reference(before, "asrpd-node", reference(node_page()));
  now = with_reference(now, "asrpd-holder", reference(holder_page()));
  if (std::getenv("ASRP_WRITE_DOCS") != nullptr) {
    std::ofstream(kRoot + "/docs/metrics.md", std::ios::binary) << now;
    return;
  }
  const auto differs = std::mismatch(before.begin(), before.end(), now.begin(), now.end()).second;
  INFO("differs at: ", std::string(differs, now.end()).substr(0, 200));
  CHECK_MESSAGE(before == now, "ASRP_WRITE_DOCS=1 build/PRESET/tests/driver/driver -tc='docs/metrics.md*' writes it anew");
}

TEST_CASE("names follow Prometheus' conventions") {
  for (const MetricsPage& page : {node_page(), holder_page()}) {
    std::set<std::string> seen;
    for (const auto& family : page.families()) {
      CHECK_MESSAGE((family.name.starts_with("asrp_node_") || family.name.starts_with("asrp_holder_")), family.name);
      CHECK_MESSAGE(family.name.find_first_not_of(kNameCharacters) == std::string::npos, family.name);
      CHECK_MESSAGE(!family.name.ends_with('_'), family.name);
      CHECK_MESSAGE(family.name.find("__") == std::string::npos, family.name);
      const bool total = family.name.ends_with("_total");
      CHECK_MESSAGE(total == (family.type == MetricsPage::Type::counter), family.name);
      if (family.type == MetricsPage::Type::histogram) CHECK_MESSAGE(family.name.ends_with("_seconds"), family.name);
      CHECK_MESSAGE(!family.help.empty(), family.name);
      CHECK_MESSAGE(family.help.find('|') == std::string::npos, family.name);  // it stands in a table
      CHECK_MESSAGE(seen.insert(family.name).second, family.name);
      // A newer text format takes "_total" off: what is left must be nobody else's name.
      if (total) CHECK_MESSAGE(seen.insert(family.name.substr(0, family.name.size() - 6)).second, family.name);
      std::set<MetricsPage::Labels> labels;
      for (const auto& sample : family.samples)
        if (family.type != MetricsPage::Type::histogram) CHECK_MESSAGE(labels.insert(sample.labels).second, family.name);
    }
  }
}

TEST_CASE("dashboard and alert rules ask for metrics that there are") {
  std::set<std::string> there;
  for (const MetricsPage& page : {node_page(), holder_page()})
    for (const auto& family : page.families()) there.insert(family.name);
  for (const auto* asked : {&on_dashboard(), &in_alerts()}) {
    CHECK(asked->size() > 5);
    for (const std::string& name : *asked) CHECK_MESSAGE(there.count(name) == 1, name);
  }
}
