// SPDX-License-Identifier: BSD-3-Clause
// What is known of a capture before libpcap reads it, and the filter of live captures.
#include <doctest/doctest.h>
#include <pcap/pcap.h>

#include <algorithm>

#include "asrp/packet/surgery.hpp"
#include "capture/filter.hpp"
#include "capture/pcapng_blocks.hpp"
#include "capture/pcapng_head.hpp"
#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::dump;
using namespace asrp::test;

namespace {

std::uint8_t decimals_of(const Buffer& file) {
  std::size_t wanted = 4;
  for (int turns = 0; turns < 10; ++turns) {
    if (wanted > file.size()) return 0;
    const HeadResult head = read_capture_head(Octets(file).first(wanted));
    if (head.wanted == 0) return head.decimals;
    REQUIRE(head.wanted > wanted);
    wanted = head.wanted;
  }
  return 0;
}

const std::string kSectionLittle =
    "0a0d0d0a"
    "1c000000"
    "4d3c2b1a"
    "01000000"
    "ffffffffffffffff"
    "1c000000";
const std::string kSectionBig =
    "0a0d0d0a"
    "0000001c"
    "1a2b3c4d"
    "00010000"
    "ffffffffffffffff"
    "0000001c";

/// Does libpcap let the frame through? -1: it doesn't compile the filter.
int passes(const Buffer& frame, int link_type, const std::string& filter) {
  pcap_t* const pcap = pcap_open_dead(link_type, 262144);
  bpf_program program{};
  int result = -1;
  if (pcap_compile(pcap, &program, filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) == 0) {
    pcap_pkthdr header{};
    header.caplen = header.len = static_cast<bpf_u_int32>(frame.size());
    result = pcap_offline_filter(&program, &header, frame.data()) != 0 ? 1 : 0;
    pcap_freecode(&program);
  }
  pcap_close(pcap);
  return result;
}

Buffer behind(const std::string& header, const Buffer& ip) {
  Buffer frame = hex(header);
  frame.insert(frame.end(), ip.begin(), ip.end());
  return frame;
}

const std::string kMacs = "020000000001020000000002";
// In front of the EtherType: nothing, and one to three tags.
const std::string kTags[] = {"", "81000001", "88a8000181000002", "88a800018100000281000003"};

Buffer marked(const Buffer& ip) {
  Buffer out;
  const auto view = packet::PacketView::parse(ip);
  REQUIRE(packet::insert_inline(*view, {}, hs(Protocol::tcp).build(), 65535, out).has_value());
  return out;
}

}  // namespace

TEST_CASE("decimals of pcap files, in both byte orders") {
  CHECK(decimals_of(hex("d4c3b2a1")) == 6);
  CHECK(decimals_of(hex("a1b2c3d4")) == 6);
  CHECK(decimals_of(hex("4d3cb2a1")) == 9);
  CHECK(decimals_of(hex("a1b23c4d")) == 9);
  CHECK(decimals_of(hex("47455420")) == 0);
}

TEST_CASE("decimals of pcapng files: the option of the first interface") {
  CHECK(decimals_of(hex(kSectionLittle + "01000000"
                                         "14000000"
                                         "01000000"
                                         "00000400"
                                         "14000000")) == 6);
  CHECK(decimals_of(hex(kSectionLittle + "01000000"
                                         "20000000"
                                         "01000000"
                                         "00000400"
                                         "09000100"
                                         "09000000"
                                         "00000000"
                                         "20000000")) == 9);
  CHECK(decimals_of(hex(kSectionLittle + "01000000"
                                         "20000000"
                                         "01000000"
                                         "00000400"
                                         "09000100"
                                         "06000000"
                                         "00000000"
                                         "20000000")) == 6);
  CHECK(decimals_of(hex(kSectionLittle + "01000000"
                                         "20000000"
                                         "01000000"
                                         "00000400"
                                         "09000100"
                                         "9e000000"
                                         "00000000"
                                         "20000000")) == 9);
  CHECK(decimals_of(hex(kSectionBig + "00000001"
                                      "00000020"
                                      "00010000"
                                      "00040000"
                                      "00090001"
                                      "09000000"
                                      "00000000"
                                      "00000020")) == 9);
  // A block in between, then the interface.
  CHECK(decimals_of(hex(kSectionLittle + "04000000"
                                         "10000000"
                                         "00000000"
                                         "10000000"
                                         "01000000"
                                         "14000000"
                                         "01000000"
                                         "00000400"
                                         "14000000")) == 6);
}

TEST_CASE("damaged pcapng heads end the search") {
  CHECK(decimals_of(hex("0a0d0d0a"
                        "1c000000"
                        "00000000")) == 0);
  CHECK(decimals_of(hex("0a0d0d0a"
                        "00000000"
                        "4d3c2b1a"
                        "01000000")) == 0);
  CHECK(decimals_of(hex(kSectionLittle + "01000000"
                                         "20000000"
                                         "01000000"
                                         "00000400"
                                         "0900ffff"
                                         "09000000"
                                         "00000000"
                                         "20000000")) == 6);
}

namespace {

/// What libpcap reads of `file` if it comes in pieces of `size` octets.
Buffer mended(const Buffer& file, std::size_t size, PcapngBlocks& blocks) {
  Buffer out;
  Buffer held;
  for (std::size_t at = 0; at < file.size(); at += size) {
    held.insert(held.end(), file.begin() + static_cast<std::ptrdiff_t>(at),
                file.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, file.size())));
    const auto through = static_cast<std::ptrdiff_t>(blocks.mend(held));
    out.insert(out.end(), held.begin(), held.begin() + through);
    held.erase(held.begin(), held.begin() + through);
  }
  out.insert(out.end(), held.begin(), held.end());
  return out;
}

}  // namespace

TEST_CASE("interfaces of a pcapng file get one snapshot length and libpcap's number of raw IP, however the octets come") {
  const auto file = [](const char* first, const char* second, const char* later) {
    return hex(kSectionLittle + "0100000014000000" + first + "14000000" + "0300000014000000" + later + "0102030414000000" +
               "0100000014000000" + second + "14000000" + "0a0b0c0d");  // ends in the middle of a block
  };
  // Raw IP, 96 octets at most; raw IP without a limit. The packet without a length of its own was 200 octets long.
  const Buffer given = file("6500000060000000", "6500000000000000", "c8000000");
  const Buffer wanted = file("0c00000000000000", "0c00000000000000", "60000000");
  for (std::size_t size = 1; size <= given.size(); ++size) {
    CAPTURE(size);
    PcapngBlocks blocks;
    CHECK(to_hex(mended(given, size, blocks)) == to_hex(wanted));
    CHECK(blocks.link_type() == DLT_RAW);
    CHECK(blocks.other_link_type() == -1);
  }
  const Buffer large = file("0100000000000800", "1401000000000400", "c8000000");
  PcapngBlocks blocks;
  CHECK(to_hex(mended(large, 7, blocks)) == to_hex(file("0100000000000800", "1401000000000800", "c8000000")));
  CHECK(blocks.link_type() == DLT_EN10MB);
  CHECK(blocks.other_link_type() == DLT_LINUX_SLL2);
}

TEST_CASE("of a pcapng file of the other byte order, too; what is damaged is left to libpcap") {
  PcapngBlocks blocks;
  const std::string big = kSectionBig + "0000000100000014";
  CHECK(to_hex(mended(hex(big + "006500000000006000000014"), 5, blocks)) == big + "000c00000000000000000014");
  const std::string interface = "0100000014000000650000006000000014000000";
  for (const std::string& damaged :
       {std::string("0a0d0d0a1c00000000000000ffffffff65000000"), kSectionLittle + "0100000007000000650000006000000065000000",
        kSectionLittle + "050000000e000000aaaaaaaaaaaa" + interface, kSectionLittle + "0500000008000000" + interface,
        kSectionLittle + "01000000100000006500000010000000"}) {
    PcapngBlocks lost;
    CHECK(to_hex(mended(hex(damaged), 3, lost)) == damaged);
    CHECK(lost.link_type() == -1);
  }
  // A packet without a length of its own that isn't even long enough to say how long it was.
  PcapngBlocks blunt;
  const std::string packet =
      "030000000c0000000c000000"
      "01000000";
  CHECK(to_hex(mended(hex(kSectionLittle + "0100000014000000010000000400000014000000" + packet), 5, blunt)) ==
        kSectionLittle + "0100000014000000010000000000000014000000" + packet);
}

TEST_CASE("the filter of live captures takes what can hold ASRP") {
  const std::vector<std::string> filters = default_filters(51200, true);
  const std::string& filter = filters.front();
  const Buffer tcp4 = marked(tcp("192.0.2.1:1", "192.0.2.2:2").push().payload("x").build());
  const Buffer tcp6 = marked(tcp("[2001:db8::1]:1", "[2001:db8::2]:2").push().payload("x").build());
  const Buffer udp4 = marked(udp("192.0.2.1:1", "192.0.2.2:2").payload("x").build());
  const Buffer udp6 = marked(udp("[2001:db8::1]:1", "[2001:db8::2]:2").payload("x").build());
  const Buffer port4 = udp("192.0.2.1:1", "192.0.2.2:51200").payload("x").build();
  const Buffer port6 = udp("[2001:db8::1]:51200", "[2001:db8::2]:1").payload("x").build();
  const Buffer hidden = tcp("[2001:db8::1]:1", "[2001:db8::2]:2").extension(60, "00010400000000").build();
  Buffer fragment = udp("192.0.2.1:1", "192.0.2.2:2").payload("x").build();
  store_u16(fragment, 6, 0x2000);
  for (const Buffer& ip : {tcp4, tcp6, udp4, udp6, port4, port6, hidden, fragment}) {
    const std::string type = ip[0] >> 4 == 4 ? "0800" : "86dd";
    CAPTURE(to_hex(ip));
    for (const std::string& tags : kTags) CHECK(passes(behind(kMacs + tags + type, ip), DLT_EN10MB, filter) == 1);
    CHECK(passes(behind(kMacs + "884700010140", ip), DLT_EN10MB, filter) == 1);
  }
}

TEST_CASE("the filter of live captures leaves out what can't") {
  const std::string filter = default_filters(51200, true).front();
  const Buffer plain_tcp = tcp("192.0.2.1:1", "192.0.2.2:2").payload("data").build();
  const Buffer plain_tcp6 = tcp("[2001:db8::1]:1", "[2001:db8::2]:2").payload("data").build();
  const Buffer plain_udp = udp("192.0.2.1:1", "192.0.2.2:53").payload("data").build();
  const Buffer plain_udp6 = udp("[2001:db8::1]:1", "[2001:db8::2]:53").payload("data").build();
  for (const Buffer& ip : {plain_tcp, plain_tcp6, plain_udp, plain_udp6}) {
    const std::string type = ip[0] >> 4 == 4 ? "0800" : "86dd";
    for (const std::string& tags : {kTags[0], kTags[1]})
      CHECK(passes(behind(kMacs + tags + type, ip), DLT_EN10MB, filter) == 0);
  }
  CHECK(passes(behind(kMacs + "0806", Buffer(28)), DLT_EN10MB, filter) == 0);
}

TEST_CASE("the filter of cooked captures takes tagged packets too") {
  const Buffer ip = marked(tcp("192.0.2.1:1", "192.0.2.2:2").push().payload("x").build());
  const std::string header = "0000000100060200000000010000";
  const std::vector<std::string> filters = default_filters(51200, true);
  const auto filter = std::find_if(filters.begin(), filters.end(),
                                   [](const std::string& f) { return passes(Buffer(64), DLT_LINUX_SLL, f) >= 0; });
  REQUIRE(filter != filters.end());
  CHECK(passes(behind(header + "0800", ip), DLT_LINUX_SLL, *filter) == 1);
  CHECK(passes(behind(header + kTags[1] + "0800", ip), DLT_LINUX_SLL, *filter) == 1);
  CHECK(passes(behind(header + "0806", Buffer(28)), DLT_LINUX_SLL, *filter) == 0);
  const Buffer plain = tcp("192.0.2.1:1", "192.0.2.2:2").push().payload("x").build();
  CHECK(passes(behind(header + "0800", plain), DLT_LINUX_SLL, *filter) == 0);
  // With the rest of a tag in front of it nothing can be told of a packet: it is let through.
  for (const char* const rest : {"00640800", "40640800", "e0640800"}) {
    CHECK(passes(behind(header + "0800" + rest, ip), DLT_LINUX_SLL, *filter) == 1);
    CHECK(passes(behind("08000000000000020001000602000000000b0000" + std::string(rest), ip), DLT_LINUX_SLL2, *filter) == 1);
  }
}

TEST_CASE("some filter compiles on every link type that an interface may have") {
  for (const int type : {DLT_EN10MB, DLT_LINUX_SLL, DLT_LINUX_SLL2, DLT_RAW, DLT_NULL, DLT_PPP}) {
    bool compiles = false;
    for (const std::string& filter : default_filters(51200, true)) compiles = compiles || passes(Buffer(64), type, filter) >= 0;
    CAPTURE(type);
    CHECK(compiles);
  }
}
