// SPDX-License-Identifier: BSD-3-Clause
// messages.toml and packets.toml against libasrp; check_vectors.py does the same with the Python codec.
#include <doctest/doctest.h>
#include <toml++/toml.h>

#include <algorithm>
#include <string>
#include <vector>

#include "asrp/packet/locate.hpp"
#include "asrp/packet/surgery.hpp"
#include "asrp/wire/decode.hpp"
#include "asrp/wire/layout.hpp"
#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::test;

namespace {

std::vector<const toml::table*> rows(const toml::table& file, std::string_view key) {
  std::vector<const toml::table*> tables;
  const toml::array* array = file[key].as_array();
  REQUIRE(array != nullptr);
  for (const auto& row : *array) tables.push_back(row.as_table());
  return tables;
}

toml::table load(const char* name) { return toml::parse_file(std::string(ASRP_SOURCE_DIR "/tests/vectors/") + name); }

std::string text(const toml::table& row, std::string_view key) { return row[key].value_or(std::string()); }

Tuple tuple_of(const toml::table& row, std::string_view key, Protocol protocol) {
  const auto end = [&](const char* ip, const char* port) {
    return Endpoint{address(row[key][ip].value_or("")), static_cast<std::uint16_t>(row[key][port].value_or(0))};
  };
  return {end("src", "sport"), end("dst", "dport"), protocol};
}

std::uint8_t flags_of(const toml::table& row) {
  int flags = 0;
  for (const auto& entry : *row["flags"].as_array()) {
    const std::string name = entry.value_or(std::string());
    flags |= name == "F-LIP6" ? 1 : name == "F-CC" ? 2 : name == "F-NA" ? 4 : 0x80;
  }
  return static_cast<std::uint8_t>(flags);
}

packet::Marker marker_of(const toml::table& row) {
  packet::Marker marker;
  if (!row.contains("marker")) return marker;
  marker.tcp_kind = static_cast<std::uint8_t>(row["marker"]["tcp_kind"].value_or(0));
  marker.udp_kind = static_cast<std::uint8_t>(row["marker"]["udp_kind"].value_or(0));
  marker.exid = static_cast<std::uint16_t>(row["marker"]["exid"].value_or(0));
  return marker;
}

void check_fields(const toml::table& row, const wire::Message& message) {
  const auto protocol = static_cast<Protocol>(row["protocol"].value_or(0));
  CHECK(wire::to_string(message.type) == text(row, "type"));
  CHECK(message.flags == flags_of(row));
  CHECK(message.protocol == protocol);
  CHECK(to_hex(hex(text(row, "cookie"))) == text(row, "cookie"));
  CHECK(message.cookie.value == load_u32(hex(text(row, "cookie")), 0));
  if (row.contains("st1")) CHECK(message.st1 == tuple_of(row, "st1", protocol));
  if (row.contains("st2")) CHECK(message.st2 == tuple_of(row, "st2", protocol));
  CHECK(to_hex(message.session_data) == text(row, "session_data"));
  if (row.contains("node_local_ip")) CHECK(message.node_local_ip.to_string() == text(row, "node_local_ip"));
}

std::string result_of(const Result<wire::Decoded, wire::DecodeError>& decoded) {
  return decoded ? "" : std::string(wire::to_string(decoded.error()));
}

}  // namespace

TEST_CASE("[spec 4.3.1-1] messages of the vectors decode to their meaning or fail for their reason") {
  const toml::table file = load("messages.toml");
  for (const toml::table* row : rows(file, "message")) {
    CAPTURE(text(*row, "name"));
    const Buffer octets = hex(text(*row, "hex"));
    const auto decoded = wire::decode(octets);
    CHECK(result_of(decoded) == text(*row, "error"));
    const char* key = row->contains("prefix_error") ? "prefix_error" : "error";
    CHECK(result_of(wire::decode_prefix(octets)) == text(*row, key));
    if (!decoded) continue;
    check_fields(*row, decoded->message);
    CHECK(wire::to_string(static_cast<wire::StType>(octets[2])) == text(*row, "sttype"));
    Buffer again;
    wire::encode(decoded->message, again);
    CHECK(again.size() == octets.size());
    CHECK((again == octets) == (*row)["canonical"].value_or(true));
  }
}

TEST_CASE("the vectors hold every type in every layout, and every reason to reject") {
  const toml::table file = load("messages.toml");
  std::vector<std::string> seen;
  for (const toml::table* row : rows(file, "message")) {
    seen.push_back(row->contains("error") ? text(*row, "error") : text(*row, "type") + " " + text(*row, "sttype"));
  }
  const auto has = [&](const std::string& what) { return std::find(seen.begin(), seen.end(), what) != seen.end(); };
  for (int type = 0; type < wire::kMsgTypeCount; ++type) {
    for (int st = 0; st < wire::kStTypeCount; ++st) {
      if (wire::kTypeLayouts[static_cast<std::size_t>(type)].tuples != wire::kStLayouts[static_cast<std::size_t>(st)].tuples) {
        continue;
      }
      const std::string what = std::string(wire::to_string(static_cast<wire::MsgType>(type))) + " " +
                               std::string(wire::to_string(static_cast<wire::StType>(st)));
      CHECK_MESSAGE(has(what), what);
    }
  }
  for (int e = 0; e < 5; ++e) CHECK(has(std::string(wire::to_string(static_cast<wire::DecodeError>(e)))));
}

namespace {

std::string status_text(packet::LocateStatus status) {
  static constexpr const char* kNames[] = {"none", "found", "bad_option", "bad_ocs"};
  return kNames[static_cast<std::size_t>(status)];
}

void check_found(const toml::table& row, const packet::PacketView& view, const packet::Located& located) {
  const Octets room = located.room(view);
  const auto decoded = view.is_tcp() ? wire::decode_prefix(room) : wire::decode(room);
  CHECK(result_of(decoded) == text(row, "message_error"));
  if (!decoded) return;
  CHECK(to_hex(room.first(decoded->size)) == text(row, "message"));
  CHECK(packet::is_separate(view, decoded->size) == row["separate"].value_or(false));
  Buffer out;
  packet::strip(view, located, decoded->size, out);
  CHECK(to_hex(out) == text(row, "stripped"));
}

}  // namespace

TEST_CASE("packets of the vectors are read, located and stripped as they say") {
  const toml::table file = load("packets.toml");
  for (const toml::table* row : rows(file, "packet")) {
    CAPTURE(text(*row, "name"));
    const Buffer octets = hex(text(*row, "hex"));
    const auto view = packet::PacketView::parse(octets);
    CHECK((view ? "" : std::string(packet::to_string(view.error()))) == text(*row, "error"));
    if (!view) continue;
    CHECK(static_cast<int>(view->protocol()) == (*row)["protocol"].value_or(0));
    CHECK(view->tuple().src.to_string() == text(*row, "src"));
    CHECK(view->tuple().dst.to_string() == text(*row, "dst"));
    CHECK(to_hex(view->payload()) == text(*row, "user_data"));
    const packet::Located located = packet::locate(*view, marker_of(*row));
    CHECK(status_text(located.status) == text(*row, "locate"));
    if (located.found()) check_found(*row, *view, located);
  }
}

TEST_CASE("packets of the vectors take a message as they say, or refuse it") {
  const toml::table file = load("packets.toml");
  for (const toml::table* row : rows(file, "surgery")) {
    CAPTURE(text(*row, "name"));
    const Buffer octets = hex(text(*row, "hex"));
    const Buffer message = hex(text(*row, "message"));
    const auto view = packet::PacketView::parse(octets);
    REQUIRE(view);
    const auto mtu = static_cast<std::size_t>((*row)["mtu"].value_or(0));
    const packet::Marker marker = marker_of(*row);
    for (const bool inline_form : {true, false}) {
      const std::string key = inline_form ? "inline" : "separate";
      Buffer out{0xaa};
      const auto done = inline_form ? packet::insert_inline(*view, marker, message, mtu, out)
                                    : packet::make_separate(*view, marker, message, mtu, out);
      CHECK((done ? "" : std::string(packet::to_string(done.error()))) == text(*row, key + "_error"));
      CHECK(to_hex(out) == "aa" + text(*row, key));
    }
  }
}
