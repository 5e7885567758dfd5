// SPDX-License-Identifier: BSD-3-Clause
#include "io/lab.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "io/process.hpp"
#include "io/socket_address.hpp"

namespace asrp::test {

namespace {

io::UniqueFd present_namespace() { return io::UniqueFd(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)); }

std::vector<std::string> words(const std::string& command) {
  std::istringstream in(command);
  std::vector<std::string> list;
  for (std::string word; in >> word;) list.push_back(word);
  return list;
}

void join(const Namespace& a, const char* a_name, const Namespace& b, const char* b_name) {
  a.enter();
  run(std::string("ip link add ") + a_name + " type veth peer name " + b_name + " netns " + b.path());
  run(std::string("ip link set ") + a_name + " up");
  b.enter();
  run(std::string("ip link set ") + b_name + " up");
}

void address(const char* device, const char* v4, const char* v6) {
  run(std::string("ip addr add ") + v4 + " dev " + device);
  run(std::string("ip addr add ") + v6 + " dev " + device + " nodad");
}

std::uint32_t sum(Octets octets, std::uint32_t start = 0) {
  for (std::size_t i = 0; i < octets.size(); ++i) start += i % 2 == 0 ? std::uint32_t{octets[i]} << 8 : octets[i];
  return start;
}

std::uint16_t fold(std::uint32_t value) {
  while (value > 0xffff) value = (value & 0xffff) + (value >> 16);
  return static_cast<std::uint16_t>(~value);
}

io::UniqueFd bound_socket(int type, const Endpoint& local) {
  const io::SocketAddress address(local);
  io::UniqueFd socket(::socket(address.family(), type | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const timeval limit{2, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  REQUIRE_MESSAGE(::bind(socket.get(), address.get(), address.size()) == 0, local.to_string() << ": " << std::strerror(errno));
  return socket;
}

}  // namespace

int try_run(const std::string& command, const std::string& input) {
  auto outcome = io::run_process(words(command), input);
  return outcome ? outcome->status : -1;
}

std::string run(const std::string& command, const std::string& input) {
  auto outcome = io::run_process(words(command), input);
  REQUIRE_MESSAGE(outcome.has_value(), command);
  REQUIRE_MESSAGE(outcome->status == 0, command << ": " << outcome->errors);
  return outcome->output;
}

void sysctl(const std::string& name, const std::string& value) {
  std::ofstream file("/proc/sys/" + name);
  file << value << std::flush;
  REQUIRE_MESSAGE(file.good(), name);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Namespace::Namespace() : before_(present_namespace()) {
  REQUIRE(::unshare(CLONE_NEWNET) == 0);
  own_ = present_namespace();
  // Tentative addresses cannot ask for neighbours: no IPv6 in the first two seconds otherwise.
  sysctl("net/ipv6/conf/default/accept_dad", "0");
  sysctl("net/ipv6/conf/all/accept_dad", "0");
  run("ip link set lo up");
}

Namespace::~Namespace() { static_cast<void>(::setns(before_.get(), CLONE_NEWNET)); }

void Namespace::enter() const { REQUIRE(::setns(own_.get(), CLONE_NEWNET) == 0); }

std::string Namespace::path() const { return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(own_.get()); }

Lab::Lab() {
  join(client, "c0", node, "n0");
  join(server, "s0", node, "n1");
  node.enter();
  address("n0", "10.1.0.1/24", "fd01::1/64");
  address("n1", "10.2.0.1/24", "fd02::1/64");
  sysctl("net/ipv4/ip_forward", "1");
  sysctl("net/ipv6/conf/all/forwarding", "1");
  client.enter();
  address("c0", "10.1.0.2/24", "fd01::2/64");
  run("ip route add default via 10.1.0.1");
  run("ip -6 route add default via fd01::1");
  server.enter();
  address("s0", "10.2.0.2/24", "fd02::2/64");
  run("ip route add default via 10.2.0.1");
  run("ip -6 route add default via fd02::1");
  node.enter();
}

io::UniqueFd udp_socket(const Endpoint& local) { return bound_socket(SOCK_DGRAM, local); }

io::UniqueFd tcp_listener(const Endpoint& local) {
  io::UniqueFd socket = bound_socket(SOCK_STREAM, local);
  REQUIRE(::listen(socket.get(), 128) == 0);
  return socket;
}

io::UniqueFd tcp_connect(const Endpoint& remote, const Endpoint& local) {
  Endpoint from = local;
  if (from.address.is_unspecified()) from.address = IpAddress::any(remote.address.family());
  io::UniqueFd socket = bound_socket(SOCK_STREAM, from);
  const timeval limit{2, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const io::SocketAddress address(remote);
  REQUIRE_MESSAGE(::connect(socket.get(), address.get(), address.size()) == 0, remote.to_string()
                                                                                   << ": " << std::strerror(errno));
  return socket;
}

Endpoint local_endpoint(int socket) {
  io::SocketAddress address;
  socklen_t length = io::SocketAddress::capacity();
  REQUIRE(::getsockname(socket, address.get(), &length) == 0);
  return address.endpoint();
}

void send_to(int socket, const Endpoint& remote, Octets octets) {
  const io::SocketAddress address(remote);
  REQUIRE(::sendto(socket, octets.data(), octets.size(), 0, address.get(), address.size()) ==
          static_cast<ssize_t>(octets.size()));
}

Buffer receive(int socket, Endpoint* from) {
  Buffer octets(65536);
  io::SocketAddress address;
  socklen_t length = io::SocketAddress::capacity();
  const ssize_t got = ::recvfrom(socket, octets.data(), octets.size(), 0, address.get(), &length);
  octets.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  if (from != nullptr && got >= 0 && length > 0) *from = address.endpoint();
  return octets;
}

bool wait_readable(int descriptor, int milliseconds) {
  pollfd waiting{descriptor, POLLIN, 0};
  return ::poll(&waiting, 1, milliseconds) > 0;
}

namespace {

// The transport octets, their checksum field at `checksum` zero, behind an IP header.
Buffer ip_packet(const Endpoint& src, const Endpoint& dst, std::uint8_t protocol, Buffer transport, std::size_t checksum) {
  const auto size = static_cast<std::uint32_t>(transport.size());
  const std::uint32_t pseudo = sum(src.address.octets()) + sum(dst.address.octets()) + protocol + size;
  const std::uint16_t value = fold(sum(transport, pseudo));
  store_u16(transport, checksum, value == 0 ? std::uint16_t{0xffff} : value);
  Buffer packet;
  ByteWriter ip(packet);
  if (src.address.is_v4()) {
    ip.u32(0x45000000u | (20 + size));
    ip.u32(0x00004000u);
    ip.u32(64u << 24 | std::uint32_t{protocol} << 16);
  } else {
    ip.u32(0x60000000u);
    ip.u32(size << 16 | std::uint32_t{protocol} << 8 | 64u);
  }
  ip.octets(src.address.octets());
  ip.octets(dst.address.octets());
  if (src.address.is_v4()) store_u16(packet, 10, fold(sum(packet)));
  ip.octets(transport);
  return packet;
}

}  // namespace

Buffer udp_packet(const Endpoint& src, const Endpoint& dst, Octets payload) {
  Buffer udp;
  ByteWriter out(udp);
  out.u16(src.port);
  out.u16(dst.port);
  out.u16(static_cast<std::uint16_t>(8 + payload.size()));
  out.u16(0);
  out.octets(payload);
  return ip_packet(src, dst, 17, std::move(udp), 6);
}

Buffer tcp_segment(const Endpoint& src, const Endpoint& dst, std::uint32_t sequence, Octets payload) {
  Buffer tcp;
  ByteWriter out(tcp);
  out.u16(src.port);
  out.u16(dst.port);
  out.u32(sequence);
  out.u32(1);
  out.u32(0x5018ffffu);  // header of 20 octets, ACK and PSH, window
  out.u32(0);
  out.octets(payload);
  return ip_packet(src, dst, 6, std::move(tcp), 16);
}

}  // namespace asrp::test
