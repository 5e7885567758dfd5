// SPDX-License-Identifier: BSD-3-Clause
#include "decode/link.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::dump;
using namespace asrp::test;

namespace {

const std::string kMacs = "020000000001020000000002";
const Buffer kIp = udp("192.0.2.1:5000", "192.0.2.2:53").payload("hello").build();

Buffer behind(std::string_view header) {
  Buffer frame = hex(header);
  frame.insert(frame.end(), kIp.begin(), kIp.end());
  return frame;
}

/// The packet is found behind `header`, and no frame that ends earlier is taken for one.
void check_found(int link_type, std::string_view header) {
  const Buffer frame = behind(header);
  const LinkResult found = find_ip(frame, link_type);
  CAPTURE(link_type);
  CAPTURE(header);
  REQUIRE(found.status == LinkStatus::ip);
  CHECK(Buffer(found.ip.begin(), found.ip.end()) == kIp);
  const std::size_t headers = frame.size() - kIp.size();
  for (std::size_t size = 0; size < headers; ++size) {
    CAPTURE(size);
    CHECK(find_ip(Octets(frame).first(size), link_type).status != LinkStatus::ip);
  }
}

void check_status(int link_type, std::string_view header, LinkStatus status) {
  CAPTURE(link_type);
  CAPTURE(header);
  CHECK(find_ip(behind(header), link_type).status == status);
}

std::string tags(std::size_t count, std::string_view first) {
  std::string text = kMacs + std::string(first);
  for (std::size_t i = 1; i < count; ++i) text += "00018100";
  return text + "00020800";
}

}  // namespace

TEST_CASE("Ethernet, with LLC and SNAP") {
  check_found(1, kMacs + "0800");
  check_found(1, kMacs + "86dd");
  check_found(1, kMacs + "0040" + "aaaa03000000" + "0800");
  check_found(1, kMacs + "0040" + "aaaa030000f8" + "86dd");
  check_found(1, kMacs + "0040" + "060603");
  check_status(1, kMacs + "0040" + "424203", LinkStatus::not_ip);            // spanning tree
  check_status(1, kMacs + "0040" + "aaaa0300000c2000", LinkStatus::not_ip);  // a protocol of a vendor's
  check_status(1, kMacs + "0806", LinkStatus::not_ip);
  check_status(1, kMacs + "88b5", LinkStatus::unknown);
}

TEST_CASE("VLAN stacks up to eight tags, of every TPID") {
  for (const auto* tpid : {"8100", "88a8", "9100", "9200"}) check_found(1, tags(1, tpid));
  for (std::size_t count = 1; count <= 8; ++count) check_found(1, tags(count, "88a8"));
  check_status(1, tags(9, "8100"), LinkStatus::unknown);
  check_status(1, kMacs + "8200" + "00010800", LinkStatus::unknown);
  check_found(1, kMacs + "8100" + "00010040" + "aaaa03000000" + "0800");
}

TEST_CASE("MPLS and PPPoE, also behind tags") {
  check_found(1, kMacs + "8847" + "00010140");
  check_found(1, kMacs + "8848" + "00010040" + "00020140");
  check_found(1, kMacs + "8864" + "110000010023" + "0021");
  check_found(1, kMacs + "88a8" + "00018100" + "00028864" + "110000010023" + "0021");
  check_status(1, kMacs + "8864" + "110000010023" + "c021", LinkStatus::not_ip);
  check_status(1, kMacs + "8863" + "1109000000100101", LinkStatus::not_ip);
}

TEST_CASE("an endless MPLS stack ends") {
  std::string labels = kMacs + "8847";
  for (int i = 0; i < 40; ++i) labels += "00010040";
  check_status(1, labels, LinkStatus::unknown);
}

TEST_CASE("Linux cooked, with the rest of a tag in front of the packet") {
  const std::string sll =
      "000000010006"
      "020000000001"
      "0000";
  const std::string sll2 = "0000000000020001000602000000000b0000";
  for (const char* const tag : {"0064", "4064", "e064"}) {
    check_found(113, sll + "0800" + tag + "0800");
    check_found(113, sll + "88a800c80800" + tag + "0800");  // libpcap puts the outer tag back
    check_found(276, "0800" + sll2 + tag + "0800");
  }
  // A packet of 2048 octets, whose identification begins with a 4: its length is no EtherType.
  Buffer frame = hex(sll +
                     "0800"
                     "450008004000000040110000c0000201c0000202");
  frame.resize(16 + 2048);
  CHECK(find_ip(frame, 113).ip.size() == 2048);
}

TEST_CASE("Linux cooked, both versions, with a tag inside") {
  check_found(113,
              "0000"
              "0001"
              "0006"
              "020000000001"
              "0000"
              "0800");
  check_found(113,
              "0000"
              "0001"
              "0006"
              "020000000001"
              "0000"
              "8100"
              "00010800");
  check_found(113,
              "0000"
              "0001"
              "0006"
              "020000000001"
              "0000"
              "0004"
              "aaaa030000000800");
  check_status(113,
               "0000"
               "0338"
               "0000"
               "0000000000000000"
               "0000",
               LinkStatus::not_ip);  // netlink
  check_found(276,
              "0800"
              "0000"
              "00000002"
              "0001"
              "00"
              "06"
              "0200000000010000");
  check_found(276,
              "88a8"
              "0000"
              "00000002"
              "0001"
              "00"
              "06"
              "0200000000010000"
              "00018100"
              "00020800");
  check_status(276,
               "000c"
               "0000"
               "00000002"
               "0118"
               "00"
               "00"
               "0000000000000000",
               LinkStatus::unknown);  // CAN
}

TEST_CASE("raw, null and loopback in either byte order") {
  for (const int type : {12, 14, 101, 228, 229}) check_found(type, "");
  for (const auto* family : {"00000002", "02000000", "0000000a", "0000001e", "1c000000"}) {
    check_found(0, family);
    check_found(108, family);
  }
  check_status(0, "00000007", LinkStatus::unknown);
}

TEST_CASE("PPP with and without framing, short protocol numbers, Cisco HDLC") {
  for (const int type : {9, 50}) {
    check_found(type, "ff030021");
    check_found(type, "0057");
    check_found(type, "ff0321");
    check_found(type, "0f000800");
    check_status(type, "ff03c021", LinkStatus::not_ip);
    check_status(type, "ff0300fd", LinkStatus::unknown);  // compressed
  }
  check_found(51, "1100000100230021");
  check_found(104, "0f000800");
}

TEST_CASE("NFLOG: the packet is one attribute among others") {
  check_found(239,
              "02000001"
              "08000a0000000001"
              "0500"
              "0b00"
              "61000000"
              "2500"
              "0900");
  check_status(239,
               "02000001"
               "0000"
               "0100",
               LinkStatus::unknown);  // an attribute that would never end
}

TEST_CASE("a link type that nobody knows") {
  CHECK_FALSE(knows_link_type(147));
  check_status(147, "", LinkStatus::unknown);
}
