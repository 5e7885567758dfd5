# SPDX-License-Identifier: BSD-3-Clause
"""Mininet's command line with the demo's own commands. A command that fails says why, and the network stays."""

from __future__ import annotations

import re
import subprocess
import time
from typing import Any, Callable

from mininet.cli import CLI

from lab.ground import OFFICE
from lab.netns import CommandFailed
from lab.waiting import Timeout
from load import Load
from screen.paint import octets
from session import Session


class Prompt(CLI):  # type: ignore[misc]
    """Runs until `exit` or the end of the input."""

    helpStr = (
        "Commands of this demo: kill n2, add [n4], flush n1|all, loss PERCENT, watch [SECONDS], status, counters n1|HOLDER, plot.\n"
        "A host's name and a command run it there: n1 conntrack -L, edge ip route, n1 tcpdump -ni toedge -c5.\n"
        "Hosts: c1.. clients, edge and core routers, n1.. nodes, s1.. servers. Holders run on {holders}.\n")

    def __init__(self, session: Session, load: Load, **options: Any) -> None:
        self.session = session
        self.load = load
        self.prompt = f"{session.name}> "
        self.role = "c" if session.topology.shape.ground is OFFICE else "s"  # of the hosts that have holders
        self.helpStr = self.helpStr.format(holders=f"{self.role}1..")
        super().__init__(session.network, **options)

    def do_kill(self, line: str) -> None:
        """kill n2: the node dies outright: links down, processes and table gone, routes withdrawn."""
        self._try(lambda: self.session.kill(_node(line)))

    def do_add(self, line: str) -> None:
        """add [n4]: a fresh node with an empty table joins; the router moves flows to it."""
        self._try(lambda: self.session.add(_node(line) if line.strip() else 0))

    def do_flush(self, line: str) -> None:
        """flush n1|all: the kernel's session table of the node is emptied."""
        self._try(lambda: self.session.flush_all() if line.strip() == "all" else self.session.flush(_node(line)))

    def do_loss(self, line: str) -> None:
        """loss PERCENT: random loss on every link, each direction; 0 ends it."""
        self._try(lambda: self.session.lose(float(line)))

    def do_watch(self, line: str) -> None:
        """watch [SECONDS]: a line a second until Ctrl-C, or for SECONDS."""

        def watch() -> None:
            end = time.monotonic() + (float(line) if line.strip() else float("inf"))
            while time.monotonic() < end:
                self._show()
                time.sleep(min(1.0, max(0.0, end - time.monotonic())))

        try:
            self._try(watch)
        except KeyboardInterrupt:
            print()

    def do_status(self, _line: str) -> None:
        """status: one such line, and what broke."""
        self._try(self._show)
        for text in self.load.broken[-10:]:
            print("  " + text)

    def do_counters(self, line: str) -> None:
        """counters n1|s1 (with snat: c1): the daemon's own counters that are not 0."""

        def show() -> None:
            cluster = self.session.lab.cluster
            number, daemons = _node(line, "n" + self.role), cluster.holders if line.strip().startswith(self.role) else cluster.nodes
            if number not in daemons or not daemons[number].running:
                raise ValueError(f"no daemon runs on {line.strip()}")
            for name, value in sorted(cluster.counters(daemons[number]).items()):
                if value:
                    print(f"  {value:10}  {name}")

        self._try(show)

    def do_plot(self, _line: str) -> None:
        """plot: writes the plot so far; the end of the program writes it, too."""
        self._try(lambda: print("  " + "\n  ".join(self.session.plot())))

    def _show(self) -> None:
        watched, dead = self.session.lab.monitor.watched, self.session.show.dead
        sessions = watched.sessions
        rates = watched.history[-1].clients if watched.history else {}
        nodes = "  ".join(f"n{n} {dead.get(n) or sessions.get(n, 0)}" for n in sorted({*sessions, *dead}))
        clients = "  ".join(f"c{n} {octets(rate)}/s" for n, rate in sorted(rates.items()))
        messages = "  ".join(f"{name} {watched.messages[name]}" for name in sorted(watched.messages))
        print(f"{time.time() - self.session.show.started:6.1f} s  {nodes} | {clients} | {messages} | "
              f"downloads: {self.load.exact} exact, {len(self.load.broken)} broken", flush=True)

    def _try(self, deed: Callable[[], object]) -> None:
        try:
            deed()
        except (ValueError, KeyError, RuntimeError, CommandFailed, Timeout, OSError, subprocess.SubprocessError) as error:
            print(f"  {error}", flush=True)


def _node(text: str, roles: str = "n") -> int:
    match = re.fullmatch(rf"\s*[{roles}]?(\d+)\s*", text)
    if not match:
        raise ValueError("which one? For example n1")
    return int(match.group(1))
