# SPDX-License-Identifier: BSD-3-Clause
"""What every scenario has: options, a laboratory with a balancer in it, and a result that is written as JSON."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from lab.balancer import Balancer, Member, Service
from lab.capture import WHOLE, Capture
from lab.claim import Claim
from lab.cluster import Cluster
from lab.excerpt import write_excerpt
from lab.gateways import Gateways
from lab.ground import OFFICE
from lab.kernel_nat import KernelNat
from lab.monitor import Monitor, sessions_on
from lab.topology import Shape, Topology
from screen.show import Show


@dataclass
class Options:
    """What the command line can say; a scenario overrides what it does not offer."""

    family: int = 4
    forward: str = "nat"
    loss: float = 0.0
    kill: int = 1
    flush_all: bool = False
    control: bool = False
    kernel_nat: bool = False
    keep: bool = False
    plain: bool = False
    quiet: bool = False
    thorough: bool = False  # whole packets are captured and every check on them is made
    transfers: int = 50
    octets: int = 800_000  # of each transfer
    rate: int = 50_000  # octets a second of each transfer
    idle: int = 6  # long-lived connections of each client
    seconds: float = 0.0  # how long downloads last at their rate (snat); 0: as the scenario has it
    capture: str = ""  # file for a small capture of some sessions
    programs: str = ""  # directory of asrpd-node and asrpd-holder


@dataclass
class Result:
    """The figures of a run; `problems` says in words why `held` is false."""

    scenario: str
    held: bool = False
    sessions: dict[str, int] = field(default_factory=lambda: {"total": 0, "survived": 0})
    transfers: dict[str, int] = field(default_factory=lambda: {"total": 0, "byte_exact": 0})
    recovery_ms: dict[str, float] = field(default_factory=lambda: {"p50": 0.0, "p99": 0.0, "max": 0.0})
    messages: dict[str, int] = field(default_factory=dict)
    duration_s: float = 0.0
    more: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        values: dict[str, Any] = {key: value for key, value in vars(self).items() if key != "more"}
        return values | self.more


class Lab:
    """A laboratory for one scenario. As a context manager it takes everything away, whatever happens; with `keep` it stays."""

    def __init__(self, options: Options, shape: Shape, services: list[Service], members: list[Member],
                 topology: Optional[Topology] = None) -> None:
        """`topology`: one that builds its network in another way; else one of `shape` is made."""
        self.options = options
        self.topology = topology if topology is not None else Topology(Claim(), shape)
        self.claim = self.topology.claim
        self.directory = self.claim.directory
        self.services = services
        self.balancer: Balancer
        if options.kernel_nat:
            self.balancer = KernelNat(self.topology, services, members)
        elif shape.ground is OFFICE:
            self.balancer = Gateways(self.topology, self.directory, options.programs, has_holders=not options.control)
        else:
            self.balancer = Cluster(self.topology, services, members, self.directory, options.programs)
        self.capture = Capture(self.topology, self.directory, WHOLE if options.thorough else 256)
        self.monitor = Monitor(self.topology, options.family)
        self._monitoring = False

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        if self._monitoring:
            self.monitor.stop()
        kept = os.environ.get("ASRP_LAB_KEEP_FILES")
        if kept:
            self._copy_files(os.path.join(kept, str(time.time_ns())))
        self.claim.release(keep=self.options.keep)

    def _copy_files(self, target: str) -> None:
        """Captures, logs and configurations, for a look after the laboratory is gone."""
        os.makedirs(target)
        for entry in os.scandir(self.directory):
            if entry.name.endswith((".pcap", ".log", ".toml")):
                shutil.copy(entry.path, target)
        with open(os.path.join(target, "links.json"), "w", encoding="utf-8") as file:
            json.dump([[router, index, link] for (router, index), link in self.topology.devices.items()], file)

    @property
    def cluster(self) -> Cluster:
        """The balancer, where a scenario is about asrp alone."""
        assert isinstance(self.balancer, Cluster)
        return self.balancer

    @property
    def gateways(self) -> Gateways:
        """The balancer, where a scenario is about an office's gateways."""
        assert isinstance(self.balancer, Gateways)
        return self.balancer

    def sessions_on(self, number: int, port: Optional[int] = None) -> int:
        """What a node carries, by its own table: of all sessions, or of those of a port of the service."""
        family = self.options.family
        return sessions_on(self.topology.nodes[number], self.topology.shape.ground.shared_address(family), family, port)

    def start(self) -> None:
        """Network, all holders, all nodes; then flows are routed over all nodes and captured."""
        self.topology.build()
        self.balancer.start_holders()
        for number in sorted(self.topology.nodes):
            self.balancer.start_node(number)
        self.topology.route_via(sorted(self.topology.nodes))
        self.capture.start()

    def watch(self, show: Show) -> None:
        self.monitor.start()
        self._monitoring = True
        show.started = self.monitor.watched.started
        show.attach(self.monitor)

    def end(self, show: Show) -> None:
        """The traffic is over: display and captures end."""
        show.detach()
        self.monitor.stop()
        self._monitoring = False
        self.capture.stop()
        show.summary(self.monitor)
        if self.options.capture:
            sessions, packets = write_excerpt(self.capture, self.options.capture)
            show.say(f"{packets} packets of {sessions} sessions are in {self.options.capture}", always=True)
        if self.options.keep:
            number = self.claim.number
            show.say(f"the laboratory stays: namespaces asrp{number}-*, files in {self.directory}; the next run removes it. "
                     f"Try: ip netns exec asrp{number}-node1 conntrack -L", always=True)


Scenario = Callable[[Options, Show], Result]
