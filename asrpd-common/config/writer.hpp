// SPDX-License-Identifier: GPL-2.0-or-later
// Writes normalised TOML, for --print-config: what it writes reads back as the same configuration.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "asrp/base/address.hpp"
#include "asrp/base/time.hpp"
#include "config/reader.hpp"

namespace asrp::config {

class Writer {
 public:
  /// [name]
  void table(std::string_view name);
  /// [[name]]
  void item(std::string_view name);

  void text(std::string_view key, std::string_view value);
  void integer(std::string_view key, std::int64_t value);
  void boolean(std::string_view key, bool value);
  void duration(std::string_view key, Duration value);
  void durations(std::string_view key, const std::vector<Duration>& values);
  void addresses(std::string_view key, const std::vector<IpAddress>& values);
  void secret(const std::string& key, const SecretKey& value);
  /// `key = value`, the value as it stands.
  void raw(std::string_view key, std::string_view value);

  [[nodiscard]] const std::string& str() const { return out_; }

  static std::string quoted(std::string_view text);
  static std::string list(const std::vector<std::string>& values);

 private:
  std::string out_;
};

}  // namespace asrp::config
