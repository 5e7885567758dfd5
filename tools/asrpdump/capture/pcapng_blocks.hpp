// SPDX-License-Identifier: BSD-3-Clause
// What libpcap makes too much of in a pcapng file: it refuses later interfaces whose snapshot length is another one than that
// of the first, and those of raw IP even if they are alike, because it compares the file's number of that link type with its
// own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asrp/base/bytes.hpp"

namespace asrp::dump {

/// Goes along with the octets of a pcapng file and gives all interfaces one snapshot length, and raw IP the number that libpcap
/// has for it. Interfaces of different link types stay what they are: libpcap reads one of them per file.
class PcapngBlocks {
 public:
  /// `octets` follow those that were let through by earlier calls. Mends them in place; returns how many are through. What is
  /// behind is the begin of a block's head, to be given again with more behind it.
  std::size_t mend(MutableOctets octets);

  /// Link types, as DLT_*, of the first interface and of the first that differs from it; -1: there is none.
  [[nodiscard]] int link_type() const { return link_type_; }
  [[nodiscard]] int other_link_type() const { return other_link_type_; }

 private:
  static constexpr std::size_t kHead = 16;  // octets of a block in which all lies that is looked at

  bool mend_head(MutableOctets head);
  void mend_interface(MutableOctets head);
  [[nodiscard]] std::uint32_t load(Octets head, std::size_t at) const;
  void store(MutableOctets head, std::size_t at, std::uint32_t value) const;

  bool is_little_ = false;
  bool is_lost_ = false;    // it is no pcapng file, or damaged: libpcap says what is wrong with it
  std::uint64_t left_ = 0;  // octets of the block that has begun
  int link_type_ = -1;
  int other_link_type_ = -1;
  std::uint32_t snap_length_ = 0;    // of the first interface
  std::uint32_t common_length_ = 0;  // what all of them get
};

}  // namespace asrp::dump
