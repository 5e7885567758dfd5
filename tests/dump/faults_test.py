# SPDX-License-Identifier: BSD-3-Clause
"""asrpdump --check finds the fault of each capture that has one, and nothing else; of those without a fault, nothing.

    ASRPDUMP=PROGRAM python3 faults_test.py
"""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import exchanges
import faults
import files
import innocent
from exchanges import Scene

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ASRPDUMP", "asrpdump")


def check(octets, *options):
    """Findings and exit status."""
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(octets)
        file.flush()
        command = [PROGRAM, "-r", file.name, "--check", "--json", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr}")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [f for f in found if "rule" in f], done.returncode


def short(findings):
    return sorted((f["rule"], f["certain"], f["packets"]) for f in findings)


class Faults(unittest.TestCase):
    maxDiff = 3000

    def test_right_exchanges_are_silent(self):
        for family in (4, 6):
            for name, scenario in exchanges.SCENARIOS.items():
                with self.subTest(scenario=name, family=family):
                    scene = Scene(family)
                    scenario(scene)
                    findings, status = check(scene.octets())
                    self.assertEqual(findings, [])
                    self.assertEqual(status, 0)

    def test_each_fault_is_found_and_nothing_else(self):
        for family in (4, 6):
            for fault in faults.all_faults(family):
                with self.subTest(fault=fault.name, family=family):
                    scene = fault.scene(family)
                    findings, status = check(scene.octets())
                    expected = fault.expected(scene)
                    self.assertEqual(short(findings), expected, findings)
                    self.assertEqual(status, 3 if any(certain for _, certain, _ in expected) else 0)

    def test_every_rule_has_a_fault_and_is_documented(self):
        text = (ROOT / "tools/asrpdump/report/rules/rule.hpp").read_text(encoding="utf-8")
        rules = dict(re.findall(r'constexpr Rule k\w+\{"([a-z-]+)", "([0-9.]+)"\}', text))
        self.assertGreater(len(rules), 30)
        self.assertEqual({f.rule for f in faults.all_faults(4)}, set(rules))
        documented = dict(re.findall(r"^\| `([a-z-]+)` \| ([0-9.]+) \|", (ROOT / "docs/asrpdump-check.md").read_text(encoding="utf-8"), re.M))
        self.assertEqual(documented, rules)

    def test_a_packet_that_the_capture_missed_is_never_a_certain_finding(self):
        for family in (4, 6):
            for name, scenario in exchanges.SCENARIOS.items():
                scene = Scene(family)
                scenario(scene)
                for missing in range(len(scene.frames)):
                    kept = scene.frames[:missing] + scene.frames[missing + 1 :]
                    findings, _ = check(files.pcap(kept, exchanges.RAW_IP, nano=True))
                    with self.subTest(scenario=name, family=family, missing=missing + 1):
                        self.assertEqual([f for f in findings if f["certain"]], [])

    def test_what_the_capture_does_not_show_makes_no_certain_finding(self):
        for family in (4, 6):
            for name, make in innocent.SCENES.items():
                with self.subTest(scene=name, family=family):
                    scene = Scene(family)
                    make(scene)
                    findings, status = check(scene.octets())
                    self.assertEqual([f for f in findings if f["certain"]], [])
                    self.assertEqual(status, 0)
                    self.assertEqual(bool(findings), name not in innocent.SILENT, findings)

    def test_a_cluster_without_cookies_conforms(self):
        """Draft 4.3.2: who doesn't use cookies sends zero. Then no answer can be told by its cookie."""
        for family in (4, 6):
            for name, scenario in exchanges.SCENARIOS.items():
                scene = WithoutCookies(family)
                scenario(scene)
                with self.subTest(scenario=name, family=family):
                    self.assertEqual(check(scene.octets())[0], [])
                for missing in range(len(scene.frames)):
                    kept = scene.frames[:missing] + scene.frames[missing + 1 :]
                    findings, _ = check(files.pcap(kept, exchanges.RAW_IP, nano=True))
                    with self.subTest(scenario=name, family=family, missing=missing + 1):
                        self.assertEqual([f for f in findings if f["certain"]], [])

    def test_two_packets_in_the_wrong_order_are_never_a_certain_finding(self):
        for family in (4, 6):
            for name, scenario in exchanges.SCENARIOS.items():
                scene = Scene(family)
                scenario(scene)
                for n in range(len(scene.frames) - 1):
                    first, second = scene.frames[n : n + 2]
                    swapped = [files.Frame(first.time, second.octets), files.Frame(second.time, first.octets)]
                    frames = scene.frames[:n] + swapped + scene.frames[n + 2 :]
                    findings, _ = check(files.pcap(frames, exchanges.RAW_IP, nano=True))
                    with self.subTest(scenario=name, family=family, swapped=n + 1):
                        self.assertEqual([f for f in findings if f["certain"]], [])

    def test_the_same_packets_at_more_points_change_nothing(self):
        """Each packet is seen again a hop later, as a capture of all interfaces of a router has it."""
        for family in (4, 6):
            for name, scenario in exchanges.SCENARIOS.items():
                with self.subTest(scenario=name, family=family):
                    scene = Scene(family)
                    scenario(scene)
                    doubled = []
                    for frame in scene.frames:
                        doubled += [frame, files.Frame(frame.time + 30_000, a_hop_on(frame.octets))]
                    self.assertEqual(check(files.pcap(doubled, exchanges.RAW_IP, nano=True))[0], [])


class WithoutCookies(Scene):
    def _packets(self, made):
        if made.message:
            made.message.cookie = 0
        return super()._packets(made)


def a_hop_on(packet):
    """TTL or hop limit is one less; the IPv4 header checksum follows."""
    octets = bytearray(packet)
    at = 8 if octets[0] >> 4 == 4 else 7
    octets[at] -= 1
    if at == 8:
        octets[10:12] = bytes(2)
        octets[10:12] = (~faults.exchanges.packets.ones(bytes(octets[: 4 * (octets[0] & 15)])) & 0xFFFF).to_bytes(2, "big")
    return bytes(octets)


if __name__ == "__main__":
    unittest.main()
