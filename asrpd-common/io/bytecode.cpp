// SPDX-License-Identifier: GPL-2.0-or-later
// Filters for -m bpf: compiled by libpcap in the daemon, so that the rules need no precompiled text.
#include <pcap/pcap.h>

#include "io/rule_set.hpp"

namespace asrp::io {

namespace {

constexpr int kLongestPacket = 65535;
constexpr unsigned kMostInstructions = 64;  // XT_BPF_MAX_NUM_INSTR

}  // namespace

Result<std::string, IoError> compile_bytecode(const std::string& filter) {
  const std::string what = "compile the filter \"" + filter + "\"";
  // DLT_RAW: in every netfilter hook the packet starts at its IP header.
  pcap_t* handle = pcap_open_dead(DLT_RAW, kLongestPacket);
  if (handle == nullptr) return Failure{IoError{what, ENOMEM, "the system is short of memory"}};
  bpf_program program{};
  if (pcap_compile(handle, &program, filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0) {
    IoError error{what, 0, std::string("libpcap says: ") + pcap_geterr(handle)};
    pcap_close(handle);
    return Failure{error};
  }
  std::string text = std::to_string(program.bf_len);
  for (unsigned i = 0; i < program.bf_len; ++i) {
    const bpf_insn& instruction = program.bf_insns[i];
    text += "," + std::to_string(instruction.code) + " " + std::to_string(instruction.jt) + " " +
            std::to_string(instruction.jf) + " " + std::to_string(instruction.k);
  }
  const unsigned length = program.bf_len;
  pcap_freecode(&program);
  pcap_close(handle);
  if (length > kMostInstructions)
    return Failure{
        IoError{what, E2BIG, "the kernel's bpf match takes 64 instructions, this filter has " + std::to_string(length)}};
  return text;
}

}  // namespace asrp::io
