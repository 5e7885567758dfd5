# SPDX-License-Identifier: BSD-3-Clause
"""What asrpdump does with files, pipes and disks that fail it: it says so, at which packet, exits with 1, and what it had decoded is out."""

import gzip
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import asrpdump
import files
import generate
import links


WHOLE = [case for case in generate.valid_cases(5) if len(case.packets) == 1]


def small_capture(form="micro-le", count=40):
    return generate.capture("small", "ethernet", form, WHOLE[:count])


class Errors(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.capture = small_capture()

    def write(self, octets, name="file.pcap"):
        path = self.directory / name
        path.write_bytes(octets)
        return path

    def fails(self, done, *words, lines=None):
        message = done.stderr.decode()
        self.assertEqual(done.returncode, 1, message)
        for word in words:
            self.assertIn(word, message)
        if lines is not None:
            self.assertEqual(len(done.stdout.splitlines()), lines)
        self.assertLessEqual(len(message.splitlines()), 3, message)

    def test_file_that_ends_in_the_middle(self):
        for form in ("micro-le", "nano-be", "ng-micro-le", "ng-nano-be"):
            with self.subTest(form):
                capture = small_capture(form)
                whole = capture.octets()
                before = small_capture(form, 30).octets()
                self.fails(asrpdump.run("-r", self.write(whole[: len(before) + 20])), "file.pcap", "after packet 30\n", lines=30)

    def test_file_that_ends_at_each_place_of_its_last_packet(self):
        octets, last = self.capture.octets(), len(self.capture.frames[-1].octets)
        for gone in (1, last, last + 1, last + 15):
            self.fails(asrpdump.run("-r", self.write(octets[:-gone])), "after packet 39\n", lines=39)
        self.assertEqual(asrpdump.run("-r", self.write(octets[: -last - 16])).returncode, 0)

    def test_damaged_packet_header(self):
        octets = bytearray(self.capture.octets())
        at = len(small_capture(count=10).octets())
        octets[at + 8 : at + 12] = b"\xff\xff\xff\x7f"
        self.fails(asrpdump.run("-r", self.write(octets)), "packet 10", lines=10)

    def test_gzip_that_ends_in_the_middle(self):
        octets = gzip.compress(small_capture(count=200).octets(), 1)
        done = asrpdump.run("-r", self.write(octets[: len(octets) // 2], "file.pcap.gz"))
        self.fails(done, "file.pcap.gz", "compressed data end in the middle, after packet ")
        self.assertGreater(len(done.stdout.splitlines()), 10)

    def test_gzip_that_is_damaged(self):
        octets = bytearray(gzip.compress(small_capture(count=200).octets(), 1))
        for n in range(len(octets) // 2, len(octets) // 2 + 60):
            octets[n] ^= 0xA5
        self.fails(asrpdump.run("-r", self.write(octets, "file.pcap.gz")), "file.pcap.gz", "packet ")

    def test_gzip_whose_trailer_is_wrong(self):
        for count in (1, 40, 200):
            octets = gzip.compress(small_capture(count=count).octets())
            for at, what in ((-8, "checksum"), (-1, "size")):
                with self.subTest(packets=count, wrong=what):
                    wrong = bytearray(octets)
                    wrong[at] ^= 0x55
                    for arguments in ([], ["--json"]):
                        done = asrpdump.run("-r", self.write(wrong, "file.pcap.gz"), *arguments)
                        self.fails(done, "file.pcap.gz", "compressed data", f"packet {count}", lines=count)

    def test_what_is_no_capture(self):
        for name, octets, said in (("empty", b"", "is empty"), ("short", b"\xd4\xc3\xb2\xa1\2", "truncated"), ("gz", gzip.compress(b""), "truncated"),
                                   ("text", b"GET / HTTP/1.0\r\n" * 20, "unknown file format")):
            with self.subTest(name):
                self.fails(asrpdump.run("-r", self.write(octets, name)), name, said, lines=0)
        for magic, name in ((b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ\0", "xz"), (b"BZh91", "bzip2"), (b"\x04\x22\x4d\x18", "lz4")):
            self.fails(asrpdump.run("-r", self.write(magic + bytes(99))), f"compressed with {name}", lines=0)
        self.fails(asrpdump.run("-r", self.directory), str(self.directory), "directory", lines=0)
        self.fails(asrpdump.run("-r", self.directory / "missing"), "missing", "No such file", lines=0)
        self.fails(asrpdump.run("-r", "/dev/null"), "/dev/null", "is empty", lines=0)
        self.fails(asrpdump.run("-r", "-"), "standard input", lines=0)

    def test_file_without_packets(self):
        done = asrpdump.run("-r", self.write(files.pcap([], 1)))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_names(self):
        octets = self.capture.octets()
        for name in ("-r.pcap", "-c", "with a space", "--json", "caf\u00e9"):
            with self.subTest(name):
                self.write(octets, name)
                for arguments in (["-r", name], ["--read", name], ["./" + name], ["--", name]):
                    done = asrpdump.run(*arguments, cwd=self.directory)
                    self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 40), (arguments, done.stderr))

    def several_interfaces(self, first, second, wraps=("ethernet", "ethernet"), order="<", more=()):
        """A pcapng with another interface behind its 12th packet, and packets of both; `more` are those of the first one's end."""
        frames = [[files.Frame(f.time, links.LINKS[wrap][1](f.octets[14:])) for f in self.capture.frames] for wrap in wraps]
        parts = [files.section(order), files.interface(order, *first)]
        parts += [files.enhanced(order, f) for f in frames[0][:12]] + list(more)
        parts.append(files.interface(order, *second))
        parts += [files.enhanced(order, f, number=1) for f in frames[1][12:20]]
        return self.write(b"".join(parts), "two.pcapng")

    def test_several_link_types_in_one_file(self):
        for arguments in ([], ["--json"]):
            done = asrpdump.run("-r", self.several_interfaces((1,), (276,), ("ethernet", "sll2")), *arguments)
            self.fails(done, "two.pcapng", "packet 12", "EN10MB", "LINUX_SLL2", "several link types", lines=12)
        done = asrpdump.run("-r", self.several_interfaces((1,), (101,), ("ethernet", "raw-101")))
        self.fails(done, "two.pcapng", "packet 12", "EN10MB", "RAW", "several link types", lines=12)

    def test_interfaces_alike_in_one_file(self):
        for link, wrap in ((1, "ethernet"), (101, "raw-101"), (12, "raw-12"), (276, "sll2"), (113, "sll"), (9, "ppp"), (0, "null-little")):
            for order in "<>":
                with self.subTest(link=link, order=order):
                    done = asrpdump.run("-r", self.several_interfaces((link,), (link,), (wrap, wrap), order))
                    self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 20), done.stderr)

    def test_several_snapshot_lengths_in_one_file(self):
        for first in (0, 128, 300, 65535, 262144, 300000):
            for second in (0, 128, 65535, 262144, 524288):
                with self.subTest(first=first, second=second):
                    done = asrpdump.run("-r", self.several_interfaces((1, False, first), (1, False, second)))
                    self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 20), done.stderr)

    def test_packets_without_a_length_of_their_own(self):
        case = next(case for case in WHOLE if case.facts["carriage"] == "standalone" and case.facts["type"] == "RS")
        frame = generate.capture("one", "ethernet", "micro-le", [case]).frames[0]
        size = len(frame.octets)
        for length, kept, claim in ((0, size, "message"), (size, size, "message"), (size + 1, size, "message"), (size - 1, size - 1, "cut"),
                                    (size - 6, size - 6, "cut")):
            with self.subTest(snapshot_length=length):
                block = files.simple("<", files.Frame(0, frame.octets[:kept], size))
                done = asrpdump.run("-r", self.several_interfaces((1, False, length), (1,), more=[block]), "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                claims = [claim for _, _, claim in asrpdump.objects(done.stdout)]
                self.assertEqual(claims, ["message"] * 12 + [claim] + ["message"] * 8)

    def test_unknown_link_type(self):
        done = asrpdump.run("-r", self.write(files.pcap(self.capture.frames, 147)))
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertIn(b"link type", done.stderr)
        self.assertIn(b"40 not decoded", done.stderr)

    # --- output ----------------------------------------------------------------------------------------------------------

    def test_broken_pipe(self):
        path = self.write(small_capture(count=300).octets())
        for arguments in ([], ["--json"], ["-v", "-x"], ["-l"], ["-w", "-"]):
            with self.subTest(arguments):
                read, write = os.pipe()
                os.close(read)
                with subprocess.Popen([asrpdump.PROGRAM, "-r", path, *arguments], stdout=write, stderr=subprocess.PIPE) as process:
                    os.close(write)
                    message = process.stderr.read().decode()
                    status = process.wait(20)
                self.assertEqual(status, 1, message)  # no signal, no silence
                self.assertRegex(message, r"standard output: Broken pipe, at packet \d+\n")
                self.assertLessEqual(len(message.splitlines()), 2)

    def test_reader_that_has_enough(self):
        path = self.write(small_capture(count=300).octets())
        command = f"'{asrpdump.PROGRAM}' -r '{path}' -l 2>/dev/null | head -n 3"
        done = subprocess.run(["sh", "-c", command], capture_output=True, check=False, timeout=20)
        self.assertEqual(len(done.stdout.splitlines()), 3)

    def test_full_disk(self):
        path = self.write(small_capture(count=300).octets())
        self.fails(asrpdump.run("-r", path, "-w", "/dev/full"), "/dev/full", "No space", "packet")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([asrpdump.PROGRAM, "-r", path], stdout=full, stderr=subprocess.PIPE, check=False, timeout=20)
            report = subprocess.run([asrpdump.PROGRAM, "-r", path, "--stats"], stdout=full, stderr=subprocess.PIPE, check=False, timeout=20)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard output: No space left on device, at packet 300\n", done.stderr)
        self.assertIn(b"standard output: No space left on device\n", report.stderr)  # a report is of the whole capture
        self.fails(asrpdump.run("-r", path, "-U", "-w", "/dev/full"), "/dev/full: No space left on device, at packet 1\n")

    def test_place_that_cannot_be_written_to(self):
        self.fails(asrpdump.run("-r", self.write(self.capture.octets()), "-w", self.directory / "no" / "file"), "No such file", lines=0)

    def messages_of(self, path):
        done = asrpdump.run("-r", path, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [(facts, claim) for _, facts, claim in asrpdump.objects(done.stdout)]

    def test_datagrams_that_are_not_asrp_are_counted_apart(self):
        messages = WHOLE[:12]
        others = [c for c in generate.damaged_cases() if c.claim == "not-asrp"][:6]
        path = self.write(generate.capture("mixed", "ethernet", "micro-le", others[:3] + messages + others[3:]).octets())
        lines = asrpdump.run("-r", path).stdout.decode().splitlines()
        self.assertEqual([line.count("not ASRP?") for line in lines], [1] * 3 + [0] * 12 + [1] * 3)
        lines = asrpdump.run("-r", path, "-c", 5).stdout.decode().splitlines()
        self.assertEqual([line.count("not ASRP?") for line in lines], [1] * 3 + [0] * 5)
        for more, count in ((), 12), (("-c", 5), 5):
            kept = self.directory / "kept.pcap"
            self.assertEqual(asrpdump.run("-r", path, "-w", kept, *more).returncode, 0)
            self.assertEqual([claim for _, claim in self.messages_of(kept)], ["message"] * count)

    def test_what_can_only_be_meant_as_a_capture(self):
        path = self.write(self.capture.octets())
        for word, hint in ((path, b"is a file, but one capture is read at a time"), ("-", b"- is standard input, but one capture is read")):
            done = asrpdump.run("-r", path, word)
            self.assertEqual(done.returncode, 2)
            self.assertIn(hint, done.stderr)

    def test_list_of_interfaces(self):
        done = asrpdump.run("-D")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"lo", done.stdout)

    def test_interface_that_is_not_there(self):
        self.fails(asrpdump.run("-i", "no-such-if"), "no-such-if", lines=0)


class Growing(unittest.TestCase):
    """A pipe that is written slowly: what has come is shown at once, not when the pipe closes."""

    def test_lines_of_a_slow_pipe(self):
        capture = small_capture(count=6)
        octets, begin = capture.octets(), len(small_capture(count=3).octets())
        with subprocess.Popen([asrpdump.PROGRAM, "-r", "-", "-l"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdin.write(octets[:begin])
            process.stdin.flush()
            lines = [process.stdout.readline() for _ in range(3)]  # would wait for ever
            self.assertTrue(all(lines))
            process.stdin.write(octets[begin:])
            process.stdin.close()
            self.assertEqual(len(process.stdout.read().splitlines()), 3)
            self.assertEqual(process.wait(20), 0)


if __name__ == "__main__":
    unittest.main()
