// SPDX-License-Identifier: GPL-2.0-or-later
// A page in Prometheus' text format from numbers: a pure function, which the daemons' HTTP server hands out. Names are those of
// docs/metrics.md, which is made from the same page.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asrp/base/time.hpp"
#include "runtime/control_socket.hpp"

namespace asrp::runtime {

class MetricsPage {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;
  enum class Type : std::uint8_t { counter, gauge, histogram };
  struct Sample {
    std::string suffix;  // "_bucket"
    Labels labels;
    std::string value;
    std::string meaning;  // of this one of a group of counters
  };
  struct Family {
    std::string name;
    Type type;
    std::string help;
    std::vector<Sample> samples;
  };

  /// `prefix` begins every name: "asrp_node_".
  explicit MetricsPage(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Samples of one name form a family, whose help is that of the first. The name of a counter gets its "_total".
  void counter(std::string_view name, std::string_view help, std::uint64_t value, Labels labels = {});
  void gauge(std::string_view name, std::string_view help, double value, Labels labels = {});
  /// A gauge that is always 1 and tells by its labels.
  void info(std::string_view name, std::string_view help, Labels labels) { gauge(name, help, 1, std::move(labels)); }
  /// `counts` of each bucket by itself: one for each of `bounds`, and one more for what is beyond.
  void histogram(std::string_view name, std::string_view help, std::span<const Duration> bounds,
                 std::span<const std::uint64_t> counts, Duration sum, const Labels& labels = {});
  template <typename Histogram>
  void histogram(std::string_view name, std::string_view help, const Histogram& of, const Labels& labels = {}) {
    histogram(name, help, of.bounds(), of.counts(), of.sum(), labels);
  }
  /// What `asrpctl counters` shows, with names after Prometheus' conventions: counters that are one sum by reason, type and the
  /// like become a family with that label.
  void counters(const std::vector<CounterLine>& lines);

  [[nodiscard]] const std::vector<Family>& families() const { return families_; }
  [[nodiscard]] std::string text() const;

 private:
  Family& family(std::string name, Type type, std::string_view help);

  std::string prefix_;
  std::vector<Family> families_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

std::string_view to_string(MetricsPage::Type type);

}  // namespace asrp::runtime
