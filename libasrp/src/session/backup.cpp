// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/backup.hpp"

#include <algorithm>

namespace asrp::session {
namespace {

// The stored form. Addresses and ports that the server-side tuple shares with the client-side one (the client's, where a
// service keeps it) are left out: at a million backups this is 18 MB for IPv6.
//
//   0 version | 1 shape | 2 protocol | 3 size of the Session-Data | 4 cookie | 8 ST1 addresses | ST2 addresses |
//   ST1 ports | ST2 ports | Node-Local-IP | Session-Data
constexpr std::uint8_t kRecordVersion = 1;
constexpr std::uint8_t kClientV6 = 0x01;
constexpr std::uint8_t kServerV6 = 0x02;
constexpr std::uint8_t kNodeV6 = 0x04;
constexpr std::uint8_t kSameAddress = 0x08;  // ST2's source address is ST1's
constexpr std::uint8_t kSamePort = 0x10;     // ST2's source port is ST1's
constexpr std::uint8_t kShapes = 0x1F;
constexpr std::size_t kHead = 8;

std::size_t address_size(std::uint8_t shape, std::uint8_t v6_bit) { return (shape & v6_bit) != 0 ? 16 : 4; }

std::size_t record_size(std::uint8_t shape, std::uint8_t data_size) {
  const std::size_t server_addresses = (shape & kSameAddress) != 0 ? 1 : 2;
  const std::size_t server_ports = (shape & kSamePort) != 0 ? 1 : 2;
  return kHead + 2 * address_size(shape, kClientV6) + server_addresses * address_size(shape, kServerV6) + 4 + 2 * server_ports +
         address_size(shape, kNodeV6) + data_size;
}

/// Takes fields off the front of a record whose size was checked.
class RecordReader {
 public:
  explicit RecordReader(Octets rest) : rest_(rest) {}
  Octets take(std::size_t n) {
    const Octets taken = rest_.first(n);
    rest_ = rest_.subspan(n);
    return taken;
  }
  std::uint16_t port() { return load_u16(take(2), 0); }
  IpAddress address(bool v6) { return v6 ? IpAddress::v6(take(16)) : IpAddress::v4(take(4)); }

 private:
  Octets rest_;
};

}  // namespace

void encode_backup(const Backup& backup, Buffer& out) {
  const Tuple& client = backup.tuples.client_side;
  const Tuple& server = backup.tuples.server_side;
  std::uint8_t shape = 0;
  if (!client.src.address.is_v4()) shape |= kClientV6;
  if (!server.src.address.is_v4()) shape |= kServerV6;
  if (!backup.node_local_ip.is_v4()) shape |= kNodeV6;
  if (server.src.address == client.src.address) shape |= kSameAddress;
  if (server.src.port == client.src.port) shape |= kSamePort;

  ByteWriter writer(out);
  writer.u8(kRecordVersion);
  writer.u8(shape);
  writer.u8(static_cast<std::uint8_t>(client.protocol));
  writer.u8(backup.data_size);
  writer.u32(backup.cookie.value);
  writer.octets(client.src.address.octets());
  writer.octets(client.dst.address.octets());
  if ((shape & kSameAddress) == 0) writer.octets(server.src.address.octets());
  writer.octets(server.dst.address.octets());
  writer.u16(client.src.port);
  writer.u16(client.dst.port);
  if ((shape & kSamePort) == 0) writer.u16(server.src.port);
  writer.u16(server.dst.port);
  writer.octets(backup.node_local_ip.octets());
  writer.octets(backup.session_data());
}

std::optional<Backup> decode_backup(Octets record) {
  if (record.size() < kHead || record[0] != kRecordVersion) return std::nullopt;
  const std::uint8_t shape = record[1];
  const bool client_v6 = (shape & kClientV6) != 0;
  const bool server_v6 = (shape & kServerV6) != 0;
  if ((shape & ~kShapes) != 0 || record[3] > kMaxSessionData) return std::nullopt;
  if ((shape & kSameAddress) != 0 && client_v6 != server_v6) return std::nullopt;
  if (record.size() != record_size(shape, record[3])) return std::nullopt;

  Backup backup;
  Tuple& client = backup.tuples.client_side;
  Tuple& server = backup.tuples.server_side;
  client.protocol = server.protocol = static_cast<Protocol>(record[2]);
  backup.data_size = record[3];
  backup.cookie.value = load_u32(record, 4);
  RecordReader reader(record.subspan(kHead));
  client.src.address = reader.address(client_v6);
  client.dst.address = reader.address(client_v6);
  server.src.address = (shape & kSameAddress) != 0 ? client.src.address : reader.address(server_v6);
  server.dst.address = reader.address(server_v6);
  client.src.port = reader.port();
  client.dst.port = reader.port();
  server.src.port = (shape & kSamePort) != 0 ? client.src.port : reader.port();
  server.dst.port = reader.port();
  backup.node_local_ip = reader.address((shape & kNodeV6) != 0);
  const Octets data = reader.take(backup.data_size);
  std::copy(data.begin(), data.end(), backup.data.begin());
  return backup;
}

}  // namespace asrp::session
