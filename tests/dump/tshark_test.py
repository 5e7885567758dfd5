# SPDX-License-Identifier: BSD-3-Clause
"""The Lua dissector says of the generated captures what the generator says, field by field."""

import os
import tempfile
import unittest
from pathlib import Path

import agreement
import asrpdump
import cuts
import dissector
import files
import generate
from packets import ASRP_PORT, ip, surplus, udp, udp_mark

from asrp import UDP, Message

UNKNOWN_TO_WIRESHARK = {"null-linux"}  # the number that Linux gives to AF_INET6, in a loopback header

BAD_KEYS = {"src", "dst", "sport", "dport", "carriage", "valid", "reason", "time"}


def comparable(facts, claim):
    """Of what is no message, the parts that can be read are shown but not predicted."""
    return facts if claim == "message" else {key: value for key, value in facts.items() if key in BAD_KEYS}


class Dissector(agreement.Agreement):
    def compare(self, capture, directory, preferences=()):
        path = Path(directory) / (capture.name + capture.suffix)
        path.write_bytes(capture.octets())
        families = {number: 6 if ":" in facts["src"] else 4 for number, facts, _, _ in capture.expected}
        decimals = files.decimals(capture.form)
        preferences = [*preferences, "ipv6.tso_support:TRUE"]  # of IPv4 it is the default
        found = {number: rest for number, *rest in dissector.messages(path, decimals, Families(families), preferences)}
        self.agrees(capture, found, comparable)

    def test_every_link_type(self):
        with tempfile.TemporaryDirectory() as directory:
            for capture in generate.captures():
                if capture.name in UNKNOWN_TO_WIRESHARK or capture.name.startswith("form-"):
                    continue
                self.compare(capture, directory)

    @unittest.skipUnless(os.environ.get("ASRPDUMP"), "needs asrpdump")
    def test_captures_of_the_demos_say_the_same_to_asrpdump(self):
        captures = sorted((Path(__file__).resolve().parents[2] / "docs" / "captures").glob("*.pcap*"))
        self.assertGreater(len(captures), 3)
        for path in captures:
            done = asrpdump.run("-r", path, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            ours = list(asrpdump.objects(done.stdout))
            decimals = len(ours[0][1]["time"].split(".")[1])
            theirs = dissector.messages(path, decimals, {number: 6 if ":" in facts["src"] else 4 for number, facts, _ in ours})
            self.assertEqual([number for number, _, _ in theirs], [number for number, _, _ in ours])
            for (number, mine, claim), (_, other, other_claim) in zip(ours, theirs, strict=True):
                with self.subTest(capture=path.name, frame=number):
                    self.assertEqual(other_claim, claim)
                    keys = mine.keys() - {"reassembled"} if claim == "message" else BAD_KEYS & other.keys()
                    self.assertEqual({key: other[key] for key in keys}, {key: mine[key] for key in keys})

    def test_a_datagram_with_two_messages(self):
        data, ends = Message("QS", "ST4", cookie=1, st1=generate.tuple_of("4")).encode(), generate.ENDS[4]
        part = udp(*ends, 40000, ASRP_PORT, data, surplus(data, udp_mark(generate._ns().encode())))
        capture = generate.capture("two", "ethernet", "micro-le", [generate.Case("two", [ip(*ends, UDP, part)], None)])
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "two.pcap"
            path.write_bytes(capture.octets())
            text = dissector.run(["-r", str(path), "-T", "fields", "-e", "asrp.carriage", "-e", "asrp.valid"])
        self.assertEqual(text.split(), ["standalone,inline-udp", "1,1"])

    def test_unassigned_bits_are_noted(self):
        cases = list(generate.unassigned_cases())
        capture = generate.capture("bits", "ethernet", "micro-le", [case for case, _, _ in cases])
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "bits.pcap"
            path.write_bytes(capture.octets())
            text = dissector.run(["-r", str(path), "-Y", "asrp.expert.reserved", "-T", "fields", "-e", "frame.number"])
        self.assertEqual(text.split(), [str(n + 1) for n in range(len(cases))])

    def test_cut_by_the_capture(self):
        capture, samples = cuts.capture()
        capture.expected = [(n, sample.facts, "", "") for n, (sample, _) in samples.items()]
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "cuts.pcap"
            path.write_bytes(capture.octets())
            families = {n: 6 if ":" in sample.facts["src"] else 4 for n, (sample, _) in samples.items()}
            found = {number: rest for number, *rest in dissector.messages(path, 9, families)}
        for number, (sample, length) in samples.items():
            with self.subTest(sample=sample.name, captured=length, frame=number):
                expected = cuts.expected(sample, length)
                self.assertEqual(found[number][1] if number in found else "none", expected)
                if expected != "none":
                    known = found[number][0]
                    del known["time"]
                    keys = sample.facts.keys()
                    if expected == "cut":
                        known.pop("carriage")  # whether data follow may lie beyond
                        keys = cuts.known_keys(sample, length)
                    self.assertEqual(known, {key: sample.facts[key] for key in keys})

    def test_other_markers_and_ports(self):
        exid = generate.Marker(254, 127, 0xBEEF)
        assigned = generate.Marker(30, 10)
        default = generate.capture("default", "ethernet", "nano-le", list(generate.marker_cases(generate.Marker(), 51200)))
        for name, marker, port in (("exid", exid, 4321), ("assigned", assigned, 51200)):
            options = {"port": port, "exid": marker.exid, "tcp_kind": marker.tcp_kind, "udp_kind": marker.udp_kind}
            preferences = [f"asrp.{key}:{value}" for key, value in options.items()]
            capture = generate.capture(name, "ethernet", "nano-le", list(generate.marker_cases(marker, port)))
            with tempfile.TemporaryDirectory() as directory:
                self.compare(capture, directory, preferences)
                if port != 51200:
                    default.expected = []
                    self.compare(default, directory, preferences)


class Families(dict):
    """IPv4 where the generator expects no message at all."""

    def __missing__(self, number):
        return 4


if __name__ == "__main__":
    unittest.main()
