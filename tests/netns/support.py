# SPDX-License-Identifier: BSD-3-Clause
"""What the namespace tests share: their command line, expectations that are collected, and a small cluster under load."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import threading
import time
from typing import Callable, Iterable

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "demo"))

from lab.balancer import Member, Service  # noqa: E402
from lab.claim import remove_dead_labs  # noqa: E402
from lab.netns import Namespace  # noqa: E402
from lab.topology import Shape  # noqa: E402
from lab.waiting import wait_for  # noqa: E402
from scenarios.base import Lab, Options  # noqa: E402

SKIPPED = 77
# Seconds that a connection may take to open or to answer. TCP doubles its timer while packets are lost, and a machine may be slow:
# what is waited for comes long before, or never.
PATIENCE = 90


class Expectations:
    """Collects what is wrong instead of ending at the first."""

    def __init__(self) -> None:
        self.failures: list[str] = []

    def that(self, holds: bool, text: str) -> None:
        print(("ok    " if holds else "WRONG ") + text, flush=True)
        if not holds:
            self.failures.append(text)

    def none_of(self, problems: Iterable[str], text: str) -> None:
        found = list(problems)
        self.that(not found, text)
        for problem in found:
            print(f"      {problem}", flush=True)


Case = Callable[[Options, Expectations], None]


def main(cases: dict[str, Case]) -> None:
    """Runs the case that the command line names, or all of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", default="build/release")
    parser.add_argument("case", nargs="*", metavar="CASE", help=", ".join(cases))
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("needs root")
        sys.exit(SKIPPED)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    remove_dead_labs()
    expect = Expectations()
    for name in arguments.case or cases:
        print(f"--- {name}", flush=True)
        begun = time.monotonic()
        cases[name](Options(quiet=True, programs=os.path.abspath(arguments.programs)), expect)
        print(f"--- {name}: {time.monotonic() - begun:.1f} s", flush=True)
    sys.exit(1 if expect.failures else 0)


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def cluster(options: Options, services: list[Service], nodes: int = 2, servers: int = 2, paths: str = "lasthop",
            members: list[Member] | None = None, clients: int = 2) -> Lab:
    """A laboratory with asrp, not yet started."""
    pool = members if members is not None else [Member(n) for n in range(1, servers + 1)]
    return Lab(options, Shape(clients=clients, nodes=nodes, servers=servers, paths=paths), services, pool)


def ended(lab: Lab) -> list[str]:
    """Stops all daemons that run, and tells what was wrong with any of them, also at its end (with sanitizers: what it leaked)."""
    wrong = []
    for daemon in [*lab.cluster.nodes.values(), *lab.cluster.holders.values()]:
        if daemon.running and daemon.stop() != 0:
            wrong.append(f"{daemon.name}: SIGTERM did not end it with status 0: {daemon.tail(5)}")
    return wrong + lab.cluster.problems()


def fast_open_server(space: Namespace, port: int, serve: Callable[[socket.socket], None]) -> None:
    """Each connection to the port gets a thread that calls `serve`, which may end by OSError. SYN may bring data along."""
    with space.entered():
        listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=256)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 256)

    def serve_one(connection: socket.socket) -> None:
        with connection:
            try:
                serve(connection)
            except OSError:
                pass

    def accept() -> None:
        while True:
            threading.Thread(target=serve_one, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def queued(node: Namespace) -> int:
    """How many packets the kernel has queued to programs in this namespace since its queues were opened."""
    lines = node.read("/proc/thread-self/net/netfilter/nfnetlink_queue").splitlines()
    return sum(int(line.split()[7]) for line in lines)


def arrived(lab: Lab) -> int:
    """Packets that the nodes' interfaces have received."""
    lines = [line for node in lab.topology.nodes.values() for line in node.read("/proc/thread-self/net/dev").splitlines()]
    return sum(int(line.split(":")[1].split()[1]) for line in lines if line.strip().startswith(("toedge", "tocore")))


def rules(node: Namespace, family: int) -> str:
    """All iptables rules of a family, without counters and comments."""
    text = node.run("iptables-save" if family == 4 else "ip6tables-save")
    return "\n".join(line for line in text.splitlines() if line.startswith("-A"))


def rules_back(node: Namespace, before: dict[int, str]) -> None:
    """Waits until the rules are as they were."""
    wait_for(f"the rules in {node.name}", lambda: all(rules(node, f) == text for f, text in before.items()), limit=30, every=0.1)
