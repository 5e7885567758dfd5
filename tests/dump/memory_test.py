# SPDX-License-Identifier: BSD-3-Clause
"""asrpdump's memory stays bounded whatever a capture holds: fragments that never become whole, more sessions than it may remember."""

import os
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import asrpdump
import files
import generate
from links import ethernet
from packets import SYN, UDP, TCP, fragments_v4, fragments_v6, ip, tcp, tcp_mark

HEAD = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
SECOND = 1_790_000_000


def record(frame, n):
    return struct.pack("<IIII", SECOND + n // 50_000, n % 50_000 * 20, len(frame), len(frame)) + frame


def peak_mib(*arguments):
    """Runs asrpdump in a shell that tells its peak memory at the end: that of this script would count as its own."""
    script = '"$@" >/dev/null 2>"$NOTES" & pid=$!; peak=0; while kill -0 $pid 2>/dev/null; do ' \
             'now=$(sed -n "s/^VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p" /proc/$pid/status 2>/dev/null); [ "${now:-0}" -gt $peak ] && peak=$now; done; ' \
             'wait $pid; echo $? $peak'
    with tempfile.NamedTemporaryFile() as notes:
        command = ["sh", "-c", script, "sh", asrpdump.PROGRAM, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, check=True, timeout=120, env=dict(os.environ, NOTES=notes.name))
        status, peak = done.stdout.split()
        if int(peak) == 0:
            raise RuntimeError("the program ended before its memory was looked at")
        return int(status), int(peak) / 1024, Path(notes.name).read_text(encoding="utf-8")


class Memory(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name) / "large.pcap"

    def test_fragments_that_never_become_whole(self):
        first4 = ethernet(fragments_v4(ip(*generate.ENDS[4], UDP, bytes(2960)), 1480)[0])
        last6 = ethernet(fragments_v6(*generate.ENDS[6], UDP, bytes(64000), 1440)[-2])
        with open(self.path, "wb") as file:
            file.write(HEAD)
            for n in range(30_000):
                frame = bytearray(first4 if n % 3 else last6)
                struct.pack_into("!I", frame, 26 if n % 3 else 14 + 40 + 4, n)  # source address, or identification
                file.write(record(bytes(frame), n))
        status, peak, notes = peak_mib("-r", self.path, "-v")
        self.assertEqual(status, 0, notes)
        self.assertLess(peak, 64)

    def test_more_sessions_than_it_may_remember(self):
        ns = generate._ns()
        src, dst = generate.ENDS[4]
        frame = bytearray(ethernet(ip(src, dst, TCP, tcp(src, dst, 40000, 443, ns.encode(), SYN, tcp_mark()))))
        at = 14 + 20 + 24 + 12  # of ST1
        with open(self.path, "wb") as file:
            file.write(HEAD)
            for n in range(40_000):
                struct.pack_into("!I", frame, at, 0x0A000000 + n)
                struct.pack_into("!I", frame, 26, 0x0A000000 + n)
                file.write(record(bytes(frame), n))
        status, few, notes = peak_mib("-r", self.path, "--sessions", "--max-sessions", 1000)
        self.assertEqual(status, 0, notes)
        self.assertLess(few, 64)
        self.assertIn("39000 sessions", notes)
        status, many, notes = peak_mib("-r", self.path, "--sessions")
        self.assertEqual(status, 0, notes)
        self.assertLess(many, 128)

    def test_printing_alone(self):
        frames = generate.capture("all", "ethernet", "micro-le", list(generate.valid_cases(8))).frames
        self.path.write_bytes(files.pcap(frames * 40, 1))
        for arguments in ([], ["--json"], ["-v", "-X"]):
            status, peak, notes = peak_mib("-r", self.path, *arguments)
            self.assertEqual(status, 0, notes)
            self.assertLess(peak, 64)


if __name__ == "__main__":
    unittest.main()
