# SPDX-License-Identifier: BSD-3-Clause
"""asrp on the nodes and servers of a topology."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
from dataclasses import replace
from typing import Any

from lab import configuration
from lab.balancer import Member, Pool, Service
from lab.daemon import Daemon
from lab.netns import Namespace
from lab.topology import Topology

_BAD_WORDS = ("Assertion", "AddressSanitizer", "runtime error", "terminate called", "Segmentation")


class Cluster:
    """asrpd-node on every node, asrpd-holder on every server, with configurations that follow the pool."""

    name = "asrpd-node"

    def __init__(self, topology: Topology, services: list[Service], members: list[Member], directory: str, programs: str) -> None:
        self.topology = topology
        self.services = services
        self.pool = Pool(list(members))
        self.directory = directory
        self.programs = programs
        self.node_extra = ""
        self.holder_extra = ""
        self.nodes: dict[int, Daemon] = {}
        self.holders: dict[int, Daemon] = {}
        self.ended: list[Daemon] = []

    # --- starting ---------------------------------------------------------------------------------------------------

    def start_holders(self) -> None:
        for number in self.holder_spaces:
            self.start_holder(number)

    def start_holder(self, number: int) -> None:
        """Starts a holder, or starts it again."""
        if number not in self.holders:
            path = self._write(f"holder{number}.toml", self._holder_file(number))
            self.holders[number] = Daemon(f"holder{number}", self.holder_spaces[number],
                                          [self.program("asrpd-holder"), "--config", path], self.directory)
        self.holders[number].start()

    def start_node(self, number: int) -> None:
        """Starts the daemon of a node: a fresh one, without any state on its disk, if the namespace is new."""
        space = self.topology.nodes[number]
        if number in self.nodes and self.nodes[number].space is not space:
            self.ended.append(self.nodes.pop(number))
            shutil.rmtree(os.path.join(self.directory, f"node{number}"), ignore_errors=True)
        path = self._write_node(number)
        if number not in self.nodes:
            self.nodes[number] = Daemon(f"node{number}", space, [self.program("asrpd-node"), "--config", path], self.directory)
        self.nodes[number].start()

    # --- the pool ---------------------------------------------------------------------------------------------------

    def join(self, server: int, weight: int) -> None:
        self.change_pool([replace(m, weight=weight, state="active") if m.server == server else m for m in self.pool.members])

    def change_pool(self, members: list[Member]) -> None:
        """All running nodes reload, at the same time."""
        past = [configuration.active(self.pool), *self.pool.past]
        # Running nodes remember the past by themselves; only files of nodes that start later name it.
        self.pool = replace(self.pool, members=members)
        running = {n: d for n, d in self.nodes.items() if d.running}
        for number in running:
            self._write_node(number)
        for daemon in running.values():
            daemon.begin_reload()
        for daemon in running.values():
            daemon.end_reload()
        self.pool = replace(self.pool, past=past)

    def drain(self, server: int, deadline: int = 0) -> None:
        """Every running node gives the server no new sessions, in any pool."""
        arguments: dict[str, Any] = {"server": f"s{server}"}
        for number in self._running():
            self.ask_node(number, "drain", **(arguments | ({"deadline": deadline} if deadline else {})))

    def undrain(self, server: int) -> None:
        for number in self._running():
            self.ask_node(number, "undrain", server=f"s{server}")

    def left(self, server: int) -> int:
        """Sessions of a drained server that are left on all running nodes."""
        count = 0
        for number in self._running():
            drains = self.ask_node(number, "drains")["servers"]
            count += sum(each["sessions"] for each in drains if each["server"] == f"s{server}")
        return count

    def is_ready(self, number: int) -> bool:
        """Whether a node asks for flows."""
        return bool(self.ask_node(number, "ready")["ready"])

    def ask_node(self, number: int, command: str, **arguments: Any) -> dict[str, Any]:
        """A command of a node's control socket."""
        return ask(configuration.node_socket(number, self.directory), command, **arguments)

    def ask_holder(self, number: int, command: str, **arguments: Any) -> dict[str, Any]:
        """A command of a holder's control socket."""
        return ask(configuration.holder_socket(number, self.directory), command, **arguments)

    def _running(self) -> list[int]:
        return [number for number, daemon in self.nodes.items() if daemon.running]

    # --- looking ----------------------------------------------------------------------------------------------------

    def counters(self, daemon: Daemon) -> dict[str, int]:
        """A daemon's own counters."""
        number = int("".join(c for c in daemon.name if c.isdigit()))
        path = (configuration.node_socket if daemon.name.startswith("node") else configuration.holder_socket)(
            number, self.directory)
        values: dict[str, int] = ask(path, "counters")["counters"]
        return values

    def problems(self) -> list[str]:
        """Daemons that ended by themselves or wrote what only a fault writes."""
        found = []
        for daemon in [*self.nodes.values(), *self.holders.values(), *self.ended]:
            status = daemon.process.poll() if daemon.process is not None else None
            if status is not None and status not in (0, -signal.SIGKILL):
                found.append(f"{daemon.name} ended with status {status}: {daemon.tail(5)}")
            found += [f"{daemon.name} wrote: {line}" for line in daemon.log().splitlines() if any(w in line for w in _BAD_WORDS)]
        return found

    # --- files ------------------------------------------------------------------------------------------------------

    @property
    def holder_spaces(self) -> dict[int, Namespace]:
        """The hosts that have holders."""
        return self.topology.servers

    def _holder_file(self, number: int) -> str:
        return configuration.holder_file(number, self.services, self.directory, self.holder_extra)

    def _node_file(self, number: int) -> str:
        return configuration.node_file(number, self.services, self.pool, self.directory, self.node_extra)

    def _write_node(self, number: int) -> str:
        return self._write(f"node{number}.toml", self._node_file(number))

    def _write(self, name: str, text: str) -> str:
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def program(self, name: str) -> str:
        """The path of one of our programs, as it was built."""
        return find_program(self.programs, name)


def find_program(directory: str, name: str) -> str:
    """Where a program is below the directory of a build, or of programs alone."""
    for path in (os.path.join(directory, *parts, name) for parts in ((), (name,), ("tools", name))):
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"{name} is not built in {directory}")


def ask(path: str, command: str, **arguments: Any) -> dict[str, Any]:
    """One request to a daemon's control socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(10)
        connection.connect(path)
        connection.sendall(json.dumps({"command": command} | arguments).encode() + b"\n")
        with connection.makefile("r", encoding="utf-8") as reader:
            answer: dict[str, Any] = json.loads(reader.readline())
            if answer.get("stream"):  # a long answer: lines, and a last one that says so
                answer["lines"] = []
                while not (line := json.loads(reader.readline())).get("end"):
                    answer["lines"].append(line)
    if not answer.get("ok"):
        raise RuntimeError(f"{path}: {command}: {answer}")
    return answer
