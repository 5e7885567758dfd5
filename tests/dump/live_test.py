# SPDX-License-Identifier: BSD-3-Clause
"""asrpdump on interfaces, in a network namespace of its own that ends with the test. Needs root; skipped without it."""

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import asrpdump
import files
import generate
import links
from packets import ASRP_PORT, ip, surplus, tcp, tcp_mark, udp, udp_mark

from asrp import TCP, UDP, Message

LOOP = ("127.0.0.1", "127.0.0.2")
PATIENCE = 20  # seconds: what should come at once has come by then, however busy the machine is


def query(cookie):
    return Message("QS", "ST4", cookie=cookie, st1=generate.tuple_of("4")).encode()


def packets(cookie):
    """One packet for each carriage, and some that carry nothing."""
    data = query(cookie)
    yield ip(*LOOP, UDP, udp(*LOOP, 40000, ASRP_PORT, data))
    yield ip(*LOOP, TCP, tcp(*LOOP, 40000, 443, data, options=tcp_mark()))
    yield ip(*LOOP, UDP, udp(*LOOP, 40000, 53, b"ping!", surplus(b"ping!", udp_mark(data))))
    yield ip(*LOOP, UDP, udp(*LOOP, 40000, 53, b"ping!"))
    yield ip(*LOOP, TCP, tcp(*LOOP, 40000, 443, b"data"))


class Live:
    """asrpdump while it captures."""

    def __init__(self, *arguments, ignoring=()):
        command = [asrpdump.PROGRAM, *map(str, arguments)]
        if ignoring:  # as a shell leaves it to its children
            command = ["sh", "-c", f"trap '' {' '.join(ignoring)}; exec \"$@\"", "sh", *command]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.buffer = b""

    def send(self, cookie=1):
        for packet in packets(cookie):
            self.raw.sendto(packet, (LOOP[1], 0))

    def line(self, patience=PATIENCE):
        """The next line, or None if none comes although the program has had the time for it."""
        output = self.process.stdout
        while b"\n" not in self.buffer:
            if not select.select([output], [], [], patience)[0]:
                return None
            piece = os.read(output.fileno(), 65536)
            if not piece:
                return None
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def until_capturing(self):
        """Sends until the first line is there: the program takes a moment to open the interface. Then takes what else came."""
        for _ in range(200):
            self.send(0xFFFFFFFF)
            if self.line(0.2) is not None:
                break
        else:
            raise AssertionError("nothing was captured: " + self.end()[1])
        self.send(0xEEEEEEEE)
        seen = ""
        while seen is not None and not ("eeeeeeee" in seen and "inline-udp" in seen):
            seen = self.line()

    def end(self, number=signal.SIGINT):
        """Status, standard error."""
        self.process.send_signal(number)
        _, message = self.process.communicate(timeout=PATIENCE)
        self.raw.close()
        return self.process.returncode, message.decode()


class Interfaces(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        os.chmod(directory.name, 0o777)
        self.directory = Path(directory.name)

    def test_lines_come_through_a_pipe_at_once(self):
        live = Live("-i", "lo")
        live.until_capturing()
        live.send(0x01020304)
        lines = [live.line() for _ in range(3)]
        for line, carriage in zip(lines, ("standalone", "separate-tcp", "inline-udp"), strict=True):
            self.assertIn("cookie 01020304", line or "")
            self.assertIn(carriage, line)
        status, message = live.end()
        self.assertEqual(status, 0, message)
        self.assertIn("dropped", message)

    def test_signals_that_are_ignored_where_it_is_started(self):
        """A shell without job control makes what runs in the background ignore SIGINT; nohup makes it ignore SIGHUP, and means it."""
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                live = Live("-i", "lo", ignoring=("INT", "TERM", "HUP"))
                self.addCleanup(live.process.kill)
                live.until_capturing()
                live.process.send_signal(signal.SIGHUP)
                live.send(0x0D0E0F00)
                self.assertIn("0d0e0f00", live.line() or "")
                self.assertEqual(live.end(number)[0], 0)

    def test_json_of_any_interface(self):
        live = Live("-i", "any", "--json")
        live.until_capturing()
        live.send(0x0A0B0C0D)
        seen = {}
        while len(seen) < 3:
            line = live.line()
            self.assertIsNotNone(line, seen)
            facts = json.loads(line)
            if facts["cookie"] == "0a0b0c0d":
                seen[facts["carriage"]] = facts
        self.assertEqual(sorted(seen), ["inline-udp", "separate-tcp", "standalone"])
        self.assertEqual({facts["src"] for facts in seen.values()}, {LOOP[0]})
        self.assertEqual(live.end(signal.SIGTERM)[0], 0)

    def test_tags_on_any_interface(self):
        """The kernel takes one tag away, or a part of it: what is behind is found all the same."""
        subprocess.run(["ip", "link", "add", "tag0", "type", "veth", "peer", "name", "tag1"], check=True)
        self.addCleanup(subprocess.run, ["ip", "link", "del", "tag0"], check=True)
        for name in ("tag0", "tag1"):
            subprocess.run(["ip", "link", "set", name, "up"], check=True)
        live = Live("-i", "any", "--json")
        live.until_capturing()
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.addCleanup(raw.close)
        raw.bind(("tag0", 0))
        names = ["ethernet", "vlan", "vlan-priority", "qinq", "qinq-8100", "vxlan-vlan"]
        sent = set()
        for number, name in enumerate(names):
            for end, packet in enumerate(list(packets(0x0A000000 + number))[:3]):
                raw.send(links.LINKS[name][1](packet))
                sent.add((name, end))
        seen = set()
        while seen != sent:
            line = live.line()
            self.assertIsNotNone(line, sent - seen)
            facts = json.loads(line)
            number = int(facts["cookie"], 16) - 0x0A000000
            if 0 <= number < len(names):
                seen.add((names[number], ["standalone", "separate-tcp", "inline-udp"].index(facts["carriage"])))
        self.assertIn("LINUX_SLL2", live.end()[1])

    def test_count_ends_it(self):
        live = Live("-i", "lo", "-c", 1)
        line = None
        for _ in range(200):
            live.send()
            line = live.line(0.2)
            if line is not None:
                break
        self.assertIsNotNone(line)
        self.assertEqual(live.process.wait(PATIENCE), 0)
        self.assertIsNone(live.line(0.2), "one message only")
        live.end()

    def test_written_at_once_as_another_user(self):
        """What -w -U writes is in the file while the capture goes on. The file is made by the user of -Z."""
        path = self.directory / "live.pcap"
        live = Live("-i", "lo", "-U", "-Z", "nobody", "-w", path, "--print")
        live.until_capturing()
        live.send(0x05060708)
        lines = [live.line() for _ in range(3)]
        self.assertTrue(all("05060708" in (line or "") for line in lines), lines)
        frames = [octets for _, octets in files.read(path.read_bytes())]
        self.assertEqual(sum(query(0x05060708) in octets for octets in frames), 3)
        self.assertEqual(path.stat().st_uid, 65534)
        status, message = live.end()
        self.assertEqual(status, 0, message)

    def test_reader_that_leaves(self):
        live = Live("-i", "lo")
        live.until_capturing()
        live.process.stdout.close()
        for _ in range(200):
            live.send()
            try:
                status = live.process.wait(0.1)
                break
            except subprocess.TimeoutExpired:
                continue
        else:
            live.process.kill()
            self.fail("it captures on, although nobody reads")
        self.assertEqual(status, 1)
        live.process.stderr.close()
        live.raw.close()


if __name__ == "__main__":
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        print("needs root and unshare")
        sys.exit(77)
    if os.environ.get("ASRPDUMP_ALONE") != "1":
        environment = dict(os.environ, ASRPDUMP_ALONE="1")
        command = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, "-B", *sys.argv]
        sys.exit(subprocess.run(command, check=False, env=environment).returncode)
    unittest.main()
