// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "io/lab.hpp"
#include "io/nfqueue.hpp"
#include "io/packet_sender.hpp"

using namespace asrp;
using namespace asrp::io;
using namespace asrp::test;

namespace {

std::unique_ptr<PacketQueue> queue_on(std::vector<std::uint16_t> numbers, bool fail_open = false, std::uint32_t length = 1024) {
  NfQueueOptions options;
  options.numbers = std::move(numbers);
  options.fail_open = fail_open;
  options.length = length;
  auto queue = open_nfqueue(options);
  REQUIRE_MESSAGE(queue.has_value(), (queue ? "" : queue.error().to_string()));
  return std::move(*queue);
}

// Column of a queue in /proc: 2 waiting, 5 dropped because full, 6 lost on the way to us.
long column(int number, int which) {
  std::istringstream lines(read_file("/proc/self/net/netfilter/nfnetlink_queue"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream columns(line);
    long value = -1;
    columns >> value;
    if (value != number) continue;
    for (int i = 0; i < which; ++i) columns >> value;
    return value;
  }
  return -1;
}

Buffer pattern(std::size_t size) {
  Buffer octets(size);
  for (std::size_t i = 0; i < size; ++i) octets[i] = static_cast<std::uint8_t>(i * 7 + 1);
  return octets;
}

// The packet with `payload` instead of what it carries; both families.
Buffer with_payload(Octets packet, Octets payload) {
  const bool v4 = packet[0] >> 4 == 4;
  const std::size_t udp = v4 ? 20 : 40;
  const auto address = [&](std::size_t at) {
    return v4 ? IpAddress::v4(packet.subspan(at, 4)) : IpAddress::v6(packet.subspan(at, 16));
  };
  return udp_packet({address(v4 ? 12 : 8), load_u16(packet, udp)}, {address(v4 ? 16 : 24), load_u16(packet, udp + 2)}, payload);
}

std::vector<QueuedPacket> collect(PacketQueue& queue, std::size_t count) {
  std::vector<QueuedPacket> packets;
  while (packets.size() < count && wait_readable(queue.descriptor())) {
    const auto burst = queue.receive();
    packets.insert(packets.end(), burst.begin(), burst.end());
  }
  return packets;
}

void replacement_case(const char* iptables, const char* address) {
  const Namespace ns;
  run(std::string(iptables) + " -t mangle -A INPUT -p udp --dport 7000 -j NFQUEUE --queue-num 5");
  auto queue = queue_on({5});
  const UniqueFd receiver = udp_socket(at((std::string(address) + ":7000").c_str()));
  const UniqueFd sender = udp_socket(at((std::string(address) + ":0").c_str()));
  for (const std::size_t size : {1u, 2u, 3u, 4u, 5u, 61u, 1400u, 5000u, 40001u}) {
    const Buffer fresh = pattern(size);
    send_to(sender.get(), at((std::string(address) + ":7000").c_str()), pattern(16));
    REQUIRE(wait_readable(queue->descriptor()));
    const auto burst = queue->receive();
    REQUIRE(burst.size() == 1);
    const Buffer changed = with_payload(burst[0].octets, fresh);
    queue->stage_verdict(burst[0].id, Verdict::accept, changed, 0);
    queue->send_verdicts();
    CHECK(receive(receiver.get()) == fresh);
  }
  CHECK(column(5, 2) == 0);
  CHECK(queue->statistics().verdict_errors == 0);
}

}  // namespace

TEST_CASE("replaced packets of every length arrive byte-exact (IPv4)") { replacement_case("iptables", "127.0.0.1"); }
TEST_CASE("replaced packets of every length arrive byte-exact (IPv6)") { replacement_case("ip6tables", "[::1]"); }

TEST_CASE("the longest packets come whole, and a copy that the kernel cut is known by its wire size") {
  const Namespace ns;
  run("iptables -t mangle -A INPUT -p udp --dport 7000 -j NFQUEUE --queue-num 5");
  auto queue = queue_on({5});
  const UniqueFd receiver = udp_socket(at("127.0.0.1:7000"));
  const UniqueFd sender = udp_socket(at("127.0.0.1:0"));
  for (const std::size_t size : {60000u, 65503u, 65504u, 65507u}) {  // with headers: 60,028, 65,531 (the most), 65,532, 65,535
    send_to(sender.get(), at("127.0.0.1:7000"), pattern(size));
    REQUIRE(wait_readable(queue->descriptor()));
    const auto burst = queue->receive();
    REQUIRE(burst.size() == 1);
    CHECK(burst[0].wire_size == size + 28);
    CHECK(burst[0].octets.size() == std::min<std::size_t>(size + 28, 65531));
    queue->stage_verdict(burst[0].id, Verdict::accept, {}, 0);
    queue->send_verdicts();
    CHECK(receive(receiver.get()) == pattern(size));
  }
  CHECK(queue->statistics().cut == 2);
}

TEST_CASE("each packet of a burst gets its own verdict, mark and queue; nothing stays behind") {
  const Namespace ns;
  run("iptables -t mangle -A INPUT -p udp --dport 7000 -j NFQUEUE --queue-num 5");
  run("iptables -t mangle -A INPUT -p udp --dport 7001 -j NFQUEUE --queue-num 6");
  run("iptables -t filter -A INPUT -m mark --mark 0x8000000/0x8000000 -j DROP");
  auto queue = queue_on({5, 6});
  const UniqueFd first = udp_socket(at("127.0.0.1:7000"));
  const UniqueFd second = udp_socket(at("127.0.0.1:7001"));
  const UniqueFd sender = udp_socket(at("127.0.0.1:0"));
  for (std::uint8_t i = 0; i < 40; ++i) {
    send_to(sender.get(), at("127.0.0.1:7000"), Buffer{i});
    send_to(sender.get(), at("127.0.0.1:7001"), Buffer{i});
  }
  std::size_t seen = 0;
  while (seen < 80 && wait_readable(queue->descriptor(), 500)) {
    for (const QueuedPacket& p : queue->receive()) {
      const std::uint8_t i = p.octets[28];
      const Verdict verdict = i % 4 == 1 ? Verdict::drop : Verdict::accept;
      queue->stage_verdict(p.id, verdict, {}, i % 4 == 2 ? 0x8000000 : 0);
      ++seen;
    }
    queue->send_verdicts();
  }
  CHECK(seen == 80);
  for (const UniqueFd* socket : {&first, &second})
    for (std::uint8_t i = 0; i < 40; ++i)
      if (i % 4 == 0 || i % 4 == 3) CHECK(receive(socket->get()) == Buffer{i});
  CHECK(column(5, 2) == 0);
  CHECK(column(6, 2) == 0);
  CHECK(queue->statistics().verdict_errors == 0);
}

TEST_CASE("a burst that is accepted whole, or dropped whole, leaves nothing behind either") {
  const Namespace ns;
  run("iptables -t mangle -A INPUT -p udp --dport 7000 -j NFQUEUE --queue-num 5");
  auto queue = queue_on({5});
  const UniqueFd receiver = udp_socket(at("127.0.0.1:7000"));
  const UniqueFd sender = udp_socket(at("127.0.0.1:0"));
  for (const Verdict verdict : {Verdict::drop, Verdict::accept}) {
    for (std::uint8_t i = 0; i < 200; ++i) send_to(sender.get(), at("127.0.0.1:7000"), Buffer{i});
    std::size_t seen = 0;
    while (seen < 200 && wait_readable(queue->descriptor(), 500)) {
      for (const QueuedPacket& p : queue->receive()) {
        queue->stage_verdict(p.id, verdict, {}, 0);
        ++seen;
      }
      queue->send_verdicts();
    }
    CHECK(seen == 200);
    CHECK(column(5, 2) == 0);
  }
  for (std::uint8_t i = 0; i < 200; ++i) CHECK(receive(receiver.get()) == Buffer{i});
  CHECK(queue->statistics().verdict_errors == 0);
}

TEST_CASE("a batch never decides about a packet that is still held") {
  const Namespace ns;
  run("iptables -t mangle -A INPUT -p udp --dport 7000 -j NFQUEUE --queue-num 5");
  auto queue = queue_on({5});
  const UniqueFd receiver = udp_socket(at("127.0.0.1:7000"));
  const UniqueFd sender = udp_socket(at("127.0.0.1:0"));
  for (std::uint8_t i = 0; i < 3; ++i) send_to(sender.get(), at("127.0.0.1:7000"), Buffer{i});
  const auto packets = collect(*queue, 3);
  REQUIRE(packets.size() == 3);
  queue->stage_verdict(packets[1].id, Verdict::accept, {}, 0);
  queue->stage_verdict(packets[2].id, Verdict::accept, {}, 0);
  queue->send_verdicts();
  CHECK(column(5, 2) == 1);
  queue->stage_verdict(packets[0].id, Verdict::drop, {}, 0);
  queue->send_verdicts();
  CHECK(column(5, 2) == 0);
  CHECK(receive(receiver.get()) == Buffer{1});
  CHECK(receive(receiver.get()) == Buffer{2});
}

TEST_CASE("verdicts for packets that are not there are counted") {
  const Namespace ns;
  auto queue = queue_on({5});
  queue->stage_verdict({5, 4711}, Verdict::accept, {}, 0);
  queue->stage_verdict({5, 4712}, Verdict::drop, {}, 0);
  queue->send_verdicts();
  CHECK(queue->receive().empty());
  CHECK(queue->statistics().verdict_errors == 2);
}

TEST_CASE("a number that is taken is named, and a closed queue can be bound again") {
  const Namespace ns;
  auto queue = queue_on({65535});
  NfQueueOptions options;
  options.numbers = {65535};
  auto refused = open_nfqueue(options);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().to_string().find("65535") != std::string::npos);
  CHECK(refused.error().advice.find("taken by another program") != std::string::npos);
  queue.reset();
  CHECK(open_nfqueue(options).has_value());
}

TEST_CASE("without CAP_NET_ADMIN the answer says what is missing") {
  const Namespace ns;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    NfQueueOptions options;
    options.numbers = {5};
    auto refused = open_nfqueue(options);
    ::_exit(!refused && refused.error().advice.find("CAP_NET_ADMIN") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("overruns are survived and counted; fail-open lets through what a full queue would drop") {
  const Namespace ns;
  run("iptables -t mangle -A INPUT -p udp --dport 7000 -j NFQUEUE --queue-num 5");
  const UniqueFd sender = udp_socket(at("127.0.0.1:0"));
  const UniqueFd receiver = udp_socket(at("127.0.0.1:7000"));
  SUBCASE("socket buffer too small") {
    NfQueueOptions options;
    options.numbers = {5};
    options.receive_buffer = 4096;
    auto queue = open_nfqueue(options);
    REQUIRE(queue.has_value());
    for (int i = 0; i < 500; ++i) send_to(sender.get(), at("127.0.0.1:7000"), pattern(1000));
    std::size_t seen = 0;
    while (wait_readable((*queue)->descriptor(), 100)) {
      for (const QueuedPacket& p : (*queue)->receive()) {
        (*queue)->stage_verdict(p.id, Verdict::accept, {}, 0);
        ++seen;
      }
      (*queue)->send_verdicts();
    }
    CHECK(seen > 0);
    CHECK(seen < 500);
    CHECK((*queue)->statistics().overruns > 0);
    CHECK(column(5, 2) == 0);
    send_to(sender.get(), at("127.0.0.1:7000"), Buffer{9});
    CHECK(collect(**queue, 1).size() == 1);
  }
  SUBCASE("queue full") {
    auto queue = queue_on({5}, false, 10);
    for (int i = 0; i < 30; ++i) send_to(sender.get(), at("127.0.0.1:7000"), pattern(10));
    CHECK(collect(*queue, 10).size() == 10);
    CHECK(column(5, 5) == 20);
    CHECK_FALSE(wait_readable(receiver.get(), 0));
  }
  SUBCASE("queue full, fail-open") {
    auto queue = queue_on({5}, true, 10);
    for (int i = 0; i < 30; ++i) send_to(sender.get(), at("127.0.0.1:7000"), pattern(10));
    for (int i = 0; i < 20; ++i) CHECK(receive(receiver.get()) == pattern(10));
  }
}
