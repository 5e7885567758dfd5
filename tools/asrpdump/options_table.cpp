// SPDX-License-Identifier: BSD-3-Clause
#include "options_table.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace asrp::dump {
namespace {

using Value = std::string_view;

template <typename Number>
std::string number(Value text, Number& out, std::uint64_t least, std::uint64_t most, int base = 10) {
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most) {
    out = static_cast<Number>(value);
    return {};
  }
  if (base == 16) return "must be a hexadecimal number of at most four digits";
  return "must be a number from " + std::to_string(least) + " to " + std::to_string(most);
}

WriteOptions& write_options(Options& o) {
  if (!o.write) o.write.emplace();
  return *o.write;
}

/// For what can be given once only.
std::string once(std::string& option, Value v, const char* problem) {
  const bool is_second = !option.empty();
  option = v;
  return is_second ? problem : "";
}

constexpr const char* kOnlySvg = "pictures are drawn as .svg only; rsvg-convert and browsers make others of them";

constexpr std::uint64_t kInt = std::numeric_limits<int>::max();
constexpr std::uint64_t kLong = std::numeric_limits<std::int64_t>::max();

constexpr OptionRow kSourceRows[] = {
    {'r', "--read", "FILE", "read a capture: pcap or pcapng, plain or gzip; - is standard input",
     [](Options& o, Value v) { return once(o.read, v, "one capture at a time; mergecap joins several"); }},
    {'i', "--interface", "IF", "capture live from IF, a name or a number of -D; any is all of them",
     [](Options& o, Value v) { return once(o.live.interface, v, "one interface at a time; any is all of them"); }},
    {'D', "--list-interfaces", "", "list the interfaces",
     [](Options& o, Value) {
       o.list_interfaces = true;
       return std::string();
     }},
    {'p', "--no-promiscuous-mode", "", "not promiscuous (the default)",
     [](Options& o, Value) {
       o.live.promiscuous = false;
       return std::string();
     }},
    {0, "--promiscuous", "", "also what is sent to others",
     [](Options& o, Value) {
       o.live.promiscuous = true;
       return std::string();
     }},
    {'s', "--snapshot-length", "N", "capture at most N octets of a packet; 0 is 262144, the default",
     [](Options& o, Value v) {
       auto problem = number(v, o.live.snap_length, 0, 262144);
       if (o.live.snap_length == 0) o.live.snap_length = 262144;
       return problem;
     }},
    {'B', "--buffer-size", "KIB", "size of the kernel's buffer",
     [](Options& o, Value v) { return number(v, o.live.buffer_kib, 1, kInt / 1024); }},
    {0, "--immediate-mode", "", "take each packet at once",
     [](Options& o, Value) {
       o.live.is_immediate = true;
       return std::string();
     }},
    {0, "--nano", "", "stamps in nanoseconds",
     [](Options& o, Value) {
       o.live.is_nanosecond = true;
       return std::string();
     }},
    {'Z', "--relinquish-privileges", "USER", "become USER once the interface is open",
     [](Options& o, Value v) {
       o.user = v;
       return std::string();
     }},
};

constexpr OptionRow kProtocolRows[] = {
    {0, "--port", "N", "ASRP-PORT; default 51200", [](Options& o, Value v) { return number(v, o.port, 1, 65535); }},
    {0, "--exid", "HEX", "ExID of the experimental options; default 4153",
     [](Options& o, Value v) { return number(v, o.marker.exid, 0, 0xffff, 16); }},
    {0, "--tcp-kind", "N", "kind of the TCP option; default 253",
     [](Options& o, Value v) { return number(v, o.marker.tcp_kind, 2, 255); }},
    {0, "--udp-kind", "N", "kind of the UDP option; default 127",
     [](Options& o, Value v) { return number(v, o.marker.udp_kind, 4, 191); }},
    {0, "--tunnels", "N", "levels of VXLAN, GRE, IPIP and Geneve to look into; default 1",
     [](Options& o, Value v) { return number(v, o.tunnels, 0, 8); }},
};

constexpr OptionRow kOutputRows[] = {
    {'w', "--write", "FILE", "write the packets that carry ASRP, print nothing; - is standard output",
     [](Options& o, Value v) {
       const std::string problem = once(write_options(o).name, v, "one file at a time");
       return v.empty() ? "must not be empty" : problem;
     }},
    {0, "--print", "", "print, although -w or a report is asked for",
     [](Options& o, Value) {
       o.print = true;
       return std::string();
     }},
    {'C', "", "MB", "with -w: a new file beyond so many millions of octets",
     [](Options& o, Value v) {
       auto problem = number(v, write_options(o).size, 1, 1'000'000'000);
       write_options(o).size *= 1'000'000;
       return problem;
     }},
    {'G', "", "SECONDS", "with -w: a new file after so many seconds, FILE through strftime",
     [](Options& o, Value v) { return number(v, write_options(o).seconds, 1, kInt); }},
    {'W', "", "N", "with -C: a ring of N files; with -G: the end after N files",
     [](Options& o, Value v) { return number(v, write_options(o).files, 1, 1'000'000); }},
    {'U', "--packet-buffered", "", "with -w: each packet into the file at once",
     [](Options& o, Value) {
       write_options(o).flush_each_packet = true;
       return std::string();
     }},
    {'c', "", "N", "end after N messages, \"not ASRP?\" not counted",
     [](Options& o, Value v) { return number(v, o.count, 1, kLong); }},
    {'l', "--line-buffered", "", "each line at once",
     [](Options& o, Value) {
       o.flush_lines = true;
       return std::string();
     }},
    {0, "--json", "", "one JSON object per message and line",
     [](Options& o, Value) {
       o.json = true;
       return std::string();
     }},
    {'t', "", "", "no time; -tt seconds since 1970; -ttt since the line before; -tttt with date; -ttttt since the first",
     [](Options& o, Value) {
       constexpr auto kLast = static_cast<std::uint8_t>(TimeStyle::since_first);
       const auto style = static_cast<std::uint8_t>(o.text.time);
       if (style < kLast) o.text.time = static_cast<TimeStyle>(style + 1);
       return std::string(style < kLast ? "" : "given more than five times");
     }},
    {'n', "", "", "numbers, no names (the default)",
     [](Options& o, Value) {
       o.text.names = false;
       return std::string();
     }},
    {'N', "", "", "names of hosts and ports",
     [](Options& o, Value) {
       o.text.names = true;
       return std::string();
     }},
    {'v', "--verbose", "", "every field of a message with its octets; at the end counts by reason",
     [](Options& o, Value) {
       ++o.verbose;
       o.text.tree = true;
       return std::string();
     }},
    {'x', "", "", "the packet in hexadecimal; -xx with its link layer",
     [](Options& o, Value) {
       o.text.hex = o.text.hex == HexStyle::none ? HexStyle::packet : HexStyle::frame;
       return std::string();
     }},
    {'X', "", "", "the same with ASCII; -XX with its link layer",
     [](Options& o, Value) {
       o.text.hex = o.text.hex == HexStyle::none ? HexStyle::packet : HexStyle::frame;
       o.text.ascii = true;
       return std::string();
     }},
    {'#', "--number", "", "number of the packet in front of each line",
     [](Options& o, Value) {
       o.text.number = true;
       return std::string();
     }},
    {'q', "--quiet", "", "no summary at the end",
     [](Options& o, Value) {
       o.quiet = true;
       return std::string();
     }},
    {0, "--color", "WHEN", "always, never or auto",
     [](Options& o, Value v) {
       if (v == "always") o.color = ColorChoice::always;
       if (v == "never") o.color = ColorChoice::never;
       if (v == "auto") o.color = ColorChoice::automatic;
       return std::string(v == "always" || v == "never" || v == "auto" ? "" : "must be always, never or auto");
     }},
};

constexpr OptionRow kReportRows[] = {
    {0, "--sessions", "", "one row per session",
     [](Options& o, Value) {
       o.sessions = true;
       return std::string();
     }},
    {0, "--stats", "", "counts by type, carriage and reason, latency of queries, rates",
     [](Options& o, Value) {
       o.stats = true;
       return std::string();
     }},
    {0, "--check", "", "does the exchange conform to the draft? Exit status 3 if certainly not",
     [](Options& o, Value) {
       o.check = true;
       return std::string();
     }},
    {0, "--ladder", "[FILE.svg]", "sequence diagram on the terminal, or as a picture",
     [](Options& o, Value v) {
       o.ladder = true;
       o.ladder_file = v;
       return std::string(v.empty() || has_ending(v, ".svg") ? "" : kOnlySvg);
     }},
    {0, "--ladder-limit", "N", "sessions drawn; default 20",
     [](Options& o, Value v) { return number(v, o.ladder_limit, 1, 10'000); }},
    {0, "--session", "ADDR:PORT", "sessions and ladders only of those with this end",
     [](Options& o, Value v) {
       o.session = Endpoint::parse(v);
       return o.session ? std::string() : "'" + std::string(v) + "' is no address with a port";
     }},
    {0, "--max-sessions", "N", "sessions remembered at a time; default 65536, in at most 256 MiB",
     [](Options& o, Value v) { return number(v, o.max_sessions, 1, 100'000'000); }},
};

constexpr OptionRow kOtherRows[] = {
    {'h', "--help", "", "this text",
     [](Options& o, Value) {
       o.help = true;
       return std::string();
     }},
    {0, "--version", "", "versions of asrpdump and libpcap",
     [](Options& o, Value) {
       o.version = true;
       return std::string();
     }},
};

constexpr OptionGroup kGroups[] = {{"What is read", kSourceRows},
                                   {"What counts as ASRP", kProtocolRows},
                                   {"What is shown", kOutputRows},
                                   {"Reports (they may be combined)", kReportRows},
                                   {"Other", kOtherRows}};

}  // namespace

std::span<const OptionGroup> option_groups() { return kGroups; }

bool has_ending(std::string_view name, std::string_view ending) {
  if (name.size() < ending.size()) return false;
  const std::string_view end = name.substr(name.size() - ending.size());
  const auto is_same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  return std::equal(end.begin(), end.end(), ending.begin(), is_same);
}

}  // namespace asrp::dump
