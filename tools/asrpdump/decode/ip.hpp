// SPDX-License-Identifier: BSD-3-Clause
// The IP headers of a packet that the capture may have cut off anywhere, and that may be a fragment.
// (packet::PacketView is for whole packets; what passes here goes there.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "asrp/base/address.hpp"
#include "asrp/base/bytes.hpp"
#include "asrp/base/result.hpp"

namespace asrp::dump {

enum class IpError : std::uint8_t {
  cut,      // ends before it is known
  damaged,  // no IP version, or lengths that contradict each other
};

struct IpParts {
  Family family = Family::v4;
  std::size_t total = 0;            // octets, as the header says
  bool is_without_length = false;   // the header says 0: segmentation is left to the network card; `total` is the frame's
  std::uint8_t protocol = 0;        // of what follows the headers; of an extension header that isn't looked into
  std::size_t protocol_offset = 0;  // where that number is
  std::size_t transport = 0;        // offset of what follows the headers

  bool is_fragment = false;             // offset or more-fragments set; atomic fragments are none
  bool more_fragments = false;          //
  std::size_t fragment_offset = 0;      // octets
  std::uint32_t fragment_id = 0;        //
  std::size_t fragment_header = 0;      // IPv6: offset of the fragment header
  std::size_t fragment_next_field = 0;  // IPv6: offset of the number that announces the fragment header
};

/// Walks the headers. `octets` begins at the IP header and may be longer or shorter than the packet; `on_wire` octets were on
/// the wire from there on. Of a fragment only the headers up to the fragment header are walked. Of a packet without a length
/// that is longer than an IP header can say, `total` is what can be said.
Result<IpParts, IpError> ip_parts(Octets octets, std::size_t on_wire);

/// Writes the length that an IP header lacks: `packet` is as long as IpParts::total says.
void fill_in_length(Buffer& packet);

}  // namespace asrp::dump
