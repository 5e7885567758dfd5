# SPDX-License-Identifier: BSD-3-Clause
# limit: 120
# cases: interfaces privileges rotation
"""asrpdump on live interfaces: what its own filter takes, with tags and on the pseudo interface of all; what it says at the end."""

from __future__ import annotations

import glob
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from typing import Any, Iterator

import support
from lab.netns import Namespace
from lab.waiting import wait_for
from scenarios.base import Options

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dump"))
import generate  # noqa: E402

_NAME = f"asrp-dump-{os.getpid()}"  # its cases may run at the same time
_MACS = bytes.fromhex("ffffffffffff020000000001")
_TAGS = {"untagged": b"", "tagged": bytes.fromhex("81000005"), "tagged twice": bytes.fromhex("88a8000681000005")}


class Wire:
    """Two interfaces of one namespace, wired to each other: frames go into `left`, asrpdump sits at `right`."""

    def __init__(self, options: Options) -> None:
        self.program = os.path.join(options.programs, "tools/asrpdump/asrpdump")
        self.space = Namespace(_NAME)
        self.output = tempfile.TemporaryFile("a+")  # what asrpdump prints, always at the end

    def __enter__(self) -> Wire:
        self.space.remove()  # what an interrupted test has left
        self.space.create()
        self.space.ip("link add name left type veth peer name right", "link set left up", "link set right up")
        return self

    def __exit__(self, *_: object) -> None:
        self.space.remove()

    def dump(self, *arguments: str) -> "subprocess.Popen[Any]":
        program: "subprocess.Popen[Any]" = self.space.start(self.program, *arguments, stdout=self.output, stderr=subprocess.PIPE, text=True)
        assert "listening on" in program.stderr.readline()
        return program

    def lines(self) -> list[str]:
        """Those that are out by now, each a whole one."""
        self.output.seek(0)
        return [line for line in self.output.readlines() if line.endswith("\n")]

    def send(self, frames: list[bytes]) -> None:
        with self.space.entered():
            link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        with link:
            link.bind(("left", 0))
            for frame in frames:
                link.send(frame)


def messages() -> Iterator[tuple[bytes, dict[str, Any]]]:
    """(packet, what is in it): each carriage, both families, in one piece."""
    seen = set()
    for case in generate.valid_cases():
        carriage, _, _, family, form = case.name.split()
        if form == "plain" and (carriage, family) not in seen:
            seen.add((carriage, family))
            yield case.packets[0], case.facts


def ethernet(packet: bytes, tags: bytes) -> bytes:
    return _MACS + tags + (b"\x08\0" if packet[0] >> 4 == 4 else b"\x86\xdd") + packet


def plain() -> bytes:
    ends = generate.ENDS[4]
    return generate.ip(*ends, 17, generate.udp(*ends, 1, 2, b"nothing"))


def end(program: "subprocess.Popen[Any]") -> str:
    """What it says at its end."""
    program.send_signal(signal.SIGINT)
    said: str = program.communicate(timeout=30)[1]
    return said


def interfaces(options: Options, expect: support.Expectations) -> None:
    wanted = list(messages())
    for interface in ("right", "any"):
        for name, tags in _TAGS.items():
            with Wire(options) as wire:
                program = wire.dump("-i", interface, "--json")
                wire.send([ethernet(p, tags) for packet, _ in wanted for p in (packet, plain())])
                wait_for("lines", lambda: len(wire.lines()) >= len(wanted))
                said = end(program)
                found = [json.loads(line) for line in wire.lines()]
                missing = [f for _, f in wanted if not any(all(o.get(k) == v for k, v in f.items()) for o in found)]
                where = f"{interface}, {name}"
                expect.none_of(map(str, missing), f"{where}: {len(wanted)} messages are shown while the capture goes on")
                expect.that(program.returncode == 0, f"{where}: a signal is a proper end")
                expect.that("0 packets dropped by kernel" in said, f"{where}: the kernel's counts are told")
                read = int(said.split()[0])  # "N packets read, ..."
                if tags == b"":  # on `any` a frame is seen where it leaves and where it comes in
                    expect.that(read <= 2 * len(wanted) + 10, f"{where}: what can't hold ASRP isn't taken ({read} packets read)")


def privileges(options: Options, expect: support.Expectations) -> None:
    with Wire(options) as wire:
        program = wire.dump("-i", "right", "-Z", "nobody")
        with open(f"/proc/{program.pid}/status", encoding="utf-8") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        expect.that("0" not in status["Uid"].split() + status["Gid"].split(), "-Z leaves root's user and group")
        expect.that(int(status["CapEff"], 16) == 0, "-Z leaves no capability")
        end(program)
        listing = wire.space.run(wire.program, "-D")
        expect.that("right [" in listing and "any" in listing, "-D lists the interfaces")
        refused = wire.space.run(wire.program, "-i", "none", check=False)
        expect.that(refused == "", "an interface that isn't there gives no output")


def rotation(options: Options, expect: support.Expectations) -> None:
    wanted = [packet for packet, _ in messages()]
    with Wire(options) as wire, tempfile.TemporaryDirectory() as directory:
        program = wire.dump("-i", "right", "-w", os.path.join(directory, "x-%s"), "-G", "1", "-W", "2", "-U")
        # Each second of capture time has a file of its own; a packet in the third ends the program.
        while program.poll() is None:
            wire.send([ethernet(packet, b"") for packet in wanted])
            try:
                program.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
        names = glob.glob(os.path.join(directory, "x-*"))
        expect.that(len(names) == 2, f"two files: {sorted(map(os.path.basename, names))}")
        for name in names:
            lines = wire.space.run(wire.program, "-r", name, "-q").splitlines()
            expect.that(len(lines) >= len(wanted), f"{os.path.basename(name)} holds {len(lines)} messages")


if __name__ == "__main__":
    support.main({"interfaces": interfaces, "privileges": privileges, "rotation": rotation})
