// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/claim.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace asrp::runtime {

using io::IoError;

Result<Claim, IoError> Claim::take(const std::string& program, const std::string& what) {
  io::UniqueFd descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!descriptor) return Failure{IoError{what, errno, "check the sandbox of the service: it must allow AF_UNIX"}};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // Abstract: the name begins with a zero octet.
  std::copy(program.begin(), program.end(), address.sun_path + 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + program.size());
  if (::bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0) return Claim(std::move(descriptor));
  if (errno == EADDRINUSE) return Failure{IoError{what, 0, program + " is running in this network namespace; stop it first"}};
  return Failure{IoError{what, errno, ""}};
}

}  // namespace asrp::runtime
