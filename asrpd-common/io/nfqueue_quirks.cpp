// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/nfqueue_quirks.hpp"

#include <cerrno>
#include <fstream>
#include <sstream>

namespace asrp::io {

namespace {

// The netlink port (mostly the process id) that holds the queue; 0 if nobody does. Columns: number, port, ...
unsigned holder_of(std::uint16_t number) {
  std::ifstream file("/proc/self/net/netfilter/nfnetlink_queue");
  for (std::string line; std::getline(file, line);) {
    std::istringstream columns(line);
    unsigned queue = 0;
    unsigned port = 0;
    if (columns >> queue >> port && queue == number) return port;
  }
  return 0;
}

}  // namespace

std::string bind_advice(std::uint16_t number, int error_number) {
  switch (error_number) {
    case EPERM:
    case EBUSY:
      // A number that is taken is answered like a missing capability.
      if (const unsigned port = holder_of(number); port != 0)
        return "the number is taken by another program (netlink port " + std::to_string(port) +
               ", mostly its process id); stop it or configure another queue number";
      return "CAP_NET_ADMIN is needed in this network namespace";
    case EINVAL:
    case ENOENT:
    case EPROTONOSUPPORT:
      return "this kernel lacks nfnetlink_queue (CONFIG_NETFILTER_NETLINK_QUEUE); load the module or use another kernel";
    case EOPNOTSUPP:
      return "this kernel does not know that flag of NFQUEUE";
    case ENOMEM:
      return "the kernel is short of memory; configure a shorter queue";
    default:
      return {};
  }
}

}  // namespace asrp::io
