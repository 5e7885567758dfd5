// SPDX-License-Identifier: BSD-3-Clause
// What is done with the packets of a capture: printed, written, followed, checked, drawn.
#pragma once

#include <string>

#include "packet.hpp"
#include "report/out.hpp"

namespace asrp::dump {

class Report {
 public:
  Report() = default;
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  virtual ~Report() = default;

  /// Each packet in the order of the capture, also those without a message (they belong to the sessions' flows) unless
  /// wants_all() is false. `packet` and all that it refers to live until this returns.
  virtual void on_packet(const Packet& packet) = 0;
  /// After the last packet, also when reading ended with an error.
  virtual void finish() = 0;

  /// False: packets in which nothing claims to be a message need not be given (saves most of the decoding).
  [[nodiscard]] virtual bool wants_all() const { return true; }
  /// False when nothing more can come of it: its output is gone or its files are full. Reading ends then.
  [[nodiscard]] virtual bool wants_more() const { return true; }
  /// After finish(): findings that the capture proves (exit status 3).
  [[nodiscard]] virtual bool has_certain_findings() const { return false; }
  /// What went wrong in the report itself, such as a picture that can't be written; empty if nothing did. Exit status 1.
  [[nodiscard]] virtual std::string error() const { return {}; }
};

}  // namespace asrp::dump
