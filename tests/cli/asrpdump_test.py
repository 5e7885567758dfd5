# SPDX-License-Identifier: BSD-3-Clause
"""asrpdump as a program: where it reads from, where it writes to, what it says when that fails. No root, no network."""
import gzip
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/dump"))

import files  # noqa: E402
import generate  # noqa: E402
from schema import Schema  # noqa: E402

PROGRAM = os.environ["ASRPDUMP"]
LIMIT = 60
ETHERNET = 1
HEADER = bytes.fromhex("020000000001020000000002")


def run(*arguments, **more):
    more = {"stdin": subprocess.DEVNULL} | more
    environment = os.environ | {"TZ": "UTC0"}
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, check=False, timeout=LIMIT, env=environment, **more)


def frames():
    """Forty messages of all carriages in Ethernet, ten seconds apart, each of IPv4 and in one piece."""
    cases = [c for c in generate.valid_cases() if c.name.endswith("v4 plain")]
    cases = cases[:: len(cases) // 40][:40]
    return [files.Frame(1_700_000_000_123_456_789 + 10**10 * n, HEADER + b"\x08\0" + c.packets[0]) for n, c in enumerate(cases)]


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.frames = frames()
        self.octets = files.pcap(self.frames, ETHERNET, nano=True)

    def file(self, octets, name="capture"):
        path = self.directory / name
        path.write_bytes(octets)
        return path

    def lines(self, *arguments, status=0, **more):
        done = run(*arguments, **more)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout.decode().splitlines()

    def fails(self, *arguments, lines=0, **more):
        """Exit status 1, so many lines nevertheless. Returns what was said."""
        done = run(*arguments, **more)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), lines)
        return done.stderr.decode()


class Reading(Case):
    def test_file_pipe_and_compressed(self):
        expected = self.lines("-r", self.file(self.octets))
        self.assertEqual(len(expected), len(self.frames))
        self.assertEqual(self.lines(self.file(self.octets)), expected)
        self.assertEqual(self.lines("-r", "-", stdin=None, input=self.octets), expected)
        self.assertEqual(self.lines("-", stdin=None, input=gzip.compress(self.octets)), expected)
        self.assertEqual(self.lines("-r", self.file(gzip.compress(self.octets), "without-suffix")), expected)
        half = len(self.octets) // 2
        members = gzip.compress(self.octets[:half]) + gzip.compress(self.octets[half:]) + b"trailing"
        self.assertEqual(self.lines("-r", self.file(members)), expected)
        for form in ("ng-nano-be", "ng-nano-le", "nano-be", "gz-ng-nano-le"):
            self.assertEqual(self.lines("-", stdin=None, input=files.FORMS[form](self.frames, ETHERNET)), expected)

    def test_a_filter_leaves_the_numbers_of_the_packets(self):
        numbers = [json.loads(line)["frame"] for line in self.lines("-r", self.file(self.octets), "--json", "udp", "port", "51200")]
        self.assertTrue(numbers)
        self.assertGreater(numbers[0], 1)
        everything = [json.loads(line) for line in self.lines("-r", self.file(self.octets), "--json")]
        self.assertEqual(numbers, [o["frame"] for o in everything if o["carriage"] == "standalone" or 51200 in (o["sport"], o["dport"])])

    def test_a_signal_ends_the_reading(self):
        with subprocess.Popen([PROGRAM, "-r", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            program.stdin.write(self.octets[:24] + self.octets[24 : 24 + 16 + len(self.frames[0].octets)])
            program.stdin.flush()
            program.stdout.readline()
            program.send_signal(signal.SIGINT)
            self.assertEqual(program.wait(LIMIT), 0)


class Writing(Case):
    def test_what_is_written_is_what_carries_asrp(self):
        plain = files.Frame(self.frames[0].time, HEADER + b"\x08\0" + generate.ip(*generate.ENDS[4], 17, generate.udp(*generate.ENDS[4], 1, 2, b"x")))
        damaged = [c.packets[0] for c in generate.damaged_cases() if c.claim == "invalid" and len(c.packets) == 1 and c.packets[0][0] >> 4 == 4]
        self.assertGreater(len(damaged), 20)
        carry = self.frames + [files.Frame(self.frames[0].time, HEADER + b"\x08\0" + packet) for packet in damaged]
        mixed = [f for frame in carry for f in (frame, plain)]
        for nano in (False, True):
            for link, name in ((ETHERNET, "ethernet"), (101, "raw")):
                strip = 14 if link == 101 else 0
                kept = [files.Frame(f.time, f.octets[strip:]) for f in carry]
                source = self.file(files.pcap([files.Frame(f.time, f.octets[strip:]) for f in mixed], link, nano=nano), name)
                self.assertEqual(self.lines("-r", source, "-w", self.directory / "out"), [])
                self.assertEqual((self.directory / "out").read_bytes(), files.pcap(kept, link, nano=nano))
        self.assertEqual(run("-r", source, "-w", "-").stdout, files.pcap(kept, 101, nano=True))
        self.assertEqual(len(self.lines("-r", source, "--print", "-w", self.directory / "out")), len(carry))

    def test_all_fragments_are_written(self):
        case = next(c for c in generate.valid_cases() if c.name.endswith("v4 fragments") and len(c.packets) > 2)
        source = [files.Frame(10**18 + n, HEADER + b"\x08\0" + p) for n, p in enumerate(case.packets)]
        self.lines("-r", self.file(files.pcap(source, ETHERNET, nano=True)), "-w", self.directory / "out")
        self.assertEqual((self.directory / "out").read_bytes(), files.pcap(source, ETHERNET, nano=True))

    def test_files_by_size(self):
        many = self.file(files.pcap(self.frames * 800, ETHERNET))
        self.lines("-r", many, "-w", self.directory / "out", "-C", "1")
        names = sorted(p.name for p in self.directory.glob("out*"))
        self.assertEqual(names, sorted(["out"] + [f"out{n}" for n in range(1, len(names))]))
        self.assertGreater(len(names), 2)
        sizes = [(self.directory / f"out{n or ''}").stat().st_size for n in range(len(names))]
        self.assertTrue(all(1_000_000 < size < 1_001_000 for size in sizes[:-1]), sizes)
        self.assertEqual(sum(len(self.lines("-r", self.directory / n)) for n in names), 32000)

    def test_a_ring_of_files(self):
        many = self.file(files.pcap(self.frames * 800, ETHERNET))
        self.lines("-r", many, "-w", self.directory / "ring", "-C", "1", "-W", "12")
        self.lines("-r", many, "-w", self.directory / "two", "-C", "1", "-W", "2")
        self.assertIn("ring00", [p.name for p in self.directory.glob("ring*")])
        self.assertEqual(sorted(p.name for p in self.directory.glob("two*")), ["two0", "two1"])

    def test_files_by_time(self):
        source = self.file(self.octets)
        self.lines("-r", source, "-w", self.directory / "t-%H%M%S", "-G", "100")
        names = sorted(p.name for p in self.directory.glob("t-*"))
        self.assertEqual(names, ["t-221320", "t-221500", "t-221640", "t-221820"])
        self.assertEqual([len(self.lines("-r", self.directory / n)) for n in names], [10, 10, 10, 10])
        self.lines("-r", source, "-w", self.directory / "u-%H%M%S", "-G", "100", "-W", "2")
        self.assertEqual(sorted(p.name for p in self.directory.glob("u-*")), names_of("u", names[:2]))

    def test_a_file_is_not_written_over_itself(self):
        source = self.file(self.octets)
        (self.directory / "link").symlink_to(source)
        for name in ("capture", "link"):
            done = run("-r", source, "-w", self.directory / name)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(source.read_bytes(), self.octets)

    def test_count(self):
        source = self.file(self.octets)
        self.assertEqual(len(self.lines("-r", source, "-c", "3")), 3)
        self.lines("-r", source, "-c", "3", "-w", self.directory / "out")
        self.assertEqual(len(self.lines("-r", self.directory / "out")), 3)


def names_of(letter, names):
    return [letter + name[1:] for name in names]


class Speaking(Case):
    def test_wrong_usage_is_2_and_tells_all(self):
        done = run("-r", "x", "-i", "y", "--port", "0", "--no-such")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertEqual(len(done.stderr.splitlines()), 4)
        path = self.file(self.octets)
        for arguments in ([], ["-r", path, "no such filter"], ["-r", path, "-c", "many"], ["-r", path, "-i", "lo"], ["-r", path, "-G", "0", "-w", "x"],
                          ["-r", path, "-r", path], [path, path], [path, "--ladder", "--json"], [path, "--ladder", "x.png"], [path, "--ladder=x"]):
            with self.subTest(arguments):
                done = run(*arguments, cwd=self.directory)
                self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
                self.assertNotEqual(done.stderr, b"")

    def test_help_and_version(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn(b"Examples:", done.stdout)
        self.assertRegex(run("--version").stdout.decode(), r"^asrpdump \d+\.\d+\.\d+\nlibpcap ")

    def test_a_summary_where_it_is_of_use(self):
        source = self.file(self.octets)
        self.assertEqual(run("-r", source).stderr, b"")
        self.assertEqual(run("-r", source, "-v").stderr, b"40 packets read, 40 messages\n")
        self.assertEqual(run("-r", source, "-v", "-q").stderr, b"")

    def test_counts_by_reason(self):
        capture = generate.capture("damaged", "ethernet", "micro-le", list(generate.damaged_cases()))
        said = run("-r", self.file(capture.octets()), "-v").stderr.decode()
        wanted = {}
        for _, facts, claim, _ in capture.expected:
            if claim == "invalid":
                wanted[facts["reason"]] = wanted.get(facts["reason"], 0) + 1
        line = next(line for line in said.splitlines() if line.startswith("invalid: "))
        found = dict(reversed(part.split()) for part in line.removeprefix("invalid: ").split(", "))
        self.assertEqual({reason: int(n) for reason, n in found.items()}, wanted)

    def test_json_holds_to_its_schema(self):
        schema = Schema(json.loads((ROOT / "docs/asrpdump.schema.json").read_text(encoding="utf-8")))
        cases = list(generate.valid_cases()) + list(generate.damaged_cases())
        whole = self.file(generate.capture("all", "ethernet", "nano-le", cases).octets())
        cut = self.directory / "cut"
        capture = generate.capture("cut", "ethernet", "micro-le", cases)
        cut.write_bytes(files.pcap([files.Frame(f.time, f.octets[:70], len(f.octets)) for f in capture.frames], ETHERNET))
        for source in (whole, cut):
            lines = self.lines("-r", source, "--json")
            self.assertGreater(len(lines), 100)
            for line in lines:
                self.assertEqual(schema.problems(json.loads(line)), [], line)
        for wrong in ({"valid": True}, json.loads(lines[0]) | {"more": 1}, json.loads(lines[0]) | {"sport": -1}):
            self.assertNotEqual(schema.problems(wrong), [])

    def test_time_has_the_decimals_of_the_file(self):
        for nano, time in ((False, '{"time":1700000000.123456,'), (True, '{"time":1700000000.123456789,')):
            for form in (files.pcap, files.pcapng):
                source = self.file(form(self.frames, ETHERNET, nano=nano))
                self.assertTrue(self.lines("-r", source, "--json")[0].startswith(time))

    def test_link_layer_in_hexadecimal(self):
        text = self.lines("-r", self.file(self.octets), "-xx", "-c", "1")
        octets = "".join("".join(line.split(":")[1].split()) for line in text[1:])
        self.assertEqual(octets, self.frames[0].octets.hex())
        text = self.lines("-r", self.file(self.octets), "-x", "-c", "1")
        octets = "".join("".join(line.split(":")[1].split()) for line in text[1:])
        self.assertEqual(octets, self.frames[0].octets[14:].hex())

    def test_the_head_of_a_section_of_the_wrong_order(self):
        """The size of the first block leads nowhere: an error, no hang."""
        for size in (0, 4, 28, 0xFFFFFFFF):
            octets = struct.pack("<III", 0x0A0D0D0A, size, 0x1A2B3C4D) + bytes(40)
            self.assertEqual(run("-r", self.file(octets)).returncode, 1)


if __name__ == "__main__":
    unittest.main()
