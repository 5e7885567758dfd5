# SPDX-License-Identifier: BSD-3-Clause
"""Routes by routing daemons instead of by hand: the configurations of packaging/examples, adapted to the laboratory's numbers, on edge,
core and all nodes; each node announces itself while asrp-announce finds it ready."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from subprocess import DEVNULL
from typing import Any

from lab import plan
from lab.netns import Namespace
from lab.topology import Topology
from lab.waiting import wait_for

EXAMPLES = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging", "examples"))
_PAIR = "# One pair for each node.\n"


def example(name: str) -> str:
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as file:
        return file.read()


def for_node(text: str, number: int) -> str:
    """An example for node 1 as one for another node."""
    for role in ("up", "down"):
        for family in (4, 6):
            for there, here in zip(plan.link(role, 1, family)[:2], plan.link(role, number, family)[:2]):
                text = re.sub(rf"(?<![0-9a-f.:]){re.escape(there)}(?![0-9a-f.:])", f"@{here}@", text)
    return text.replace("@", "")


def for_router(text: str, role: str, numbers: list[int]) -> str:
    """The example of the edge router, which has node 1, as that of a router of this role with these nodes."""
    head, pair = text.split(_PAIR)
    if role == "down":
        head = head.replace(plan.link("up", 1, 4)[0], plan.link("down", 1, 4)[0])
    pairs = []
    for number in numbers:
        one = pair.replace("node1v", f"node{number}v")
        for family in (4, 6):
            one = one.replace(plan.link("up", 1, family)[1], plan.link(role, number, family)[1])
        pairs.append(one)
    return head + "".join(pairs)


class Bird:
    """One BIRD in a namespace."""

    def __init__(self, space: Namespace, directory: str, text: str) -> None:
        self.space = space
        self.socket = os.path.join(directory, f"{space.name}.bird")
        self._path = f"{self.socket}.conf"
        self._log = f"{self.socket}.log"
        with open(self._path, "w", encoding="utf-8") as file:
            file.write(text)

    def start(self) -> None:
        with open(self._log, "a", encoding="utf-8") as log:
            self.space.start("bird", "-f", "-c", self._path, "-s", self.socket, "-P", f"{self.socket}.pid", stdout=log, stderr=log)
        wait_for(f"BIRD in {self.space.name}", lambda: "Daemon is up" in self.ask("show", "status"), limit=30)

    def ask(self, *words: str) -> str:
        return subprocess.run(["birdc", "-s", self.socket, *words], capture_output=True, text=True, check=False).stdout

    def log(self) -> str:
        with open(self._log, encoding="utf-8", errors="replace") as file:
            return file.read()


    def enable(self, on: bool) -> str:
        """The command of packaging/examples/bird/asrp-announce.service that announces, or no longer."""
        return f"birdc -s {self.socket} {'enable' if on else 'disable'} '\"asrp*\"'"


class Frr:
    """FRR in a namespace, with sockets of its own in /run/frr."""

    _DAEMONS = ("zebra", "bfdd", "bgpd")

    def __init__(self, space: Namespace, directory: str, text: str) -> None:
        self.space = space
        self.sockets = f"/run/frr/{space.name}"
        self._path = os.path.join(directory, f"{space.name}.frr.conf")
        self._log = f"{self._path}.log"
        with open(self._path, "w", encoding="utf-8") as file:
            file.write(text)

    def start(self) -> None:
        for place in ("/run/frr", self.sockets):
            os.makedirs(place, exist_ok=True)
            shutil.chown(place, "frr", "frr")
        for name in self._DAEMONS:
            with open(self._log, "a", encoding="utf-8") as log:
                self.space.start(f"/usr/lib/frr/{name}", "-N", self.space.name, "-f", "/dev/null", "-P", "0", stdout=log, stderr=log)
            wait_for(f"{name} in {self.space.name}", lambda n=name: os.path.exists(f"{self.sockets}/{n}.vty"), limit=30)  # type: ignore[misc]
        done = subprocess.run(["vtysh", "-N", self.space.name, "-f", self._path], capture_output=True, text=True, check=False)
        wrong = [line for line in (done.stdout + done.stderr).splitlines() if line and "vtysh.conf" not in line]
        if done.returncode != 0 or wrong:
            raise RuntimeError(f"vtysh: {wrong}")

    def enable(self, on: bool) -> str:
        """The command of packaging/examples/frr/asrp-announce.service that announces, or no longer."""
        lines = ("configure terminal", "router bgp 64512", f"{'no ' if on else ''}neighbor routers shutdown")
        return f"vtysh -N {self.space.name} " + " ".join(f"-c '{line}'" for line in lines)

    def log(self) -> str:
        with open(self._log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def remove(self) -> None:
        """What is left of it on the disk."""
        shutil.rmtree(self.sockets, ignore_errors=True)


class Routing:
    """BIRD on both routers, BIRD or FRR on the nodes."""

    def __init__(self, topology: Topology, directory: str, check: str, on_nodes: type[Bird] | type[Frr] = Bird) -> None:
        """`check`: the command that tells whether node {number} is ready."""
        numbers = sorted(topology.nodes)
        router = example("bird/router.conf")
        self.topology = topology
        self.check = check
        self.edge = Bird(topology.edge, directory, for_router(router, "up", numbers))
        self.core = Bird(topology.core, directory, for_router(router, "down", numbers))
        node = example("bird/node.conf" if on_nodes is Bird else "frr/frr.conf")
        self.nodes = {n: on_nodes(topology.nodes[n], directory, for_node(node, n)) for n in numbers}
        self.followers: dict[int, subprocess.Popen[Any]] = {}

    def start(self) -> None:
        for each in (self.edge, self.core, *self.nodes.values()):
            each.start()

    def follow(self, number: int) -> None:
        """asrp-announce on a node."""
        node = self.nodes[number]
        self.followers[number] = self.topology.nodes[number].start(
            os.path.join(EXAMPLES, "asrp-announce"), "--interval", "0.2", "--check", self.check.format(number=number),
            "--up", node.enable(True), "--down", node.enable(False), stdout=DEVNULL, stderr=DEVNULL)

    def routed(self, router: Namespace, family: int = 4) -> set[int]:
        """The nodes that a router's kernel sends packets to: by the service's route in edge, by the clients' in core."""
        target = plan.service(family) if router is self.topology.edge else plan.all_clients(family)
        found = router.run("ip", f"-{family}", "route", "show", target)
        return {int(number) for number in re.findall(r"dev node(\d+)(?! linkdown| dead)", found)}

    def wait_for(self, numbers: set[int], families: tuple[int, ...] = (4, 6), limit: float = 60) -> None:
        """Until both routers use exactly these nodes."""
        for router in (self.topology.edge, self.topology.core):
            for family in families:
                wait_for(f"{router.name} to use nodes {numbers}", lambda r=router, f=family: self.routed(r, f) == numbers,  # type: ignore[misc]
                         limit=limit, every=0.05)
