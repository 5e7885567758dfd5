# SPDX-License-Identifier: BSD-3-Clause
"""Captures at the two routers, which see every link, and a reader of their files."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import time
from dataclasses import dataclass
from typing import IO, Iterator, Optional

from lab.packet import Packet, parse
from lab.topology import Topology
from lab.waiting import wait_for

# Octets of each packet. The kernel gives every packet of a capture that much room, so more than packets have costs packets.
WHOLE = 2048
_SLL2 = 276
_MAGIC_MICRO, _MAGIC_NANO = 0xA1B2C3D4, 0xA1B23C4D


@dataclass(slots=True)
class Record:
    """A packet as a router saw it on one of its links."""

    time: float
    router: str  # edge or core
    link: str  # client1, node2, server3
    arriving: bool  # at the router; else leaving it
    packet: Packet

    @property
    def node(self) -> int:
        """Number of the node at the other end of the link, 0 if it is no node."""
        return int(self.link[4:]) if self.link.startswith("node") else 0


class Capture:
    """tcpdump on all links of both routers, from start() to stop()."""

    def __init__(self, topology: Topology, directory: str, snapshot: int = WHOLE, expression: str = "ip or ip6") -> None:
        self.topology = topology
        self.paths = {name: os.path.join(directory, f"{name}.pcap") for name in ("edge", "core")}
        self.dropped = 0
        self._end = float("inf")
        self._snapshot = snapshot
        self._expression = expression
        self._processes: dict[str, subprocess.Popen[str]] = {}

    def start(self) -> None:
        for name, space in (("edge", self.topology.edge), ("core", self.topology.core)):
            argv = ["tcpdump", "-i", "any", "-y", "LINUX_SLL2", "-n", "-B", "65536", "-s", str(self._snapshot), "-Z", "root",
                    "--nano", "--immediate-mode", "-U", "-w", self.paths[name], self._expression]
            log = open(self.paths[name] + ".log", "w", encoding="utf-8")
            self._processes[name] = space.start(*argv, stdout=log, stderr=log, text=True)
            log.close()
        for name in self._processes:
            wait_for(f"tcpdump on {name}", lambda name=name: "listening on" in self._log(name))

    def stop(self) -> None:
        """Ends both when they have written all that was sent before, and reads how many packets they missed. What comes after this
        call began is no part of the capture: one may have it and the other not, as a delayed acknowledgment on its way."""
        self._end = time.time()
        for name in self._processes:
            self._flush(name)
        for process in self._processes.values():
            process.send_signal(signal.SIGINT)
        for name, process in self._processes.items():
            process.wait(timeout=30)
            match = re.search(r"(\d+) packets? dropped by kernel", self._log(name))
            self.dropped += int(match.group(1)) if match else 0
        self._processes.clear()

    def _flush(self, name: str) -> None:
        """Waits until a datagram that is sent now, to the discard port of a neighbour, is in the file."""
        token = os.urandom(16)
        space, neighbour = (
            (self.topology.edge, self.topology.shape.ground.client(1, 4)) if name == "edge"
            else (self.topology.core, self.topology.shape.ground.server(1, 4)))
        with space.entered():
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with sender:
            sender.sendto(token, (neighbour, 9))

        def written() -> bool:
            with open(self.paths[name], "rb") as file:
                file.seek(max(0, os.path.getsize(self.paths[name]) - 65536))
                return token in file.read()

        wait_for(f"the capture at {name} to be complete", written, limit=60)

    def _log(self, name: str) -> str:
        with open(self.paths[name] + ".log", encoding="utf-8") as file:
            return file.read()

    def records(self, router: str) -> Iterator[Record]:
        """TCP and UDP packets in the order of the capture; links that existed are known, loopback is left out."""
        devices = {index: link for (name, index), link in self.topology.devices.items() if name == router}
        with open(self.paths[router], "rb") as file:
            for when, octets in read_pcap(file):
                record = record_of(when, octets, router, devices)
                if record is not None and record.time <= self._end:
                    yield record

    def all_records(self) -> list[Record]:
        """Of both routers, by time."""
        both = [record for router in self.paths for record in self.records(router)]
        both.sort(key=lambda record: record.time)
        return both


def record_of(when: float, octets: bytes, router: str, devices: dict[int, str]) -> Optional[Record]:
    """What a cooked packet is, if it came by a known link."""
    if len(octets) < 20:
        return None
    (index,) = struct.unpack_from("!I", octets, 4)
    link = devices.get(index)
    packet = parse(octets[20:]) if link else None
    if link is None or packet is None:
        return None
    return Record(when, router, link, octets[10] != 4, packet)


def read_pcap(file: IO[bytes]) -> Iterator[tuple[float, bytes]]:
    """Time and octets of each packet of a little-endian pcap of cooked captures; ends at a record that is cut."""
    header = file.read(24)
    if len(header) < 24:
        return
    magic, link_type = struct.unpack_from("<I", header)[0], struct.unpack_from("<I", header, 20)[0]
    if magic not in (_MAGIC_MICRO, _MAGIC_NANO) or link_type != _SLL2:
        raise ValueError(f"not a little-endian pcap of cooked packets: magic {magic:08x}, link type {link_type}")
    scale = 1e-9 if magic == _MAGIC_NANO else 1e-6
    while True:
        head = file.read(16)
        if len(head) < 16:
            return
        seconds, fraction, size, _ = struct.unpack("<IIII", head)
        octets = file.read(size)
        if len(octets) < size:
            return
        yield seconds + fraction * scale, octets
