// SPDX-License-Identifier: BSD-3-Clause
#include "report/text.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "decode/decoder.hpp"
#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::dump;
using namespace asrp::test;

namespace {

const TuplePair kPair{tcp_tuple("203.0.113.7:40000", "198.51.100.1:80"), tcp_tuple("203.0.113.7:40000", "10.0.0.1:80")};

Buffer standalone(Buffer payload) { return udp("10.9.0.1:40001", "10.0.0.1:51200").payload(std::move(payload)).build(); }

/// What the report says of packets at these stamps.
class Screen {
 public:
  explicit Screen(const TextOptions& options, bool color = false) : out_(file_, color), report_(out_, options) {}
  ~Screen() {
    out_.flush();  // it outlives the stream
    std::fclose(file_);
    std::free(memory_);
  }

  Screen& show(const Buffer& ip, Stamp stamp = {}, std::size_t captured = 65535) {
    DecoderOptions options;
    options.link_type = -1;
    Decoder decoder(options);
    const Packet* const packet = decoder.decode({++number_, stamp, Octets(ip).first(std::min(ip.size(), captured)), ip.size()});
    REQUIRE(packet != nullptr);
    report_.on_packet(*packet);
    return *this;
  }
  std::string text() {
    report_.finish();
    std::fflush(file_);
    return std::string(memory_, size_);
  }

 private:
  char* memory_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_ = open_memstream(&memory_, &size_);
  Out out_;
  TextReport report_;
  std::uint64_t number_ = 0;
};

TextOptions without_time() {
  TextOptions options;
  options.time = TimeStyle::none;
  return options;
}

std::string line_of(const Buffer& ip, std::size_t captured = 65535) {
  return Screen(without_time()).show(ip, {}, captured).text();
}

}  // namespace

TEST_CASE("one line for each message") {
  CHECK(line_of(standalone(ns(kPair).cookie(0xc0ffee).node("10.9.0.1").wants_ack().session_data("0102").build())) ==
        "IP 10.9.0.1:40001 > 10.0.0.1:51200: standalone NS F-NA tcp cookie 00c0ffee st1 203.0.113.7:40000>198.51.100.1:80 "
        "st2 203.0.113.7:40000>10.0.0.1:80 data 0102 node 10.9.0.1 length 42\n");
  CHECK(line_of(udp("[2001:db8::1]:1", "[2001:db8::2]:51200").payload(hs(Protocol::udp).build()).build()) ==
        "IP6 [2001:db8::1]:1 > [2001:db8::2]:51200: standalone HS udp cookie 00000000 length 16\n");
}

TEST_CASE("nothing for packets without a message") {
  CHECK(line_of(udp("10.0.0.1:1", "10.0.0.2:2").payload("x").build()).empty());
}

TEST_CASE("invalid, cut off, not ASRP") {
  Buffer message = qs(kPair.client_side).cookie(1).build();
  message[2] = 1;
  CHECK(line_of(standalone(message)) ==
        "IP 10.9.0.1:40001 > 10.0.0.1:51200: standalone QS invalid (sttype) tcp cookie 00000001 length 24, 24 octets: " +
            to_hex(message) + "\n");
  CHECK(line_of(standalone(message = qs(kPair.client_side).build()), 28 + 4) ==
        "IP 10.9.0.1:40001 > 10.0.0.1:51200: standalone QS cut off by the capture, 4 octets: 00020500\n");
  CHECK(line_of(standalone(hex("4500"))) == "IP 10.9.0.1:40001 > 10.0.0.1:51200: standalone not ASRP?, 2 octets: 4500\n");
}

TEST_CASE("the styles of time") {
  setenv("TZ", "UTC0", 1);
  tzset();
  const Buffer ip = standalone(hex("4500"));
  const auto begin_of = [&](TimeStyle style, std::uint8_t decimals) {
    TextOptions options;
    options.time = style;
    Screen screen(options);
    screen.show(ip, {1'700'000'000, 100'000'000, decimals}).show(ip, {1'700'003'601, 99'999'000, decimals});
    screen.show(ip, {1'700'003'600, 0, decimals});
    std::string begins;
    const std::string text = screen.text();
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      begins += text.substr(at, text.find("IP", at) - at) + "|";
    }
    return begins;
  };
  CHECK(begin_of(TimeStyle::time_of_day, 6) == "22:13:20.100000 |23:13:21.099999 |23:13:20.000000 |");
  CHECK(begin_of(TimeStyle::time_of_day, 9) == "22:13:20.100000000 |23:13:21.099999000 |23:13:20.000000000 |");
  CHECK(begin_of(TimeStyle::none, 6) == "|||");
  CHECK(begin_of(TimeStyle::seconds, 6) == "1700000000.100000 |1700003601.099999 |1700003600.000000 |");
  CHECK(begin_of(TimeStyle::since_previous, 6) == " 00:00:00.000000 | 01:00:00.999999 |-00:00:01.099999 |");
  CHECK(begin_of(TimeStyle::date_and_time, 6) ==
        "2023-11-14 22:13:20.100000 |2023-11-14 23:13:21.099999 |2023-11-14 23:13:20.000000 |");
  CHECK(begin_of(TimeStyle::since_first, 6) == " 00:00:00.000000 | 01:00:00.999999 | 00:59:59.900000 |");
}

TEST_CASE("every field in a row of its own") {
  TextOptions options = without_time();
  options.tree = true;
  const Buffer ip = standalone(rs(kPair).cookie(0xc0ffee).session_data("0a0b").build());
  const std::string text = Screen(options).show(ip).text();
  for (const auto* row : {"    Frame 1, 66 octets; IPv4, ttl 64, 66 octets; UDP, data 38\n",
                          "      0    Version           00         0\n", "      1    MsgType           03         RS\n",
                          "      3    Flags             00         none\n", "      4    Length            0026       38\n",
                          "      8    Cookie            00c0ffee\n", "      12   ST1 source        cb007107   203.0.113.7\n",
                          "      34   ST2 dest. port    0050       80\n", "      36   Session-Data      0a0b\n"}) {
    CAPTURE(row);
    CHECK(text.find(row) != std::string::npos);
  }
}

TEST_CASE("the rows end where the message does") {
  TextOptions options = without_time();
  options.tree = true;
  const Buffer ip = standalone(rs(kPair).build());
  for (std::size_t captured = 28; captured <= ip.size(); ++captured) {
    const std::string text = Screen(options).show(ip, {}, captured).text();
    const bool is_whole = captured == ip.size();
    const bool says_so = text.find("(not there)") != std::string::npos || text.find(" octets)\n") != std::string::npos;
    CHECK(says_so == !is_whole);
  }
}

TEST_CASE("the packet in hexadecimal") {
  std::string out;
  append_hex_dump(out, pattern(19), false);
  CHECK(out == "\t0x0000:  0108 0f16 1d24 2b32 3940 474e 555c 636a\n\t0x0010:  7178 7f\n");
  out.clear();
  append_hex_dump(out, octets_of("GET /index.html\n\x7f"), true);
  CHECK(out ==
        "\t0x0000:  4745 5420 2f69 6e64 6578 2e68 746d 6c0a  GET /index.html.\n\t0x0010:  7f" + std::string(39, ' ') + ".\n");
}

TEST_CASE("color only where it is welcome") {
  const Buffer ip = standalone(qs(kPair.client_side).build());
  CHECK(Screen(without_time()).show(ip).text().find('\x1b') == std::string::npos);
  CHECK(Screen(without_time(), true).show(ip).text().find("\x1b[32mQS\x1b[0m") != std::string::npos);
}
