// SPDX-License-Identifier: BSD-3-Clause
#include "report/json.hpp"

#include <doctest/doctest.h>

#include "asrp/packet/surgery.hpp"
#include "decode/decoder.hpp"
#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::dump;
using namespace asrp::test;

namespace {

std::string json_of(const Buffer& ip, std::size_t captured = 65535, Stamp stamp = {1'700'000'000, 123'456'789, 6}) {
  DecoderOptions options;
  options.link_type = -1;
  Decoder decoder(options);
  const Packet* const packet = decoder.decode({17, stamp, Octets(ip).first(std::min(ip.size(), captured)), ip.size()});
  REQUIRE(packet != nullptr);
  REQUIRE(packet->sighting.present());
  std::string out;
  append_json(out, *packet);
  return out;
}

const TuplePair kPair{udp_tuple("203.0.113.7:40000", "198.51.100.1:53"), udp_tuple("[2001:db8::7]:40000", "[2001:db8::1]:53")};

Buffer standalone(Buffer payload) { return udp("10.9.0.1:40001", "10.0.0.1:51200").payload(std::move(payload)).build(); }

}  // namespace

TEST_CASE("a message with all that one can have") {
  const Buffer message =
      ns(kPair).protocol(Protocol::udp).cookie(0xc0ffee).node("2001:db8::9").wants_ack().session_data("0aff").build();
  CHECK(json_of(standalone(message)) ==
        R"({"time":1700000000.123456,"frame":17,"src":"10.9.0.1","dst":"10.0.0.1","sport":40001,"dport":51200,)"
        R"("carriage":"standalone","type":"NS","sttype":"ST46","flags":["F-LIP6","F-NA"],"length":78,"protocol":"udp",)"
        R"("cookie":"00c0ffee","st1":{"src":"203.0.113.7","sport":40000,"dst":"198.51.100.1","dport":53},)"
        R"("st2":{"src":"2001:db8::7","sport":40000,"dst":"2001:db8::1","dport":53},"session_data":"0aff",)"
        R"("node_local_ip":"2001:db8::9","valid":true})");
}

TEST_CASE("a message with the least that one can have, in nanoseconds") {
  const Buffer ip =
      tcp("203.0.113.7:40000", "198.51.100.1:80").push().options("fd044153").payload(hs(Protocol::tcp).build()).build();
  CHECK(json_of(ip, 65535, {1, 5, 9}) ==
        R"({"time":1.000000005,"frame":17,"src":"203.0.113.7","dst":"198.51.100.1","sport":40000,"dport":80,)"
        R"("carriage":"separate-tcp","type":"HS","sttype":"NULL","flags":[],"length":16,"protocol":"tcp","cookie":"00000000",)"
        R"("session_data":"","valid":true})");
}

TEST_CASE("other protocols are numbers") {
  Buffer message = qs(udp_tuple("203.0.113.7:0", "198.51.100.1:0")).build();
  message[7] = 132;
  CHECK(json_of(standalone(message)).find(R"("protocol":132,)") != std::string::npos);
}

TEST_CASE("an invalid message says why, what can be read of it, and its octets") {
  Buffer message = qs(udp_tuple("203.0.113.7:1", "198.51.100.1:2")).cookie(5).build();
  message.pop_back();
  CHECK(json_of(standalone(message)) ==
        R"({"time":1700000000.123456,"frame":17,"src":"10.9.0.1","dst":"10.0.0.1","sport":40001,"dport":51200,)"
        R"("carriage":"standalone","type":"QS","sttype":"ST4","flags":[],"length":24,"protocol":"udp","cookie":"00000005",)"
        R"("valid":false,"reason":"length","octets":")" +
            to_hex(message) + "\"}");
}

TEST_CASE("numbers where the draft has no name") {
  Buffer message = qs(udp_tuple("203.0.113.7:1", "198.51.100.1:2")).build();
  message[2] = 77;
  CHECK(json_of(standalone(message)).find(R"("type":"QS","sttype":77,)") != std::string::npos);
}

TEST_CASE("cut off, and not ASRP") {
  const Buffer message = qs(udp_tuple("203.0.113.7:1", "198.51.100.1:2")).build();
  const std::string cut = json_of(standalone(message), 20 + 8 + 13);
  CHECK(cut.find(R"("valid":false,"reason":"truncated","cut":true,"octets":"000205)") != std::string::npos);
  const std::string foreign = json_of(standalone(hex("4500ff")));
  CHECK(foreign.find(R"("valid":false,"reason":"truncated","not_asrp":true,"octets":"4500ff"})") != std::string::npos);
}

TEST_CASE("of a header that is not whole, the fields that are") {
  const auto fields = [](std::string_view octets) {
    const std::string text = json_of(standalone(hex(octets)));
    const std::size_t begin = text.find(R"("standalone")") + 12;
    return text.substr(begin, text.find(R"(,"valid":false,"reason":"truncated")") - begin);
  };
  CHECK(fields("0002") == R"(,"type":"QS")");
  CHECK(fields("000205") == R"(,"type":"QS","sttype":"ST4")");
  CHECK(fields("00020504") == R"(,"type":"QS","sttype":"ST4","flags":["F-NA"])");
  CHECK(fields("0002050000") == R"(,"type":"QS","sttype":"ST4","flags":[])");
  CHECK(fields("000205000018") == R"(,"type":"QS","sttype":"ST4","flags":[],"length":24)");
  CHECK(fields("0002050000180006112233") == R"(,"type":"QS","sttype":"ST4","flags":[],"length":24,"protocol":"tcp")");
}

TEST_CASE("unassigned bits are shown, and change nothing") {
  Buffer message = hs(Protocol::tcp).build();
  message[3] = 0x88;
  message[6] = 1;
  message[15] = 2;
  const std::string text = json_of(standalone(message));
  CHECK(text.find(R"("flags":[])") != std::string::npos);
  CHECK(text.find(R"("valid":true,"unassigned_flags":136,"reserved":3})") != std::string::npos);
}
