// SPDX-License-Identifier: GPL-2.0-or-later
// TCP sockets of this namespace by their exact tuple, through sock_diag, many in one send.
#pragma once

#include <span>
#include <vector>

#include "asrp/base/time.hpp"
#include "asrp/engine/holder_engine.hpp"
#include "io/netlink_socket.hpp"

namespace asrp::io {

class SocketLookup {
 public:
  explicit SocketLookup(NetlinkSocket socket);

  /// `sessions[i]`: peer, then this host. What cannot be found out is `live`: nothing is released on a guess.
  void look_up(std::span<const Tuple> sessions, std::span<const std::size_t> which, std::span<engine::LocalState> states);

 private:
  struct Question {
    std::size_t index;        // into sessions and states
    std::uint32_t interface;  // 0: sockets that are bound to no device
  };
  void ask(std::span<const Tuple> sessions, std::span<const Question> questions, std::span<engine::LocalState> states);
  void read_answers(std::span<const Question> questions, std::span<engine::LocalState> states);
  const std::vector<std::uint32_t>& interfaces();

  NetlinkSocket socket_;
  Buffer send_area_;
  NetlinkBurst burst_;
  std::vector<Question> questions_;
  std::vector<std::size_t> unknown_;  // no socket and no listener: perhaps bound to a device
  std::vector<std::uint32_t> interfaces_;
  TimePoint interfaces_read_{};
  std::uint32_t sequence_ = 1;
  std::uint32_t answers_base_ = 0;  // sequence number of the first question of the send
};

}  // namespace asrp::io
