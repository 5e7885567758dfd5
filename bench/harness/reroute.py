# SPDX-License-Identifier: BSD-3-Clause
"""The death of a node whose routes BIRD announces: when the routers' routes leave it out, and when each flow is answered again."""
from __future__ import annotations

import re
import selectors
import socket
import statistics
import subprocess
import threading
import time
from datetime import datetime
from typing import Any, Callable, cast

from lab import plan
from lab.balancer import Member, Service
from lab.routing import Routing
from lab.claim import Claim
from lab.cluster import Cluster
from lab.configuration import node_socket
from lab.netns import Namespace
from lab.topology import Shape, Topology
from lab.waiting import wait_for
from traffic.datagrams import start_udp_server

_FLOWS = 40
_EVERY = 0.01  # seconds between two datagrams of a flow
_BEFORE = 1.0
_LIMIT = 10.0
_NODES = 3
_DEAD = 2
_STAMP = re.compile(r"\[(\d{4}-\d\d-\d\dT[0-9:.]+)\] (.*)")


class Monitor:
    """`ip monitor route` in a router, with the kernel's own times."""

    def __init__(self, router: Namespace, family: int, target: str) -> None:
        self._target = target
        self._lines: list[tuple[float, str]] = []
        self._process = router.start("ip", "-ts", "-o", f"-{family}", "monitor", "route", stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in cast(Any, self._process.stdout):
            if match := _STAMP.match(line):
                self._lines.append((datetime.fromisoformat(match[1]).timestamp(), match[2]))

    def left_out(self, device: str, since: float) -> float:
        """When the target first had a route without the device. A route that is replaced shows first as deleted, in IPv6."""
        def found() -> float | None:
            for at, text in list(self._lines):
                if at >= since and text.startswith(self._target) and not re.search(rf"dev {device}\b", text):
                    return at
            return None

        return wait_for(f"a route to {self._target} without {device}", found, limit=_LIMIT)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


class Flows:
    """UDP flows of one client, each with a datagram every 10 ms that says when it was sent; for each flow its answers, as pairs of that
    time and of the answer's."""

    def __init__(self, client: Namespace, address: str, family: int) -> None:
        self.answers: list[list[tuple[float, float]]] = [[] for _ in range(_FLOWS)]
        self._selector = selectors.DefaultSelector()
        self._sockets = []
        self._stopped = False
        with client.entered():
            for number in range(_FLOWS):
                one = socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, socket.SOCK_DGRAM)
                one.setblocking(False)
                one.connect((address, plan.UDP_FLOW_PORT))
                self._sockets.append(one)
                self._selector.register(one, selectors.EVENT_READ, number)
        self.ports = [one.getsockname()[1] for one in self._sockets]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        begun = time.time()
        due = [begun + _EVERY * number / _FLOWS for number in range(_FLOWS)]
        while not self._stopped:
            now = time.time()
            for number, at in enumerate(due):
                if at <= now:
                    due[number] = max(at + _EVERY, now)
                    try:
                        self._sockets[number].send(repr(now).encode())
                    except OSError:
                        pass  # an ICMP error about an earlier one
            for key, _ in self._selector.select(max(0.0, min(due) - time.time())):
                try:
                    sent = float(self._sockets[key.data].recv(64).split()[1])
                    self.answers[key.data].append((sent, time.time()))
                except OSError:
                    pass

    def close(self) -> None:
        self._stopped = True
        self._thread.join()
        for one in self._sockets:
            one.close()
        self._selector.close()


def silent(node: Namespace, family: int) -> None:
    """The node dies behind a switch: the links stay up, nothing comes and nothing goes."""
    program = "iptables-restore" if family == 4 else "ip6tables-restore"
    node.run(program, "--noflush", stdin="*raw\n-I PREROUTING -j DROP\n-I OUTPUT -j DROP\nCOMMIT\n")


def unplugged(node: Namespace, _family: int) -> None:
    """The routers see their links to it go down."""
    node.ip("link set toedge down", "link set tocore down")


DEATHS: dict[str, Callable[[Namespace, int], None]] = {"links go down": unplugged, "silent behind live links": silent}


def _round(claim: Claim, programs: str, family: int, die: Callable[[Namespace, int], None]) -> dict[str, float]:
    topology = Topology(claim, Shape(clients=1, nodes=_NODES, servers=2, paths="ecmp"))
    topology.build()
    cluster = Cluster(topology, [Service("flow", plan.UDP_FLOW_PORT, "udp")], [Member(1), Member(2)], claim.directory, programs)
    cluster.start_holders()
    for number in topology.nodes:
        cluster.start_node(number)
    for number, server in topology.servers.items():
        start_udp_server(server, plan.UDP_FLOW_PORT, f"server{number}")
    check = f"{cluster.program('asrpctl')} --socket {node_socket(0, claim.directory).replace('node0', 'node{number}')} ready"
    routing = Routing(topology, claim.directory, check)
    routing.start()
    for number in topology.nodes:
        routing.follow(number)
    routing.wait_for(set(topology.nodes), (family,))
    monitors = [Monitor(topology.edge, family, plan.service(family)), Monitor(topology.core, family, plan.all_clients(family))]
    flows = Flows(topology.clients[1], plan.service(family), family)
    try:
        wait_for("answers on all flows", lambda: all(flows.answers), limit=30)
        time.sleep(_BEFORE)
        table = topology.nodes[_DEAD].run("conntrack", "-L", "-p", "udp", "-f", f"ipv{family}")
        hit = [number for number, port in enumerate(flows.ports) if re.search(rf"\bsport={port}\b", table)]
        begun = time.time()
        die(topology.nodes[_DEAD], family)
        dead = time.time()  # since when exactly is not to be seen: all times count from before the command
        topology.nodes[_DEAD].kill_all()
        routed = max(monitor.left_out(f"node{_DEAD}", begun) for monitor in monitors)
        wait_for("answers on all flows after it", lambda: all(each[-1][0] > max(routed, dead) for each in flows.answers), limit=_LIMIT)
    finally:
        flows.close()
        for monitor in monitors:
            monitor.close()
    # What was sent when the node was certainly dead and is answered found another node in either direction.
    back = [next(at for sent, at in flows.answers[number] if sent > dead) for number in hit]
    return {"flows_hit": len(hit), "routing_ms": 1000 * (routed - begun), "first_answer_ms": 1000 * (min(back) - begun),
            "last_answer_ms": 1000 * (max(back) - begun), "ours_ms": 1000 * (max(back) - routed)}


def run(programs: str, rounds: int, families: list[int], note: Callable[[str], None]) -> dict[str, Any]:
    """Each round has a laboratory of its own."""
    results = []
    for family in families:
        for name, die in DEATHS.items():
            found: list[dict[str, float]] = []
            for number in range(rounds):
                claim = Claim()
                try:
                    found.append(_round(claim, programs, family, die))
                finally:
                    claim.release()
                note(f"IPv{family}, {name}, round {number + 1}: " + ", ".join(f"{key} {value:.0f}" for key, value in found[-1].items()))
            summary: dict[str, Any] = {"family": family, "death": name, "rounds": found}
            for key in found[0]:
                values = sorted(one[key] for one in found)
                summary[key] = {"p50": round(statistics.median(values), 1), "max": round(values[-1], 1)}
            results.append(summary)
    return {"bench": "reroute", "flows": _FLOWS, "results": results,
            "ok": all(one["last_answer_ms"]["max"] < 1000 for one in results)}
