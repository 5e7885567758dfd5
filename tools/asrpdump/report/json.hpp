// SPDX-License-Identifier: BSD-3-Clause
// One JSON object per message and line. The keys are a contract with scripts: docs/asrpdump.schema.json.
#pragma once

#include <string>

#include "report/report.hpp"

namespace asrp::dump {

/// Appends the object for what `packet` carries, without a line break. Precondition: `packet.sighting.present()` and a view.
void append_json(std::string& out, const Packet& packet);

/// {"src":"...","sport":1,"dst":"...","dport":2}
void append_json(std::string& out, const Tuple& tuple);
/// "tcp" or "udp" with their quotation marks, or the number.
void append_json(std::string& out, Protocol protocol);

class JsonReport : public Report {
 public:
  explicit JsonReport(Out& out) : out_(out) {}
  void on_packet(const Packet& packet) override;
  void finish() override { out_.flush(); }
  [[nodiscard]] bool wants_all() const override { return false; }

 private:
  Out& out_;
};

}  // namespace asrp::dump
