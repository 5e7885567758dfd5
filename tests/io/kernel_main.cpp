// SPDX-License-Identifier: BSD-3-Clause
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

int main(int argc, char** argv) {
  if (::geteuid() != 0) {
    std::cout << "skipped: the io-kernel tests need root (they make network namespaces)\n";
    return 77;
  }
  ::signal(SIGPIPE, SIG_IGN);
  doctest::Context context(argc, argv);
  return context.run();
}
