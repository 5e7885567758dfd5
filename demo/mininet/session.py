# SPDX-License-Identifier: BSD-3-Clause
"""A running cluster in Mininet, and what can be done to it. Each deed is an event of the story and of the plot."""

from __future__ import annotations

import os
import time
from typing import Any

from lab.balancer import Member, Service
from lab.capture import WHOLE, Capture
from lab.ground import OFFICE
from lab.topology import Shape
from mininet.net import Mininet
from network import MininetTopology
from plot import Event, write_plot, write_table
from scenarios.base import Lab, Options
from screen.show import Show

MOST_NODES = 31  # as many as core can remember a last hop of
_SHORT_SNAPSHOT = 256  # octets of a packet: all headers and any message


class Session:
    """Use as a context manager: all is removed at its end."""

    def __init__(self, name: str, network: Mininet, options: Options, shape: Shape, services: list[Service], output: str,
                 show: Show) -> None:
        """`name`: lb or snat."""
        self.name = name
        self.network = network
        self.options = options
        self.show = show
        self.output = output
        self.events: list[Event] = []
        self.topology = MininetTopology(network, shape)
        members = [Member(n) for n in range(1, shape.servers + 1)]
        self.lab = Lab(options, shape, services, members, self.topology)
        self.lab.capture = Capture(self.topology, output, WHOLE if options.thorough else _SHORT_SNAPSHOT)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.lab.__exit__(*exception)
        for node in [*self.network.hosts, *self.network.switches]:
            node.terminate()

    # --- deeds ------------------------------------------------------------------------------------------------------

    def kill(self, number: int) -> None:
        """Outright death of a node."""
        self._existing(number)
        if len(self.topology.nodes) == 1:
            raise ValueError("the last node stays: without one nothing could go on")
        carried = self.carried(number)
        self.show.dead[number] = "killed"
        self.mark(f"kill n{number}", f"n{number} is killed; it carried {carried} sessions")
        self.topology.kill_nodes([number])

    def add(self, number: int = 0) -> int:
        """A fresh node with an empty table; 0 takes the lowest free number."""
        number = number or next(n for n in range(1, MOST_NODES + 2) if n not in self.topology.nodes)
        if number in self.topology.nodes or not 1 <= number <= MOST_NODES:
            raise ValueError(f"n{number} is there already" if number in self.topology.nodes else f"nodes are n1 to n{MOST_NODES}")
        self.topology.add_node(number)
        self.lab.balancer.start_node(number)
        self.topology.route_via(sorted(self.topology.nodes))
        self.show.dead.pop(number, None)
        self.mark(f"add n{number}", f"n{number} joins with an empty table; the router spreads flows anew")
        return number

    def flush(self, number: int) -> None:
        """A node loses its table and lives on."""
        self._existing(number)
        self.mark(f"flush n{number}", f"n{number} forgets its {self.carried(number)} sessions")
        self.topology.flush([number])

    def flush_all(self) -> None:
        """All nodes lose theirs at once."""
        count = sum(self.carried(number) for number in self.topology.nodes)
        self.mark("flush all", f"all nodes forget their {count} sessions")
        self.topology.flush_all()

    def lose(self, percent: float) -> None:
        """Random loss on every link from now on."""
        if not 0 <= percent < 100:
            raise ValueError("loss is a percentage below 100")
        self.topology.set_loss(percent)
        self.mark(f"loss {percent:g} %", f"{percent:g} % of the packets are lost on every link, each direction")

    def mark(self, label: str, text: str) -> None:
        """An event for the plot, told as `text`."""
        self.events.append(Event(time.time(), label))
        self.show.say(text)

    def carried(self, number: int) -> int:
        return self.lab.sessions_on(number)

    def _existing(self, number: int) -> None:
        if number not in self.topology.nodes:
            raise ValueError(f"there is no n{number}; there are {', '.join(f'n{n}' for n in sorted(self.topology.nodes))}")

    # --- results ----------------------------------------------------------------------------------------------------

    def plot(self) -> list[str]:
        """Writes the plot and its figures so far; returns the names of the files."""
        shape = self.topology.shape
        answers = "symmetric" if shape.paths == "lasthop" else "asymmetric"
        nodes, mode = ("gateways", "source NAT") if shape.ground is OFFICE else ("nodes", self.options.forward)
        title = (f"asrp, {mode}, IPv{self.options.family}, {answers} routing: "
                 f"{shape.clients} clients, {shape.nodes} {nodes}, {shape.servers} servers")
        title += f", {shape.loss_percent:g} % loss" if shape.loss_percent else ""
        samples = list(self.lab.monitor.watched.history)
        base = os.path.join(self.output, self.name)
        return [*write_plot(base, title, samples, self.events), write_table(base, samples, self.events)]

    def files(self) -> list[str]:
        """The captures, for asrpdump."""
        return list(self.lab.capture.paths.values())

    def telling_file(self) -> str:
        """The one with all messages."""
        return self.lab.capture.paths[self.topology.shape.ground.holders_at]
