// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/metrics_page.hpp"

#include <doctest/doctest.h>

#include "asrp/engine/histogram.hpp"

using namespace asrp;
using runtime::MetricsPage;
using std::chrono::milliseconds;

TEST_CASE("page: counters, gauges and infos, a family at a time whatever the order") {
  MetricsPage page("asrp_x_");
  page.counter("packets", "packets taken", 18446744073709551615u, {{"tap", "first"}});
  page.gauge("table_entries", "entries", 12);
  page.counter("packets", "unheard: the first help is the family's", 2, {{"tap", "stray"}});
  page.info("placement_info", "a digest", {{"digest", "00ff"}});
  CHECK(page.text() ==
        "# HELP asrp_x_packets_total packets taken\n"
        "# TYPE asrp_x_packets_total counter\n"
        "asrp_x_packets_total{tap=\"first\"} 18446744073709551615\n"
        "asrp_x_packets_total{tap=\"stray\"} 2\n"
        "# HELP asrp_x_table_entries entries\n"
        "# TYPE asrp_x_table_entries gauge\n"
        "asrp_x_table_entries 12\n"
        "# HELP asrp_x_placement_info a digest\n"
        "# TYPE asrp_x_placement_info gauge\n"
        "asrp_x_placement_info{digest=\"00ff\"} 1\n");
}

TEST_CASE("page: what would end a label or a line is escaped") {
  MetricsPage page("a_");
  page.gauge("b", "one \\ two\nthree \"four\"", 0.5, {{"name", "x\"y\\z\n"}});
  CHECK(page.text() ==
        "# HELP a_b one \\\\ two\\nthree \"four\"\n"
        "# TYPE a_b gauge\n"
        "a_b{name=\"x\\\"y\\\\z\\n\"} 0.5\n");
}

TEST_CASE("page: a histogram's buckets add up, in seconds") {
  engine::RecoveryHistogram h;
  h.add(milliseconds(1), 2);
  h.add(milliseconds(30));
  h.add(std::chrono::seconds(9));
  MetricsPage page("a_");
  page.histogram("t_seconds", "time", h, {{"outcome", "restored"}});
  const std::string text = page.text();
  INFO(text);
  CHECK(text.find("# TYPE a_t_seconds histogram\n") != std::string::npos);
  for (const char* line :
       {"a_t_seconds_bucket{outcome=\"restored\",le=\"0.00025\"} 0\n",
        "a_t_seconds_bucket{outcome=\"restored\",le=\"0.001\"} 2\n", "a_t_seconds_bucket{outcome=\"restored\",le=\"0.05\"} 3\n",
        "a_t_seconds_bucket{outcome=\"restored\",le=\"1\"} 3\n", "a_t_seconds_bucket{outcome=\"restored\",le=\"+Inf\"} 4\n",
        "a_t_seconds_sum{outcome=\"restored\"} 9.032\n", "a_t_seconds_count{outcome=\"restored\"} 4\n"})
    CHECK_MESSAGE(text.find(line) != std::string::npos, line);
}

TEST_CASE("page: counters that are one sum become a family, the others keep their names") {
  MetricsPage page("asrp_node_");
  page.counters({{"drops.ttl", 3, "packets whose TTL ended here"},
                 {"messages_sent.ns.inline-tcp", 4, "NS in TCP segments"},
                 {"messages.received.RX", 5, "RX received"},
                 {"sessions.created", 6, "new sessions"},
                 {"packets.dropped_full", 7, "no room"}});
  CHECK(page.text() ==
        "# HELP asrp_node_packets_dropped_total packets dropped\n"
        "# TYPE asrp_node_packets_dropped_total counter\n"
        "asrp_node_packets_dropped_total{reason=\"ttl\"} 3\n"
        "asrp_node_packets_dropped_total{reason=\"full\"} 7\n"
        "# HELP asrp_node_messages_sent_total ASRP messages sent\n"
        "# TYPE asrp_node_messages_sent_total counter\n"
        "asrp_node_messages_sent_total{type=\"ns\",carriage=\"inline-tcp\"} 4\n"
        "# HELP asrp_node_messages_received_total ASRP messages received\n"
        "# TYPE asrp_node_messages_received_total counter\n"
        "asrp_node_messages_received_total{type=\"rx\"} 5\n"
        "# HELP asrp_node_sessions_created_total new sessions\n"
        "# TYPE asrp_node_sessions_created_total counter\n"
        "asrp_node_sessions_created_total 6\n");
  CHECK(page.families()[0].samples[1].meaning == "no room");
}
