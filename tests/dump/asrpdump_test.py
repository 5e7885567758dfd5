# SPDX-License-Identifier: BSD-3-Clause
"""asrpdump says of the generated captures what the generator says: as JSON, and in its lines of text."""

import dataclasses
import tempfile
import unittest
from pathlib import Path

import agreement
import asrpdump
import cuts
import files
import generate
import links
from packets import ASRP_PORT, ip, surplus, udp, udp_mark

from asrp import UDP, Message

CARRIER_KEYS = {"time", "src", "dst", "sport", "dport", "carriage", "valid", "reason"}
EXTRA_KEYS = {"cut", "not_asrp", "octets", "reassembled", "unassigned_flags", "reserved"}


def comparable(facts, claim):
    if claim == "message":
        return {key: value for key, value in facts.items() if key not in EXTRA_KEYS}
    keys = CARRIER_KEYS if claim == "invalid" else CARRIER_KEYS - {"valid", "reason"}
    return {key: value for key, value in facts.items() if key in keys}


class Asrpdump(agreement.Agreement):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def write(self, capture):
        path = Path(self.directory.name) / (capture.name + capture.suffix)
        path.write_bytes(capture.octets())
        return path

    def output(self, *arguments):
        done = asrpdump.run(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def compare(self, capture, *arguments):
        found = {number: rest for number, *rest in asrpdump.objects(self.output("-r", self.write(capture), "--json", *arguments))}
        self.agrees(capture, found, comparable)

    def test_json_of_every_link_type_and_form(self):
        for capture in generate.captures():
            self.compare(capture)

    def test_levels_of_tunnels(self):
        whole = [case for case in generate.valid_cases(9) if len(case.packets) == 1][::3]
        once = [dataclasses.replace(case, packets=[links.vxlan(case.packets[0])]) for case in whole]
        twice = [dataclasses.replace(case, packets=[links.gre(case.packets[0])]) for case in once]
        for level, cases in enumerate((whole, once, twice)):
            for allowed in range(3):
                capture = generate.capture(f"level-{level}-of-{allowed}", "ethernet", "micro-le", cases)
                if level > allowed:
                    capture.expected = []
                self.compare(capture, "--tunnels", str(allowed))

    def test_other_markers_and_ports(self):
        for marker, port in ((generate.Marker(254, 127, 0xBEEF), 4321), (generate.Marker(30, 10), 51200)):
            options = ["--port", port, "--exid", "%04x" % marker.exid, "--tcp-kind", marker.tcp_kind, "--udp-kind", marker.udp_kind]
            self.compare(generate.capture(f"port-{port}", "ethernet", "nano-be", list(generate.marker_cases(marker, port))), *options)
            default = generate.capture("default", "ethernet", "nano-be", list(generate.marker_cases(generate.Marker(), 53)))
            default.expected = []
            self.compare(default, *options)

    def test_text_of_every_message(self):
        capture = generate.capture("text", "ethernet", "nano-be", list(generate.valid_cases(2)) + list(generate.damaged_cases()))
        lines = self.output("-r", self.write(capture), "-tt").splitlines()
        self.assertEqual(len(lines), len(capture.expected))
        for line, (number, facts, claim, name) in zip(lines, capture.expected, strict=True):
            with self.subTest(frame=number, case=name, line=line):
                at = 0
                for part in self.parts(facts, claim):
                    self.assertIn(part, line[at:])
                    at = line.index(part, at) + len(part)

    def parts(self, facts, claim):
        if claim == "message":
            return asrpdump.text_parts(facts)
        ends = [asrpdump.endpoint(facts["src"], facts["sport"]), asrpdump.endpoint(facts["dst"], facts["dport"])]
        parts = [facts["time"], " > ".join(ends) + ":", facts["carriage"]]
        return parts + ["invalid (%s)" % facts["reason"] if claim == "invalid" else "not ASRP?"]

    def test_a_datagram_with_two_messages(self):
        """One is the datagram to ASRP-PORT, the other is in its options. Both are shown, and the packet is written once."""
        query, session = Message("QS", "ST4", cookie=1, st1=generate.tuple_of("4")), generate._ns()
        for version, ends in generate.ENDS.items():
            with self.subTest(version=version):
                data, ports = query.encode(), (40000, ASRP_PORT)
                part = udp(*ends, *ports, data, surplus(data, udp_mark(session.encode())))
                case = generate.Case("two", [ip(*ends, UDP, part)], None)
                path = self.write(generate.capture("two", "ethernet", "micro-le", [case]))
                shown = [(n, comparable(facts, claim)) for n, facts, claim in asrpdump.objects(self.output("-r", path, "--json"))]
                for _, facts in shown:
                    del facts["time"]
                self.assertEqual(shown, [(1, generate.facts_of(session, "inline-udp", *ends, *ports)),
                                         (1, generate.facts_of(query, "standalone", *ends, *ports))])
                self.assertEqual(len(self.output("-r", path).splitlines()), 2)
                self.assertEqual(len(self.output("-r", path, "-c", "1").splitlines()), 1)
                written = Path(self.directory.name) / "written.pcap"
                self.output("-r", path, "-w", written)
                self.assertEqual(len(list(files.read(written.read_bytes()))), 1)
                self.assertTrue(self.output("-r", path, "--stats").startswith("1 packet in 0.000 ms, 1 with a message, 1 session\n"))

    def test_unassigned_bits_are_shown(self):
        cases = list(generate.unassigned_cases())
        path = self.write(generate.capture("bits", "ethernet", "micro-le", [case for case, _, _ in cases]))
        shown = [facts for _, facts, _ in asrpdump.objects(self.output("-r", path, "--json"))]
        self.assertEqual([(f.get("unassigned_flags", 0), f.get("reserved", 0)) for f in shown], [(flags, reserved) for _, flags, reserved in cases])

    def test_tree_names_every_field(self):
        capture = generate.capture("tree", "ethernet", "micro-le", list(generate.valid_cases(3))[::3])
        text = self.output("-r", self.write(capture), "-v", "-tt")
        for _, facts, _, name in capture.expected:
            with self.subTest(case=name):
                start = text.index(facts["time"])
                stop = text.find("\n1", start)
                block = text[start : stop if stop > 0 else None]
                for value in [facts["cookie"], facts["sttype"], facts.get("node_local_ip", ""), facts["cookie"]]:
                    self.assertIn(value, block)
                self.assertGreater(len(block.splitlines()), 9)

    def test_cut_by_the_capture(self):
        capture, samples = cuts.capture()
        found = {number: rest for number, *rest in asrpdump.objects(self.output("-r", self.write(capture), "--json"))}
        for number, (sample, length) in samples.items():
            with self.subTest(sample=sample.name, captured=length, frame=number):
                expected = cuts.expected(sample, length)
                self.assertEqual(found[number][1] if number in found else "none", expected)
                if expected == "none":
                    continue
                known = {key: value for key, value in found[number][0].items() if key not in EXTRA_KEYS | {"time"}}
                if expected == "message":
                    self.assertEqual(known, sample.facts)
                else:  # what is shown of it is right
                    self.assertEqual(known.pop("reason"), "truncated")
                    self.assertFalse(known.pop("valid"))
                    known.pop("carriage")  # whether data follow may lie beyond
                    self.assertEqual(known, {key: sample.facts[key] for key in cuts.known_keys(sample, length)})

    def test_snap_length_of_the_file(self):
        cases = list(generate.valid_cases(4))
        whole = generate.capture("whole", "ethernet", "micro-le", cases)
        for length in (14, 34, 60, 96, 128, 200):
            capture = generate.capture("snap", "ethernet", "micro-le", cases)
            capture.frames = [files.Frame(f.time, f.octets[:length], len(f.octets)) for f in whole.frames]
            for number, facts, claim in asrpdump.objects(self.output("-r", self.write(capture), "--json")):
                self.assertIn(claim, ("message", "cut"), (length, number, facts))


if __name__ == "__main__":
    unittest.main()
