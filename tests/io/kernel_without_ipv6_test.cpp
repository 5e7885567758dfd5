// SPDX-License-Identifier: BSD-3-Clause
// A host that was booted with ipv6.disable=1: socket(AF_INET6) fails with EAFNOSUPPORT. A seccomp filter plays it.
#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>

#include "io/lab.hpp"
#include "io/local_sessions.hpp"
#include "io/message_socket.hpp"
#include "io/packet_sender.hpp"

using namespace asrp;
using namespace asrp::io;
using namespace asrp::test;

namespace {

bool refuse_ipv6() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),  // low half of the first argument (little-endian)
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// 0 if all is well, else the number of the step that is not.
int without_ipv6() {
  if (!refuse_ipv6() || ::socket(AF_INET6, SOCK_DGRAM, 0) >= 0 || errno != EAFNOSUPPORT) return 1;
  auto socket = open_message_socket(51200, PeerErrors::watch);
  if (!socket) return 2;
  auto sender = open_raw_sender({0, 0x80000000});
  if (!sender) return 3;
  const Buffer v4 = udp_packet(at("127.0.0.1:999"), at("127.0.0.1:51200"), Buffer{1});
  const Buffer v6 = udp_packet(at("[::1]:999"), at("[::1]:51200"), Buffer{1});
  (*sender)->stage(v6, 0);
  (*sender)->stage(v4, 0x80000000);
  (*sender)->flush();
  const auto statistics = (*sender)->statistics();
  if (statistics.sent != 1 || statistics.failed != 1 || statistics.last_errno != EAFNOSUPPORT) return 4;
  if (!wait_readable((*socket)->descriptor()) || (*socket)->receive().size() != 1) return 5;
  auto addresses = LocalAddresses::open();
  if (!addresses || !(*addresses)->refresh().empty()) return 6;
  return HostSessions::open(false) ? 0 : 7;
}

}  // namespace

TEST_CASE("without IPv6 in the kernel everything works for IPv4, and IPv6 packets are counted as failed") {
  const Namespace ns;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(without_ipv6());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
}
