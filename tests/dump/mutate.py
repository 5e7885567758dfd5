# SPDX-License-Identifier: BSD-3-Clause
"""Damages capture files and gives them to asrpdump, always the same ones for a seed. tests/fuzz/dump.cpp does the same to frames, in one
process and much faster; here it is the file, what reads it, and the program as a whole.

    ASRPDUMP=build/asan+ubsan/tools/asrpdump/asrpdump python3 mutate.py COUNT [SEED [FILE...]]

Without files the generated captures are damaged. Memory is looked at too, unless the program is one with sanitizers.
"""

import gzip
import os
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import asrpdump
import generate

OPTIONS = [["--json"], ["-v", "-X"], ["-vXX", "-ttt", "-#"], ["--sessions"], ["--stats", "--json"], ["--check"], ["--ladder"], ["-w", "/dev/null"],
           ["--json", "udp or ip6"], ["-c", "3"], ["--sessions", "--stats", "--check", "--ladder"], ["--tunnels", "3", "--json"]]
MEMORY = 128 * 1024  # KiB


def damaged(octets, rng):
    """The file with one to six changes. The head of the file and the heads of records are hit more often than chance would have it."""
    octets = bytearray(octets)
    for _ in range(rng.randrange(1, 7)):
        if not octets:
            break
        at = rng.randrange(min(len(octets), 64)) if rng.random() < 0.3 else rng.randrange(len(octets))
        kind = rng.randrange(7)
        if kind == 0:
            octets[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            octets[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif kind == 2:
            value = rng.choice([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 262144, rng.getrandbits(32)])
            octets[at : at + 4] = struct.pack(rng.choice("<>") + "I", value)
        elif kind == 3:
            del octets[at : at + rng.randrange(1, 64)]
        elif kind == 4:
            octets[at:at] = octets[at : at + rng.randrange(1, 64)]
        elif kind == 5:
            other = rng.randrange(len(octets))
            octets[at : at + 64] = octets[other : other + 64]
        else:
            del octets[at:]
    return bytes(octets)


def seeds(names, rng):
    if names:
        return [Path(name).read_bytes() for name in names]
    captures = list(generate.captures())
    rng.shuffle(captures)
    result = []
    for capture in captures:
        capture.frames = capture.frames[:: max(1, len(capture.frames) // 60)]
        result.append(capture.octets())
    return result


def trouble(path, options, has_sanitizers):
    """What is wrong with how asrpdump ends; None if nothing."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    try:
        done = asrpdump.run(*options, "-r", path)
    except subprocess.TimeoutExpired:
        return "it hangs"
    is_filtered_in_vain = done.returncode == 2 and b": filter: " in done.stderr  # libpcap doesn't filter every link type
    if done.returncode not in (0, 1, 3) and not is_filtered_in_vain:
        return f"exit status {done.returncode}: {done.stderr.decode(errors='replace')[-3000:]}"
    if any(word in done.stderr for word in (b"Sanitizer", b"runtime error")):
        return done.stderr.decode(errors="replace")[-3000:]
    if done.returncode == 1 and not done.stderr:
        return "it fails and says nothing"
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    if not has_sanitizers and after > max(before, MEMORY):
        return f"it took {after} KiB of memory"
    return None


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng = random.Random(seed)
    originals = seeds(sys.argv[3:], rng)
    has_sanitizers = b"__asan_init" in Path(asrpdump.PROGRAM).read_bytes()
    begun, endings = time.monotonic(), {}
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "damaged"
        for n in range(count):
            original = rng.choice(originals)
            octets = damaged(original, rng)
            if original[:2] == b"\x1f\x8b" and rng.random() < 0.7:  # a whole gzip file around a damaged capture
                octets = gzip.compress(damaged(gzip.decompress(original), rng), 1)
            options = rng.choice(OPTIONS)
            path.write_bytes(octets)
            if wrong := trouble(path, options, has_sanitizers):
                kept = Path(os.getcwd()) / f"failed-capture-{seed}-{n}"
                kept.write_bytes(octets)
                print(f"{asrpdump.PROGRAM} {' '.join(options)} -r {kept}: {wrong}")
                return 1
            endings[options[0]] = endings.get(options[0], 0) + 1
    print(f"{count} damaged captures in {time.monotonic() - begun:.0f} s: {endings}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
