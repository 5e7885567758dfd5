// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/mapping_watch.hpp"

#include <chrono>

#include "runtime/clock.hpp"

namespace asrp::node {
namespace {

/// Ends are in no hurry: who installs reads them before.
constexpr Duration kPause = std::chrono::milliseconds(20);
/// How often it is looked whether a look is due.
constexpr Duration kInterval = std::chrono::seconds(1);

}  // namespace

MappingWatch::MappingWatch(runtime::EventLoop& loop, TableSweep& sweep, std::uint64_t seed)
    : loop_(loop), sweep_(sweep), mappings_(seed) {}

MappingWatch::~MappingWatch() {
  if (watched_ >= 0) loop_.unwatch(watched_);
}

Result<Done, io::IoError> MappingWatch::configure(const engine::NatOptions& nat, std::uint64_t table_size) {
  if (watched_ >= 0) loop_.unwatch(watched_);
  auto done = mappings_.configure(nat, table_size);
  watched_ = mappings_.descriptor();
  if (watched_ >= 0)
    loop_.watch(
        watched_, [this] { mappings_.read_ends(); }, kPause);
  if (done && begun_) look();
  return done;
}

void MappingWatch::load(io::Conntrack& table) {
  if (!mappings_.wants_look(runtime::monotonic_now())) return;
  mappings_.begin_look(runtime::monotonic_now());
  mappings_.end_look(table.for_each([this](const engine::FlowEntry& entry) { mappings_.on_entry(entry); }));
}

void MappingWatch::begin() {
  begun_ = true;
  loop_.every(kInterval, [this] { look(); });
}

void MappingWatch::look() {
  if (!mappings_.wants_look(runtime::monotonic_now())) return;
  mappings_.begin_look(runtime::monotonic_now());
  sweep_.begin(
      TableSweep::What::translated,
      [this](const engine::FlowEntry& entry) {
        mappings_.on_entry(entry);
        return false;  // nothing of it is wanted besides
      },
      [](std::span<const engine::FlowEntry>) {}, [this] { mappings_.end_look(sweep_.was_whole()); });
}

}  // namespace asrp::node
