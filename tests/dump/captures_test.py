# SPDX-License-Identifier: BSD-3-Clause
"""The example captures of docs/captures: small, without a certain finding, each shows what its scenario is about, and its picture is
the one that asrpdump draws of it.

    ASRPDUMP=PROGRAM python3 captures_test.py
"""

import json
import os
import re
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

DIRECTORY = Path(__file__).resolve().parents[2] / "docs" / "captures"
PROGRAM = os.environ.get("ASRPDUMP", "asrpdump")
# What must be in it: types of messages, and by what a session is restored.
SHOWS = {
    "failover": ({"NS", "QS", "RS", "RX"}, "RS"),
    "asymmetric": ({"NS", "PS", "QS", "RS"}, "PS"),
    "scale-out": ({"NS", "QS", "RS"}, "RS"),
    "pool-change": ({"NS", "QS", "RS"}, "RS"),
    "udp": ({"NS", "NA", "QS", "RS", "RX"}, "RS"),
    "conflict": ({"NS", "NC", "PS"}, "PS"),
    "snat": ({"HS", "NS", "QS", "RS"}, "RS"),
}


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


def records(capture):
    """File header, and each packet with its record header, of a pcap file in this machine's order."""
    found, at = [], 24
    while at < len(capture):
        size = struct.unpack_from("<I", capture, at + 8)[0]
        found.append(capture[at : at + 16 + size])
        at += 16 + size
    return capture[:24], found


class Captures(unittest.TestCase):
    def test_there_is_one_of_each_scenario(self):
        self.assertEqual({p.stem for p in DIRECTORY.glob("*.pcap")}, set(SHOWS))

    def test_they_are_small_and_conform(self):
        for name in SHOWS:
            with self.subTest(capture=name):
                path = DIRECTORY / f"{name}.pcap"
                self.assertLess(path.stat().st_size, 100_000)
                done = run("-r", str(path), "--check", "--json")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual([line for line in done.stdout.splitlines() if '"certain":true' in line], [])

    def test_a_missing_packet_or_two_swapped_ones_make_no_certain_finding(self):
        header, packets = records((DIRECTORY / "conflict.pcap").read_bytes())
        self.assertGreater(len(packets), 50)
        for n in range(len(packets)):
            altered = {"missing": packets[:n] + packets[n + 1 :]}
            if n + 1 < len(packets):
                first, second = packets[n : n + 2]  # each keeps the other's time
                altered["swapped"] = packets[:n] + [first[:8] + second[8:], second[:8] + first[8:]] + packets[n + 2 :]
            for what, kept in altered.items():
                with self.subTest(packet=n + 1, altered=what), tempfile.NamedTemporaryFile(suffix=".pcap") as file:
                    file.write(header + b"".join(kept))
                    file.flush()
                    done = run("-r", file.name, "--check", "--json")
                    self.assertEqual(done.returncode, 0, done.stdout)

    def test_they_show_what_they_are_about(self):
        for name, (types, restored_by) in SHOWS.items():
            with self.subTest(capture=name):
                done = run("-r", str(DIRECTORY / f"{name}.pcap"), "--sessions", "--json")
                sessions = [json.loads(line) for line in done.stdout.splitlines()]
                seen = {kind for session in sessions for kind, count in session["messages"].items() if count}
                self.assertLessEqual(types, seen)
                self.assertIn(restored_by, {r["by"] for session in sessions for r in session["restored"]})
                self.assertTrue(any(session["held_ms_max"] > 0 for session in sessions), "nothing is seen on both sides of a node")

    def test_the_picture_of_the_failover_shows_a_node_that_knew_nothing(self):
        done = run("-r", str(DIRECTORY / "failover.pcap"), "--ladder", "--ladder-limit", "1")
        drawn = re.search(r"^session \d+ +\S+ (\S+?)>", done.stdout, re.M)
        self.assertIsNotNone(drawn, done.stdout)
        done = run("-r", str(DIRECTORY / "failover.pcap"), "--sessions", "--json", "--session", drawn.group(1))
        session = json.loads(done.stdout)
        creators = {message["node_local_ip"] for message in self.messages("failover") if message["type"] == "NS" and message["st1"] == session["st1"]}
        self.assertTrue(creators)
        self.assertTrue({restored.get("node") for restored in session["restored"]} - creators)

    def messages(self, name):
        return [json.loads(line) for line in run("-r", str(DIRECTORY / f"{name}.pcap"), "--json").stdout.splitlines()]

    def test_the_pictures_are_those_of_the_captures(self):
        for name in SHOWS:
            with self.subTest(capture=name), tempfile.TemporaryDirectory() as directory:
                picture = Path(directory, f"{name}.svg")
                done = run("-r", str(DIRECTORY / f"{name}.pcap"), "--ladder", str(picture), "--ladder-limit", "1")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(picture.read_text(encoding="utf-8"), (DIRECTORY / f"{name}.svg").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
