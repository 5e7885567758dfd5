// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/backup.hpp"

#include <doctest/doctest.h>

#include "support/holder_lab.hpp"

namespace asrp::test {
namespace {

session::Backup backup_of(const TuplePair& tuples, std::string_view node, const Buffer& data) {
  session::Backup backup;
  backup.tuples = tuples;
  backup.cookie = Cookie{0x01020304};
  backup.node_local_ip = address(node);
  backup.data_size = static_cast<std::uint8_t>(data.size());
  std::copy(data.begin(), data.end(), backup.data.begin());
  return backup;
}

Buffer encoded(const session::Backup& backup) {
  Buffer out;
  session::encode_backup(backup, out);
  return out;
}

std::vector<session::Backup> samples() {
  TuplePair v4_to_v6 = nat_session6();
  v4_to_v6.client_side = nat_session().client_side;
  TuplePair v6_to_v4 = nat_session();
  v6_to_v4.client_side = nat_session6().client_side;
  TuplePair same_port = full_nat_session("203.0.113.7:2000", "10.9.0.1:2000");
  return {backup_of(nat_session(), "192.0.2.10", {}),
          backup_of(full_nat_session(), "192.0.2.10", pattern(64)),
          backup_of(nat_session6(), "2001:db8::10", pattern(3)),
          backup_of(nat_session6(Protocol::udp), "192.0.2.10", {}),
          backup_of(v4_to_v6, "2001:db8::10", pattern(1)),
          backup_of(v6_to_v4, "192.0.2.10", {}),
          backup_of(same_port, "192.0.2.10", {})};
}

TEST_CASE("what is stored comes back as it was, in the same octets on every machine") {
  for (const session::Backup& backup : samples()) {
    const auto back = session::decode_backup(encoded(backup));
    REQUIRE(back.has_value());
    CHECK(*back == backup);
  }
  CHECK(to_hex(encoded(backup_of(full_nat_session(), "192.0.2.10", hex("ab")))) ==
        "01000601"
        "01020304"
        "cb007107"
        "c6336401"
        "0a090001"
        "0a000001"
        "c3500050"
        "07d01f90"
        "c000020a"
        "ab");
}

TEST_CASE("what a service keeps of the client is not stored twice") {
  CHECK(encoded(backup_of(nat_session(), "192.0.2.10", {})).size() == 30);
  CHECK(encoded(backup_of(full_nat_session(), "192.0.2.10", {})).size() == 36);
  CHECK(encoded(backup_of(nat_session6(), "2001:db8::10", {})).size() == 78);
}

TEST_CASE("every proper prefix and every longer record is refused") {
  for (const session::Backup& backup : samples()) {
    Buffer record = encoded(backup);
    for (std::size_t n = 0; n < record.size(); ++n) CHECK(!session::decode_backup(Octets(record).first(n)));
    record.push_back(0);
    CHECK(!session::decode_backup(record));
  }
}

TEST_CASE("unknown versions, shapes and sizes are refused") {
  const Buffer good = encoded(samples().front());
  for (const auto& [offset, value] : {std::pair<std::size_t, int>{0, 2}, {0, 0}, {1, 0x80}, {1, 0x38}, {3, 65}, {3, 255}}) {
    Buffer bad = good;
    bad[offset] = static_cast<std::uint8_t>(value);
    CHECK(!session::decode_backup(bad));
  }
  // A shared source address of two families.
  Buffer mixed = encoded(backup_of(nat_session(), "192.0.2.10", Buffer(24)));
  mixed[1] |= 0x01;
  mixed[3] = 0;
  CHECK(!session::decode_backup(mixed));
}

}  // namespace
}  // namespace asrp::test
