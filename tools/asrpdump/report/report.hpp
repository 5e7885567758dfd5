// SPDX-License-Identifier: BSD-3-Clause
// What is done with the packets of a capture: printed, written, followed, checked, drawn.
#pragma once

#include "../packet.hpp"

namespace asrp::dump {

class Report {
 public:
  Report() = default;
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  virtual ~Report() = default;

  /// Each packet in the order of the capture, also those without a message (they belong to the sessions' flows).
  /// `packet` and all that it refers to live until this returns.
  virtual void on_packet(const Packet& packet) = 0;
  /// After the last packet, also when reading ended with an error.
  virtual void finish() = 0;
};

}  // namespace asrp::dump
