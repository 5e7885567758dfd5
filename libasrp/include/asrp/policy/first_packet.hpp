// SPDX-License-Identifier: BSD-3-Clause
// Explicit first packets of UDP: datagrams that show by themselves that a session begins (draft 3.5.1).
#pragma once

#include "asrp/base/bytes.hpp"

namespace asrp::policy {

/// A DNS query: QR 0, opcode QUERY, one question whose name ends inside the message, no answers (RFC 1035 4.1).
bool is_dns_query(Octets payload);

/// A client's first QUIC datagram: at least 1200 octets that begin with an Initial of version 1 or 2 with a connection ID of 8
/// to 20 octets (RFC 9000 14.1, 17.2.2; RFC 9369 3.2).
bool is_quic_initial(Octets payload);

}  // namespace asrp::policy
