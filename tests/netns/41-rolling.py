# SPDX-License-Identifier: BSD-3-Clause
# limit: 600
# cases: nodes-and-servers control
"""A rolling replacement under load: all three nodes, one at a time, and then all servers, one at a time: a new one joins and becomes
active, the old one is drained until its last session has ended, and is removed. Downloads and long-lived connections begin all the
while and span each step; nothing is lost. The same with recovery off must lose sessions, or the test proves nothing."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import support
from lab import plan
from lab.balancer import Member
from lab.waiting import wait_for
from scenarios.base import Lab, Options
from scenarios.workload import services
from traffic.echo import EchoClient, EchoServer
from traffic.web import Content, Downloads, start_nginx

_NODES = 3
_OLD = 3  # servers, and as many new ones
_TRANSFERS = 12  # of each wave
_OCTETS = 400_000
_RATE = 80_000  # octets a second: a transfer takes 5 s, and longer than any step before the waiting
_IDLE = 6  # of each client
_LIMIT = 120.0
_STALL = 90
_LOST = 12  # where sessions are expected to be lost


@dataclass
class Wave:
    """Sessions that begin together; they live through the next step."""

    downloads: Downloads
    echoes: list[EchoClient]


class Rolling:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.members = [Member(n) for n in range(1, _OLD + 1)] + [Member(n, state="disabled") for n in range(_OLD + 1, 2 * _OLD + 1)]
        self.lab: Lab = support.cluster(options, services(options), nodes=_NODES, members=self.members, servers=2 * _OLD)
        self.waves = 0
        self.total = 0
        self.lost: list[str] = []
        self.waiting_limit = _LOST if options.control else _STALL

    def start(self) -> None:
        lab = self.lab
        lab.start()
        self.content = Content(lab.directory, _TRANSFERS, _OCTETS)
        self.echo_servers = {}
        for number, space in lab.topology.servers.items():
            start_nginx(space, lab.directory, _RATE)
            self.echo_servers[number] = EchoServer(space, plan.ECHO_PORT)

    # --- load -------------------------------------------------------------------------------------------------------

    def begin(self) -> Wave:
        """A wave of sessions, open on all nodes and servers."""
        self.waves += 1
        address = plan.service(self.options.family)
        clients = self.lab.topology.clients
        echoes = [EchoClient(space, address, plan.ECHO_PORT, _IDLE) for space in clients.values()]
        for echo in echoes:
            echo.send(f"open {support.PATIENCE}")
        for echo in echoes:
            self.lost += [f"wave {self.waves}: not opened: {why}" for why in echo.answer().broken.values()]
        downloads = Downloads(self.content, clients, address, _LIMIT, self.waiting_limit, label=f"wave{self.waves}")
        wait_for("all downloads to begin", lambda: downloads.poll() == 0 or min(downloads.octets()) > 0, limit=_LIMIT, every=0.05)
        self.total += len(downloads.transfers) + _IDLE * len(echoes)
        return Wave(downloads, echoes)

    def finish(self, wave: Wave) -> None:
        """Its downloads must be byte-exact, its connections alive; then they end."""
        wait_for("the end of the downloads", lambda: wave.downloads.poll() == 0, limit=_LIMIT)
        self.lost += [f"transfer {t.number} (curl status {t.status})" for t in wave.downloads.transfers if not t.byte_exact]
        for echo in wave.echoes:
            echo.send(f"speak {self.waiting_limit}")
        for echo in wave.echoes:
            self.lost += list(echo.answer().broken.values())
            echo.close()

    # --- steps ------------------------------------------------------------------------------------------------------

    def replace_node(self, number: int) -> None:
        """Drained, out of the routes, gone; and a fresh one in its place."""
        lab = self.lab
        lab.cluster.ask_node(number, "drain", node=True)
        lab.topology.route_via([n for n in range(1, _NODES + 1) if n != number])
        lab.cluster.nodes[number].stop()
        lab.topology.cut_node(number)
        lab.topology.remove_node(number)
        lab.topology.add_node(number)
        lab.balancer.start_node(number)
        lab.topology.route_via(range(1, _NODES + 1))

    def change(self, server: int, state: str | None) -> None:
        """A server's state in all nodes' configuration; none: it is removed."""
        self.members = [replace(m, state=state or "") if m.server == server else m for m in self.members]
        self.members = [m for m in self.members if m.state]
        self.lab.cluster.change_pool(self.members)

    def sessions_at(self, server: int) -> int:
        return self.lab.topology.established(server, (plan.HTTP_PORT, plan.ECHO_PORT))


def _replace_nodes(rolling: Rolling, expect: support.Expectations) -> None:
    wave = rolling.begin()
    for number in range(1, _NODES + 1):
        rolling.replace_node(number)
        following = rolling.begin()
        rolling.finish(wave)
        wave = following
        print(f"      node{number} replaced, {len(rolling.lost)} of {rolling.total} sessions lost so far", flush=True)
    rolling.finish(wave)
    restored = 0
    for daemon in rolling.lab.cluster.nodes.values():
        counters = rolling.lab.cluster.counters(daemon)
        restored += counters["sessions.restored_rs"] + counters["sessions.restored_ps"]
    if not rolling.options.control:
        expect.that(restored >= _TRANSFERS, f"sessions moved from node to node: the last three have restored {restored}")


def _replace_servers(rolling: Rolling, expect: support.Expectations) -> None:
    for old in range(1, _OLD + 1):
        new = old + _OLD
        wave = rolling.begin()
        rolling.change(new, "joining")
        rolling.change(new, "active")
        rolling.lab.cluster.drain(old)
        at_drain = rolling.sessions_at(old)
        following = rolling.begin()  # new sessions, once it is drained
        expect.that(rolling.sessions_at(old) <= at_drain, f"server{old}, drained with {at_drain} sessions, gets no new ones")
        rolling.finish(wave)
        wait_for(f"the end of the sessions at server{old}", lambda: rolling.sessions_at(old) == 0, limit=support.PATIENCE)
        rolling.change(old, None)
        rolling.lab.cluster.holders[old].stop()
        rolling.finish(following)
        print(f"      server{old} replaced by server{new}, {len(rolling.lost)} of {rolling.total} sessions lost so far", flush=True)


def nodes_and_servers(options: Options, expect: support.Expectations) -> None:
    rolling = Rolling(options)
    with rolling.lab:
        rolling.start()
        begun = time.monotonic()
        _replace_nodes(rolling, expect)
        _replace_servers(rolling, expect)
        expect.that([m.server for m in rolling.members] == [4, 5, 6], "all servers are new ones")
        expect.none_of(rolling.lost, f"none of {rolling.total} sessions is lost, in {time.monotonic() - begun:.0f} s; SHA-256 agrees")
        expect.none_of(support.ended(rolling.lab), "no daemon failed, and each ends when asked to")


def control(options: Options, expect: support.Expectations) -> None:
    rolling = Rolling(replace(options, control=True))
    with rolling.lab:
        rolling.start()
        rolling.lab.topology.block_messages()
        wave = rolling.begin()
        # Which node has how many is the chance of their ports: the busiest has a third of them at least.
        rolling.replace_node(max(range(1, _NODES + 1), key=rolling.lab.sessions_on))
        rolling.finish(wave)
        expect.that(len(rolling.lost) >= 0.2 * rolling.total,
                    f"with recovery off one node's replacement loses {len(rolling.lost)} of {rolling.total} sessions")


if __name__ == "__main__":
    support.main({"nodes-and-servers": nodes_and_servers, "control": control})
