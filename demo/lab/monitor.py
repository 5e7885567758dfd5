# SPDX-License-Identifier: BSD-3-Clause
"""What can be watched while a scenario runs: sessions per node, octets that reached the clients, messages as they pass the
holders' router."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import IO, Any, Optional, cast

from lab import plan
from lab.capture import read_pcap
from lab.netns import Namespace
from lab.packet import parse
from lab.topology import Topology

_ENDED = ("TIME_WAIT", "CLOSE", "LAST_ACK", "FIN_WAIT")


def sessions_on(node: Namespace, address: str, family: int, port: Optional[int] = None) -> int:
    """Sessions of an address of the cluster as a whole, or of its `port`, in the node's conntrack table that have not ended; 0 if the
    node is gone."""
    if not os.path.exists(node.path):
        return 0
    listed = node.run("conntrack", "-L", "-f", f"ipv{family}", check=False)
    end = "" if port is None else f" dport={port} "
    return sum(f"={address} " in line and end in line and not any(word in line for word in _ENDED) for line in listed.splitlines())


@dataclass
class Exchange:
    """A standalone message on its way."""

    time: float
    type: str
    sender: str
    receiver: str
    flow: str


@dataclass
class Sample:
    """What happened in one period."""

    time: float
    clients: dict[int, float]  # octets a second that reached each client
    sessions: dict[int, int]  # at each node


@dataclass
class Watched:
    """The latest samples; written by the monitor, read by a display."""

    started: float = field(default_factory=time.time)
    sessions: dict[int, int] = field(default_factory=dict)
    throughput: deque[float] = field(default_factory=lambda: deque(maxlen=4096))  # octets a second, one value a period
    history: list[Sample] = field(default_factory=list)  # the whole run
    messages: Counter[str] = field(default_factory=Counter)  # standalone ones, without probes of holders
    exchanges: deque[Exchange] = field(default_factory=lambda: deque(maxlen=64))


class Monitor:
    """Samples in threads of its own from start() to stop()."""

    def __init__(self, topology: Topology, family: int, period: float = 0.25) -> None:
        self.topology = topology
        self.family = family
        self.period = period
        self.watched = Watched()
        self._stop = threading.Event()
        self._feed: Optional[subprocess.Popen[Any]] = None
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        self._feed = self.topology.holders_router.start(
            "tcpdump", "-i", "any", "-y", "LINUX_SLL2", "-Q", "in", "-n", "-U", "-Z", "root", "--nano", "--immediate-mode", "-w", "-",
            f"udp dst port {plan.ASRP_PORT}", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for work in (self._sample, self._listen):
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        self._stop.set()
        if self._feed is not None:
            self._feed.terminate()
            self._feed.wait(timeout=30)
        for thread in self._threads:
            thread.join(timeout=10)

    def _sample(self) -> None:
        before, last = self._octets_to_clients(), time.monotonic()
        shared = self.topology.shape.ground.shared_address(self.family)
        while not self._stop.wait(self.period):
            octets, now = self._octets_to_clients(), time.monotonic()
            rates = {n: max(0, count - before.get(n, 0)) / (now - last) for n, count in octets.items()}
            self.watched.throughput.append(sum(rates.values()))
            before, last, moment = octets, now, time.time()
            self.watched.sessions = {n: sessions_on(node, shared, self.family) for n, node in list(self.topology.nodes.items())}
            self.watched.history.append(Sample(moment, rates, self.watched.sessions))

    def _octets_to_clients(self) -> dict[int, int]:
        sent = {}
        for line in self.topology.edge.read("/proc/thread-self/net/dev").splitlines():
            device, _, rest = line.partition(":")
            if device.strip().startswith("client"):
                sent[int(device.strip()[len("client"):])] = int(rest.split()[8])
        return sent

    def _listen(self) -> None:
        pipe = cast(IO[bytes], cast("subprocess.Popen[Any]", self._feed).stdout)
        for moment, octets in read_pcap(pipe):
            packet = parse(octets[20:])
            if packet is None or packet.message is None:
                continue
            found = packet.message
            flow = found.st1
            if found.is_probe:
                continue
            self.watched.messages[found.type] += 1
            self.watched.exchanges.append(Exchange(
                moment, found.type, _role(packet.src), _role(packet.dst),
                f"{flow.src}:{flow.sport} > {flow.dst}:{flow.dport}" if flow else ""))


def _role(address: str) -> str:
    for role, name in (("server", "server"), ("down", "node"), ("up", "node"), ("client", "client"), ("staff", "client")):
        number = plan.role_number(address, role)
        if number:
            return f"{name}{number}"
    return address
