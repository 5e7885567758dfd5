// SPDX-License-Identifier: BSD-3-Clause
// The part of Source that opens interfaces.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "capture/source.hpp"

namespace asrp::dump {
namespace {

constexpr int kTimeout = 100;  // milliseconds that the kernel may gather packets: lines appear well within a second

struct Devices {
  pcap_if_t* list = nullptr;
  std::string error;
  Devices() {
    char text[PCAP_ERRBUF_SIZE] = "";
    if (pcap_findalldevs(&list, text) != 0) error = text;
  }
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;
  ~Devices() { pcap_freealldevs(list); }
};

/// A number stands for a row of list_interfaces().
std::string interface_name(const std::string& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number == 0) return text;
  const Devices devices;
  for (const pcap_if_t* device = devices.list; device != nullptr; device = device->next) {
    if (--number == 0) return device->name;
  }
  return text;
}

std::string activation_error(pcap_t* pcap, const std::string& name, int status) {
  const std::string detail = pcap_geterr(pcap);
  std::string text = name + ": ";
  if (status == PCAP_ERROR_PERM_DENIED) return text + "no permission to capture: CAP_NET_RAW is missing; become root";
  if (status == PCAP_ERROR_NO_SUCH_DEVICE) return text + "no such interface; -D lists those that are there";
  if (status == PCAP_ERROR_IFACE_NOT_UP) return text + "the interface is not up";
  text += status == PCAP_ERROR ? detail : pcap_statustostr(status);
  if (status != PCAP_ERROR && !detail.empty()) text += " (" + detail + ")";
  return text;
}

}  // namespace

Result<std::unique_ptr<Source>, std::string> Source::open_live(const LiveOptions& options) {
  char error[PCAP_ERRBUF_SIZE] = "";
  const std::string name = interface_name(options.interface);
  std::unique_ptr<Source> source(new Source);
  source->pcap_ = pcap_create(name.c_str(), error);
  pcap_t* const pcap = source->pcap_;
  if (pcap == nullptr) return Failure{name + ": " + error};
  pcap_set_snaplen(pcap, options.snap_length);
  pcap_set_promisc(pcap, options.promiscuous ? 1 : 0);
  pcap_set_timeout(pcap, kTimeout);
  if (options.is_immediate) pcap_set_immediate_mode(pcap, 1);
  if (options.buffer_kib > 0) pcap_set_buffer_size(pcap, options.buffer_kib * 1024);
  if (options.is_nanosecond && pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO) != 0) {
    return Failure{name + ": gives no stamps in nanoseconds"};
  }
  source->interface_ = name;
  const int status = pcap_activate(pcap);
  if (status < 0) return Failure{activation_error(pcap, name, status)};
  if (status > 0) source->warning_ = activation_error(pcap, name, status);
  if (name == "any") pcap_set_datalink(pcap, DLT_LINUX_SLL2);  // it names the interface; where there is none, version 1 will do
  source->decimals_ = pcap_get_tstamp_precision(pcap) == PCAP_TSTAMP_PRECISION_NANO ? 9 : 6;
  return {std::move(source)};
}

std::optional<LiveCounts> Source::live_counts() const {
  pcap_stat counts{};
  if (!is_live() || pcap_stats(pcap_, &counts) != 0) return std::nullopt;
  return LiveCounts{counts.ps_recv, counts.ps_drop, counts.ps_ifdrop};
}

std::string list_interfaces(std::string& error) {
  const Devices devices;
  error = devices.error;
  std::string text;
  int number = 0;
  for (const pcap_if_t* device = devices.list; device != nullptr; device = device->next) {
    text += std::to_string(++number) + "." + device->name;
    if (device->description != nullptr) text += std::string(" (") + device->description + ")";
    std::string flags;
    constexpr std::pair<bpf_u_int32, const char*> kFlags[] = {
        {PCAP_IF_UP, "Up"}, {PCAP_IF_RUNNING, "Running"}, {PCAP_IF_LOOPBACK, "Loopback"}};
    for (const auto& [bit, name] : kFlags) {
      if ((device->flags & bit) != 0) flags += (flags.empty() ? "" : ", ") + std::string(name);
    }
    if (!flags.empty()) text += " [" + flags + "]";
    text += "\n";
  }
  return text;
}

}  // namespace asrp::dump
