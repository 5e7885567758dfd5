// SPDX-License-Identifier: BSD-3-Clause
// Octets to messages, with every check of draft 4.3.1. No allocation, no exceptions.
#pragma once

#include "asrp/base/bytes.hpp"
#include "asrp/base/result.hpp"
#include "asrp/wire/message.hpp"

namespace asrp::wire {

struct Decoded {
  Message message;   // `session_data` is a view of the input
  std::size_t size;  // octets that the message took: its Length field
};

/// Decodes a message that must fill `octets` exactly (standalone, UDP option). Unassigned flag bits and Reserved
/// are ignored; flags in the result are the assigned bits. Errors, in the order of the checks: `truncated` (fewer
/// than 12 octets), `version`, `type`, `sttype` (unknown or not allowed for the type), `length` (the Length field is
/// not `octets.size()`, or too short for what the type carries; HS must be 16).
Result<Decoded, DecodeError> decode(Octets octets);

/// Decodes a message at the head of `octets`; what follows belongs to others (the data of a TCP segment). As
/// `decode`, but `truncated` also when the Length field exceeds what is there.
Result<Decoded, DecodeError> decode_prefix(Octets octets);

}  // namespace asrp::wire
