// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/metrics_page.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace asrp::runtime {
namespace {

/// Counters whose names begin with `prefix` are one family; what follows are the values of `labels`, at dots.
struct Group {
  std::string_view prefix;
  std::string_view family;
  std::string_view help;
  std::array<std::string_view, 2> labels;
};

constexpr Group kGroups[] = {
    {"drops.", "packets_dropped", "packets dropped", {"reason"}},
    {"packets.dropped_", "packets_dropped", "packets dropped", {"reason"}},
    {"messages_sent.", "messages_sent", "ASRP messages sent", {"type", "carriage"}},
    {"messages.sent.", "messages_sent", "ASRP messages sent", {"type"}},
    {"messages_received.", "messages_received", "ASRP messages received", {"type"}},
    {"messages.received.", "messages_received", "ASRP messages received", {"type"}},
    {"messages_discarded.", "messages_discarded", "ASRP messages and options discarded", {"reason"}},
    {"messages.discarded.", "messages_discarded", "ASRP messages and options discarded", {"reason"}},
    {"load.discarded.", "load_reports_discarded", "load reports discarded", {"reason"}},
    {"messages.unanswered.", "messages_unanswered", "answers that could not be sent", {"reason"}},
    {"inline_unfit.", "inline_unfit", "first packets without a message inside them", {"reason"}},
    {"conflicts.", "conflicts", "mappings that were taken", {"kind"}},
    {"limits.", "limits_reached", "times that a bound was met", {"limit"}},
    {"backups.released.", "backups_released", "backups released", {"reason"}},
};

std::string plain(std::string_view name) {
  std::string out(name);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '.' || c == '-'; }, '_');
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// Shortest text that reads back as the same number.
std::string number(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end);
}

std::string seconds(Duration duration) { return number(std::chrono::duration<double>(duration).count()); }

std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (quotes && c == '"')) out += '\\';
    out += c;
  }
  return out;
}

std::string labels_text(const MetricsPage::Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    out += out.empty() ? '{' : ',';
    out += name;
    out += "=\"" + escaped(value, true) + "\"";
  }
  return out.empty() ? out : out + "}";
}

}  // namespace

std::string_view to_string(MetricsPage::Type type) {
  switch (type) {
    case MetricsPage::Type::counter:
      return "counter";
    case MetricsPage::Type::gauge:
      return "gauge";
    case MetricsPage::Type::histogram:
      break;
  }
  return "histogram";
}

MetricsPage::Family& MetricsPage::family(std::string name, Type type, std::string_view help) {
  name.insert(0, prefix_);
  const auto [at, is_new] = by_name_.emplace(name, families_.size());
  if (is_new) families_.push_back({std::move(name), type, std::string(help), {}});
  return families_[at->second];
}

void MetricsPage::counter(std::string_view name, std::string_view help, std::uint64_t value, Labels labels) {
  family(std::string(name) + "_total", Type::counter, help)
      .samples.push_back({{}, std::move(labels), std::to_string(value), std::string(help)});
}

void MetricsPage::gauge(std::string_view name, std::string_view help, double value, Labels labels) {
  family(std::string(name), Type::gauge, help).samples.push_back({{}, std::move(labels), number(value), std::string(help)});
}

void MetricsPage::histogram(std::string_view name, std::string_view help, std::span<const Duration> bounds,
                            std::span<const std::uint64_t> counts, Duration sum, const Labels& labels) {
  std::vector<Sample>& samples = family(std::string(name), Type::histogram, help).samples;
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    so_far += counts[i];
    Labels with_bound = labels;
    with_bound.emplace_back("le", i < bounds.size() ? seconds(bounds[i]) : "+Inf");
    samples.push_back({"_bucket", std::move(with_bound), std::to_string(so_far), {}});
  }
  samples.push_back({"_sum", labels, seconds(sum), {}});
  samples.push_back({"_count", labels, std::to_string(so_far), {}});
}

void MetricsPage::counters(const std::vector<CounterLine>& lines) {
  for (const CounterLine& line : lines) {
    const std::string_view name = line.name;
    const auto group =
        std::find_if(std::begin(kGroups), std::end(kGroups), [&](const Group& g) { return name.starts_with(g.prefix); });
    if (group == std::end(kGroups)) {
      counter(plain(name), line.help, line.value);
      continue;
    }
    Labels labels;
    std::string_view rest = name.substr(group->prefix.size());
    for (const std::string_view label : group->labels) {
      if (label.empty()) break;
      const std::size_t dot = std::min(rest.find('.'), rest.size());
      labels.emplace_back(label, lower(rest.substr(0, dot)));
      rest.remove_prefix(std::min(dot + 1, rest.size()));
    }
    counter(group->family, group->help, line.value, std::move(labels));
    families_[by_name_.find(prefix_ + std::string(group->family) + "_total")->second].samples.back().meaning = line.help;
  }
}

std::string MetricsPage::text() const {
  std::string out;
  for (const Family& each : families_) {
    out += "# HELP " + each.name + " " + escaped(each.help, false) + "\n# TYPE " + each.name + " ";
    out += to_string(each.type);
    out += '\n';
    for (const Sample& sample : each.samples)
      out += each.name + sample.suffix + labels_text(sample.labels) + " " + sample.value + "\n";
  }
  return out;
}

}  // namespace asrp::runtime
