// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: SYNs of clients, which conntrack has not seen (Tap::first). The packet itself goes on with the entry.
#include "engine/node_impl.hpp"

namespace asrp::engine {

namespace {

/// An HS of ours travels in a copy that follows its SYN at once (decision 23). A SYN that is sent again comes later: RFC 6298
/// has one second.
constexpr Duration kCopyFollows = std::chrono::milliseconds(500);

}  // namespace

void NodeEngine::Impl::act_first(TimePoint now, Incoming& in, const Side& side) {
  const Hello hello = take_hello(now, in);
  if (hello.broken || hello.separate) return outbox_.drop(in.id);
  if (!in.view.is_tcp_syn()) {  // not the rules' doing; the tap behind conntrack takes it
    if (!in.edited) return outbox_.accept(in.id);
    const PacketRef ref = ref_of(in);
    return outbox_.replace_range(in.id, ref.start, ref.size);
  }
  const Tuple& tuple = in.view.tuple();
  const std::uint64_t tag = syn_tag(in.view);
  // The copy has done its work once the HS is taken. But an HS may also come in the SYN itself, which must not be lost.
  const bool is_copy = hello.cookie && seen_syn_.find(tag, now, kCopyFollows) != nullptr;
  const Step step = decide_act_syn(now, tuple);
  if (step != Step::create && step != Step::join_install) return act_refuse(now, in, step);
  if (!is_copy) seen_syn_.put(tag, now, 1);
  if (step == Step::create) return act_create(now, in, tuple, side.range, hello.cookie, !is_copy);
  Install& install = installs_[find_install(tuple)];
  if (hello.cookie) install.hello = hello.cookie;
  if (is_copy) return outbox_.drop(in.id);
  Item item;
  item.packet = ref_of(in);
  item.verdict = in.id;
  append_item(install, item);
}

}  // namespace asrp::engine
