// SPDX-License-Identifier: BSD-3-Clause
// Makes random packets and edits them with libasrp, for check_samples.py:
//   packet-samples SEED COUNT PCAP > LINES
// The capture (raw IP) holds the results. Each line: form, original, message, result or reason. Lines of the form `seen` say
// what libasrp sees in a damaged packet.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "asrp/packet/locate.hpp"
#include "asrp/packet/surgery.hpp"
#include "support/random_packets.hpp"

namespace {

using namespace asrp;
using namespace asrp::packet;

constexpr std::size_t kMtu = 1500;

void put_u32(std::FILE* file, std::uint32_t value) {
  const std::uint8_t octets[] = {static_cast<std::uint8_t>(value), static_cast<std::uint8_t>(value >> 8),
                                 static_cast<std::uint8_t>(value >> 16), static_cast<std::uint8_t>(value >> 24)};
  std::fwrite(octets, 1, sizeof octets, file);
}

/// A capture file in the classic format, written octet by octet.
class Capture {
 public:
  explicit Capture(const char* path) : file_(std::fopen(path, "wb")) {
    if (file_ == nullptr) std::exit(1);
    put_u32(file_, 0xa1b2c3d4);
    put_u32(file_, 0x00040002);  // version 2.4
    put_u32(file_, 0);
    put_u32(file_, 0);
    put_u32(file_, 65535);
    put_u32(file_, 101);  // raw IP
  }
  ~Capture() { std::fclose(file_); }

  void add(Octets packet) {
    put_u32(file_, 1700000000);
    put_u32(file_, 0);
    put_u32(file_, static_cast<std::uint32_t>(packet.size()));
    put_u32(file_, static_cast<std::uint32_t>(packet.size()));
    std::fwrite(packet.data(), 1, packet.size(), file_);
  }

 private:
  std::FILE* file_;
};

void line(const char* form, Octets original, Octets message, const std::string& result) {
  const auto text = [](Octets octets) { return octets.empty() ? std::string("-") : to_hex(octets); };
  std::printf("%s %s %s %s\n", form, text(original).c_str(), text(message).c_str(), result.c_str());
}

const char* name_of(LocateStatus status) {
  static constexpr const char* kNames[] = {"none", "found", "bad_option", "bad_ocs"};
  return kNames[static_cast<std::size_t>(status)];
}

void show_damaged(Buffer packet, test::RandomPackets& random) {
  for (std::size_t n = 1 + random.below(3); n > 0; --n) {
    const std::size_t at = random.below(random.chance(2) ? packet.size() : std::min<std::size_t>(packet.size(), 70));
    packet[at] = static_cast<std::uint8_t>(random.chance(2) ? packet[at] ^ (1U << random.below(8)) : random.below(256));
  }
  if (random.chance(6)) packet.resize(random.below(packet.size()));
  const auto view = PacketView::parse(packet);
  std::string seen;
  if (view) {
    const Located located = locate(*view, Marker{});
    seen = std::string(name_of(located.status)) + ":" + std::to_string(view->transport_offset()) + ":" +
           std::to_string(view->payload_size()) + ":" + (located.found() ? to_hex(located.room(*view)) : "");
  } else {
    seen = to_string(view.error());
  }
  line("seen", packet, Octets{}, seen);
}

void edit(Octets original, Octets message, Capture& capture) {
  const auto view = PacketView::parse(original);
  if (!view) std::exit(1);
  Buffer with;
  const auto inserted = insert_inline(*view, Marker{}, message, kMtu, with);
  line("inline", original, message, inserted ? to_hex(with) : std::string(to_string(inserted.error())));
  if (inserted) {
    capture.add(with);
    const auto carrying = PacketView::parse(with);
    const Located located = carrying ? locate(*carrying, Marker{}) : Located{};
    if (!located.found()) std::exit(1);
    Buffer back;
    strip(*carrying, located, message.size(), back);
    line("strip", with, message, to_hex(back));
    capture.add(back);
  }
  Buffer separate;
  const auto made = make_separate(*view, Marker{}, message, kMtu, separate);
  line("separate", original, message, made ? to_hex(separate) : std::string(to_string(made.error())));
  if (made) capture.add(separate);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s SEED COUNT PCAP > LINES\n", argv[0]);
    return 2;
  }
  test::RandomPackets random(static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10)));
  Capture capture(argv[3]);
  for (unsigned long n = std::strtoul(argv[2], nullptr, 10); n > 0; --n) {
    const Buffer original = random.next();
    const Buffer message = random.message();
    edit(original, message, capture);
    show_damaged(original, random);
    Buffer with;
    if (insert_inline(*PacketView::parse(original), Marker{}, message, kMtu, with)) show_damaged(with, random);
  }
  return 0;
}
