// SPDX-License-Identifier: BSD-3-Clause
// Entry point without libFuzzer: feeds the files of a corpus to the target, and then mutants of them, always the same ones.
//   replay CORPUS_DIR [MUTANTS_PER_FILE]
// An input that fails is written to ./failed-input, to be kept in the corpus.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "fuzz/support/fuzz_target.hpp"

namespace {

using asrp::Buffer;

Buffer current;  // what the target is at, for the handler below

void save_input(int signal) {
  if (std::FILE* file = std::fopen("failed-input", "wb"); file != nullptr) {
    std::fwrite(current.data(), 1, current.size(), file);
    std::fclose(file);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run(const Buffer& input) {
  current.assign(input.begin(), input.end());
  current.shrink_to_fit();
  asrp::fuzz::one_input(current);
}

Buffer read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return Buffer(std::istreambuf_iterator<char>(in), {});
}

/// One to four small changes: an octet replaced, a bit flipped, octets cut out, doubled, or cut off.
Buffer mutant(Buffer input, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t changes = 1 + below(4); changes > 0 && !input.empty(); --changes) {
    const std::size_t at = below(input.size());
    const std::size_t end = at + std::min<std::size_t>(input.size() - at, 1 + below(8));
    const auto from = input.begin() + static_cast<std::ptrdiff_t>(at);
    const auto to = input.begin() + static_cast<std::ptrdiff_t>(end);
    switch (below(5)) {
      case 0:
        input[at] = static_cast<std::uint8_t>(random());
        break;
      case 1:
        input[at] = static_cast<std::uint8_t>(input[at] ^ (1U << below(8)));
        break;
      case 2:
        input.erase(from, to);
        break;
      case 3: {
        const Buffer part(from, to);
        input.insert(from, part.begin(), part.end());
        break;
      }
      default:
        input.resize(at);
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: %s CORPUS_DIR [MUTANTS_PER_FILE]\n", argv[0]);
    return 2;
  }
  std::signal(SIGABRT, save_input);
  std::signal(SIGSEGV, save_input);
  const unsigned long mutants = argc == 3 ? std::strtoul(argv[2], nullptr, 10) : 0;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  run({});
  std::mt19937 random(1);
  for (const auto& file : files) {
    const Buffer input = read_file(file);
    run(input);
    for (unsigned long i = 0; i < mutants; ++i) run(mutant(input, random));
  }
  std::printf("%zu inputs, %lu mutants of each\n", files.size(), mutants);
  return files.empty() ? 1 : 0;
}
