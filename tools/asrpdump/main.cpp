// SPDX-License-Identifier: BSD-3-Clause
// asrpdump: shows the ASRP messages of a capture or of an interface.
#include <pcap/pcap.h>

#include <cstdio>
#include <exception>

#include "capture/source.hpp"
#include "options.hpp"
#include "run.hpp"

namespace {

using namespace asrp::dump;

int list() {
  std::string error;
  const std::string text = list_interfaces(error);
  if (!error.empty()) {
    std::fprintf(stderr, "asrpdump: %s\n", error.c_str());
    return 1;
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

int main_of(const std::vector<std::string>& arguments) {
  const ParsedOptions parsed = parse_options(arguments);
  if (parsed.options.help) {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  if (parsed.options.version) {
    std::printf("asrpdump %s\n%s\n", ASRP_VERSION, pcap_lib_version());
    return 0;
  }
  for (const std::string& problem : parsed.problems) std::fprintf(stderr, "asrpdump: %s\n", problem.c_str());
  if (!parsed.problems.empty()) {
    std::fputs("Try asrpdump --help.\n", stderr);
    return 2;
  }
  return parsed.options.list_interfaces ? list() : run(parsed.options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return main_of({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "asrpdump: %s\n", error.what());
    return 1;
  }
}
