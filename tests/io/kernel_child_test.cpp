// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "io/child.hpp"

using namespace asrp;

namespace {

/// What the kernel says of a child's ambient capabilities.
std::string ambient_of_child(bool capable) {
  const int out = memfd_create("out", MFD_CLOEXEC);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  REQUIRE(out >= 0);
  REQUIRE(nothing >= 0);
  pid_t child = 0;
  REQUIRE(io::spawn_child({"/bin/sh",
                           {"sh", "-c", "while read -r a b; do [ \"$a\" = CapAmb: ] && echo $b; done </proc/self/status"},
                           {},
                           nothing,
                           out,
                           nothing,
                           false,
                           capable},
                          child) == 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  char text[64] = {};
  REQUIRE(pread(out, text, sizeof text - 1, 0) > 0);
  close(out);
  close(nothing);
  return text;
}

bool has_ambient(unsigned long capability) { return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) == 1; }

}  // namespace

TEST_CASE("a child has the daemon's ambient capabilities only where it is to, and the daemon keeps them") {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  REQUIRE(syscall(SYS_capget, &header, data) == 0);
  const auto before = data[0].inheritable;
  data[0].inheritable |= 1u << CAP_NET_ADMIN | 1u << CAP_NET_RAW;
  REQUIRE(syscall(SYS_capset, &header, data) == 0);
  REQUIRE(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_ADMIN, 0, 0) == 0);
  REQUIRE(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0) == 0);

  CHECK(ambient_of_child(true) == "0000000000003000\n");
  CHECK(ambient_of_child(false) == "0000000000000000\n");
  CHECK(has_ambient(CAP_NET_ADMIN));
  CHECK(has_ambient(CAP_NET_RAW));

  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  data[0].inheritable = before;
  CHECK(syscall(SYS_capset, &header, data) == 0);
}
