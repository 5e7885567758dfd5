# SPDX-License-Identifier: BSD-3-Clause
"""asrpdump's memory stays bounded whatever a capture holds: fragments that never become whole, more sessions than it may remember."""

import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import asrpdump
import files
import generate
from asrp import Message, Tuple
from links import ethernet
from packets import ASRP_PORT, SYN, TCP, UDP, fragments_v4, fragments_v6, ip, tcp, tcp_mark, udp

HEAD = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
SECOND = 1_790_000_000


def record(frame, n):
    return struct.pack("<IIII", SECOND + n // 50_000, n % 50_000 * 20, len(frame), len(frame)) + frame


# A process of its own runs the program: the memory of whoever starts it counts as the program's, until that has been loaded.
STARTER = """
import resource, subprocess, sys
with open(sys.argv[1], "wb") as notes:
    status = subprocess.call(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=notes)
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_mib(*arguments):
    with tempfile.NamedTemporaryFile() as notes:
        command = [sys.executable, "-I", "-S", "-c", STARTER, notes.name, asrpdump.PROGRAM, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, check=True, timeout=200)
        status, peak = done.stdout.split()
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

    def write_rounds(self, packet, sessions, rounds, cookie_at, address_at):
        """Each round has a packet of each session, with the round's cookie; `address_at` are places of the client's address."""
        one = bytearray(record(ethernet(packet), 0))
        head = len(one) - len(packet)  # of the record and the link layer
        block = bytearray(bytes(one) * sessions)
        for at in address_at:
            for n in range(1, 4):
                block[head + at + n :: len(one)] = bytes(i >> 8 * (3 - n) & 255 for i in range(sessions))
        with open(self.path, "wb") as file:
            file.write(HEAD)
            for number in range(rounds):
                for n in range(4):
                    block[n :: len(one)] = bytes([(SECOND + number) >> 8 * n & 255]) * sessions
                    block[head + cookie_at + n :: len(one)] = bytes([number + 1 >> 8 * (3 - n) & 255]) * sessions
                file.write(block)

    def test_sessions_that_are_long(self):
        """What --max-sessions and the manual promise: by default less than 256 MiB, whatever the sessions hold."""
        src, dst = "10.9.0.1", "10.0.0.1"
        tuples = [Tuple("11.0.0.0", 40000, "203.0.113.10", 443), Tuple("11.0.0.0", 40000, dst, 443)]

        def standalone(message):
            return ip(src, dst, UDP, udp(src, dst, 33000, ASRP_PORT, message.encode(), checksum=False), ident=0)

        body = 20 + 8 + 12  # the tuples
        query = standalone(Message("QS", "ST4", [], TCP, 1, tuples[0], None, b""))
        self.write_rounds(query, 30_000, 66, 20 + 8 + 8, [body])
        self.stays_small("--check")
        ns = standalone(Message("NS", "ST44", ["F-NA"], TCP, 1, *tuples, b"", src))
        self.write_rounds(ns, 6_000, 300, 20 + 8 + 8, [body, body + 12])
        self.stays_small("--ladder")
        self.stays_small("--sessions", "--stats", "--check", "--ladder")

    def stays_small(self, *reports):
        status, peak, notes = peak_mib("-r", self.path, *reports)
        with self.subTest(reports=reports, peak=peak):
            self.assertIn(status, (0, 3), notes)
            self.assertIn("sessions had to be forgotten", notes)  # else the capture is too small for this test
            self.assertLess(peak, 256)

    def test_printing_alone(self):
        frames = generate.capture("all", "ethernet", "micro-le", list(generate.valid_cases(8))).frames
        self.path.write_bytes(files.pcap(frames * 40, 1))
        for arguments in ([], ["--json"], ["-v", "-X"]):
            status, peak, notes = peak_mib("-r", self.path, *arguments)
            self.assertEqual(status, 0, notes)
            self.assertLess(peak, 64)


if __name__ == "__main__":
    unittest.main()
