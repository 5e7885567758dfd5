// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/engine/explanation.hpp"

#include <array>

namespace asrp::engine {
namespace {

struct Row {
  std::string_view name;
  std::string_view sentence;
};

constexpr std::array<Row, 22> kRows{{
    {"no-service", "It belongs to no service here: dropped."},
    {"known", "Its session is known: the kernel translates it."},
    {"again", "Its session is there, and it goes on by that one."},
    {"create", "It begins a session."},
    {"join-install", "Its session is being made."},
    {"join-recovery", "Its session is being asked for: it is held."},
    {"send-behind", "Its session was made a moment ago: it is sent on by that one."},
    {"ask-former-owner", "It begins a session, unless the former owner of its hash region has one."},
    {"ask-candidates", "Its session is not known: it is held, and the candidates are asked."},
    {"ask-sender", "Its session is not known: it is held, and the server that sent it is asked."},
    {"refuse", "It would begin a session, but the table is nearly full: dropped."},
    {"no-server", "It would begin a session, but no server can have it: dropped."},
    {"no-local-address", "Its session is not known, and this node has no address to ask from: dropped."},
    {"too-many", "Its session is not known, and as many recoveries as may be are under way: dropped."},
    {"ask-client", "Its session is not known: it is held, and the client is asked."},
    {"exhausted", "It would begin a session, but all ports of the client are taken that this gateway may use: refused."},
    {"no-mapping", "It goes to a client's outside endpoint where nothing is mapped: dropped."},
    {"reset", "Its session is not known, and nobody can be asked: it is answered with RST."},
    {"drop-midstream", "Its session is not known, and nobody can be asked: dropped."},
    {"outside-syn", "It begins a connection from outside: dropped."},
    {"no-holder", "Its session is not known, and its client has no holder to ask: dropped."},
    {"over-rate", "Its session is not known, and its client is asked as often as it may be: dropped."},
}};

}  // namespace

std::string_view to_string(Step step) { return kRows[static_cast<std::size_t>(step)].name; }
std::string_view sentence(Step step) { return kRows[static_cast<std::size_t>(step)].sentence; }

}  // namespace asrp::engine
