# SPDX-License-Identifier: BSD-3-Clause
"""The JSON of --sessions, --stats and --check has the keys that docs/asrpdump-reports.md names, and no others; figures are right.

    ASRPDUMP=PROGRAM python3 reports_test.py
"""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import exchanges
import faults_test
import files
import innocent
from exchanges import Scene

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ASRPDUMP", "asrpdump")


def report(octets, *options):
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(octets)
        file.flush()
        done = subprocess.run([PROGRAM, "-r", file.name, "--json", *options], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def scene(name, family=4):
    made = Scene(family)
    exchanges.SCENARIOS[name](made)
    return made


def documented(section):
    text = (ROOT / "docs/asrpdump-reports.md").read_text(encoding="utf-8").split(f"## --{section}\n")[1].split("\n## ")[0]
    return set(re.findall(r"`([a-z_0-9]+)`", text))


class Reports(unittest.TestCase):
    maxDiff = 3000

    def test_sessions(self):
        for family in (4, 6):
            (session,), _ = report(scene("psv3", family).octets(), "--sessions")
            self.assertEqual(session["messages"], {"NS": 1, "NA": 0, "QS": 2, "RS": 1, "RX": 1, "HS": 0, "PS": 1, "NC": 0})
            self.assertEqual([(q["answer"], q["latency_ms"], q["tries"]) for q in session["queries"]], [("RX", 0.4, 1), ("RS", 0.4, 1)])
            self.assertEqual([r["by"] for r in session["restored"]], ["PS", "RS"])
            self.assertEqual(session["restored"][1]["node"], session["node"])
            self.assertEqual(session["held_ms_max"], 1.0)
            self.assertEqual(session["packets"], 12)
            used = set(session) | set(session["queries"][0]) | set(session["restored"][0]) | set(session["st1"])
            self.assertLessEqual(used, documented("sessions"))

    def test_every_session_has_its_object(self):
        sessions, _ = report(scene("queries").octets(), "--sessions")
        self.assertEqual(len(sessions), 12)
        self.assertTrue(all(session["restored"][0]["by"] == "RS" for session in sessions))

    def test_one_session_can_be_picked(self):
        octets = scene("queries").octets()
        sessions, _ = report(octets, "--sessions", "--session", "203.0.113.7:41003")
        self.assertEqual([session["st1"]["sport"] for session in sessions], [41003])
        sessions, notes = report(octets, "--sessions", "--session", "203.0.113.7:4")
        self.assertEqual(sessions, [])
        self.assertIn("no session with 203.0.113.7:4", notes)
        with self.assertRaises(subprocess.CalledProcessError):
            report(octets, "--sessions", "--session", "203.0.113.7")

    def test_a_cap_is_said_to_be_reached(self):
        sessions, notes = report(scene("queries").octets(), "--sessions", "--max-sessions", "5")
        self.assertEqual(len(sessions), 12)
        self.assertIn("7 sessions had to be forgotten", notes)

    def test_stats(self):
        (stats,), _ = report(scene("udp-created").octets(), "--stats")
        self.assertLessEqual(set(stats), documented("stats"))
        self.assertEqual(stats["messages"], {"NS": {"inline-udp": 1}, "NA": {"standalone": 1}, "QS": {"standalone": 2},
                                             "RX": {"standalone": 2}})
        self.assertEqual(stats["queries"], {"rs": 0, "rx": 2, "unanswered": 0})
        self.assertEqual(stats["latency_ms"]["count"], 2)
        self.assertEqual(stats["held_ms"]["max"], 1.0)

    def test_a_message_that_the_node_leaves_in_its_datagram_is_one_message(self):
        for family in (4, 6):
            made = Scene(family)
            innocent.left_in_datagram(made)
            (stats,), _ = report(made.octets(), "--stats")
            self.assertEqual(stats["messages"], {"NS": {"inline-udp": 1}, "PS": {"inline-udp": 1}})
            (session,), _ = report(made.octets(), "--sessions")
            self.assertEqual((session["messages"]["PS"], len(session["restored"])), (1, 1))

    def messages(self, frames):
        (stats,), _ = report(files.pcap(sorted(frames, key=lambda f: f.time), exchanges.RAW_IP, nano=True), "--stats")
        return {kind: sum(by.values()) for kind, by in stats["messages"].items()}

    def test_a_message_in_two_captures_whose_clocks_differ_is_one_message(self):
        for family in (4, 6):
            made = Scene(family)
            exchanges.late_ns(made, exchanges.psv_flow(made))
            for other in (lambda o: o, faults_test.a_hop_on):  # both ends of a link; both sides of a router, whose clock is ahead
                again = [files.Frame(f.time - 3_000_000, other(f.octets)) for f in made.frames]
                self.assertEqual(self.messages(made.frames + again), {"NS": 1, "NA": 1})

    def test_a_separate_packet_that_is_sent_again_is_another_message(self):
        """Each copies the header of one packet, its identification too."""
        for family in (4, 6):
            made = Scene(family)
            f = exchanges.psv_flow(made)
            for n in range(4):
                made.step(f"ns{n}", ends=f.st2, carriage="separate", ident=77, seq=1001, ack=5001, wait=300_000,
                          message=made.pair("NS", f.st1, f.st2, 7, ["F-NA"], node=made.nodes[0]))
            self.assertEqual(self.messages(made.frames), {"NS": 4})
            behind = [files.Frame(f.time + 50_000, faults_test.a_hop_on(f.octets)) for f in made.frames]
            self.assertEqual(self.messages(made.frames + behind), {"NS": 4})

    def test_check(self):
        made = Scene(4, {"ps": lambda step: setattr(step.message, "cookie", 7)})
        exchanges.psv1(made)
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            file.write(made.octets())
            file.flush()
            done = subprocess.run([PROGRAM, "-r", file.name, "--check", "--json"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(set(json.loads(done.stdout)), {"time", "rule", "section", "certain", "packets", "text"})


if __name__ == "__main__":
    unittest.main()
