// SPDX-License-Identifier: BSD-3-Clause
// Entries that tell an old story. A node that sees one direction of a session may not see its end, and the entry stays for
// minutes. With full NAT the same port soon serves another client at the same server, through another node: its packets must
// not be kept up, or be given to the former client, by what is left here. The table is a cache (draft 3.6); of one server's
// sessions its holder knows best, since it lets no two of them share a tuple.
#include "engine/node_impl.hpp"

namespace asrp::engine {
namespace {

/// What this node made itself within this time is not older than what a PS or RS tells.
constexpr Duration kFresh = std::chrono::seconds(1);

}  // namespace

/// True if `told`, the word of a holder by RS or PS, replaces `entry`. Of sessions at other servers that holder knows nothing:
/// there a live entry wins, and so does one that this node has only just made (decision 13). One that the holder told of itself
/// may be outdated at once: under many short connections a port comes again within a second.
bool NodeEngine::Impl::is_outdated(TimePoint now, const FlowEntry& entry, const TuplePair& told) {
  if (entry.tuples == told || !config_->same_holder(entry.tuples, told)) return false;
  if (entry.mark == FlowMark::waiting) return false;  // its NS is on the way: the holder's NA or NC decides
  if (entry.closing) return true;
  const Installed* installed = installed_.find(hash(entry.tuples.client_side), now, kFresh);
  return installed == nullptr || installed->told || installed->pair != pair_tag(entry.tuples);
}

/// True if something outdated was in the way of a session that a holder told of: it is gone, and the install is tried again.
bool NodeEngine::Impl::replaces_outdated(TimePoint now, Install& install) {
  const bool restored = install.is_restored();
  if (!restored || install.tries > 2) return false;  // two tuples, each of which can be taken once
  const TuplePair& told = install.flow.tuples;
  for (const Tuple& tuple : {told.client_side, told.server_side}) {
    const auto entry = flows_.find(tuple);
    if (!entry || !is_outdated(now, *entry, told)) continue;
    count(Counter::sessions_outdated);
    remove_flow(entry->tuples);
    ++install.tries;
    return true;
  }
  return false;
}

/// The kernel has attached the outdated entry to the packet already: a copy goes on, behind the session that the PS proves.
void NodeEngine::Impl::known_with_outdated_entry(TimePoint now, Incoming& in, const Found& found, const FlowEntry& entry,
                                                 const TuplePair& session) {
  count(Counter::sessions_outdated);
  remove_flow(entry.tuples);
  outbox_.drop(in.id);
  if (!strip(in, found)) return count(Counter::drops_malformed);
  if (found.separate) count(Counter::packets_consumed);
  go_with_ps(now, in, session, found.separate);
}

}  // namespace asrp::engine
