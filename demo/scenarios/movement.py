# SPDX-License-Identifier: BSD-3-Clause
"""How many new sessions go to another server because of a change. The same connections are made before and after it, from the same
ports, and each server says who it is. What a change needs at least follows from the shares that the servers should have."""

from __future__ import annotations

from dataclasses import dataclass

from lab import plan
from lab.balancer import Member, Service
from scenarios.base import Lab, Result
from screen.show import Show
from traffic.who import WhoClient, WhoServer

FACTOR = 1.2  # of the least: more is a fault
_FIRST_PORT = 2000  # below the ports that clients take by themselves
_PORTS = 1500  # of each client

Answers = dict[tuple[int, int], int]  # client and port -> server


@dataclass
class Change:
    """What one change did to new sessions."""

    what: str
    connections: int
    moved: int
    least: float  # of all connections
    strayed: int  # moved from a server that had not to give any to one that had not to get any

    @property
    def share(self) -> float:
        return self.moved / self.connections if self.connections else 0.0

    @property
    def held(self) -> bool:
        """A change that needs nothing must move nothing."""
        return self.connections > 0 and self.strayed == 0 and self.share <= FACTOR * self.least

    def as_json(self) -> dict[str, object]:
        return {"what": self.what, "connections": self.connections, "moved": self.moved, "share": round(self.share, 4),
                "least": round(self.least, 4), "strayed": self.strayed, "held": self.held}


def service(forward: str) -> Service:
    return Service("who", plan.WHO_PORT, forward=forward)


def shares(members: list[Member], drained: tuple[int, ...] = ()) -> dict[int, float]:
    """What part of the new sessions each server should have."""
    takes = [m for m in members if m.state == "active" and m.weight > 0 and m.server not in drained]
    total = sum(m.weight for m in takes)
    return {m.server: m.weight / total for m in takes}


class Movement:
    """Asks at the beginning and after each change."""

    def __init__(self, lab: Lab, show: Show) -> None:
        self.show = show
        self.changes: list[Change] = []
        self.problems: list[str] = []
        for number, space in lab.topology.servers.items():
            WhoServer(space, plan.WHO_PORT, number)
        address = plan.service(lab.options.family)
        self._clients = {n: WhoClient(space, address, plan.WHO_PORT, _FIRST_PORT, _PORTS)
                         for n, space in lab.topology.clients.items()}
        self._topology, self._family = lab.topology, lab.options.family
        self._last: Answers = {}
        self._shares: dict[int, float] = {}

    def begin(self, now: dict[int, float]) -> None:
        """Where new sessions go before any change; `now`: where they should."""
        self._last = self.ask()
        self._shares = now

    def after(self, what: str, now: dict[int, float]) -> Change:
        """What a change did that brought the servers' shares to `now`."""
        answers = self.ask()
        both = [(self._last[key], answers[key]) for key in answers if key in self._last]
        before = self._shares
        gains = {s for s in now if now[s] > before.get(s, 0.0) + 1e-9}
        gives = {s for s in before if before[s] > now.get(s, 0.0) + 1e-9}
        moves = [(old, new) for old, new in both if old != new]
        least = sum(max(0.0, share - before.get(server, 0.0)) for server, share in now.items())
        strayed = sum(old not in gives or new not in gains for old, new in moves)
        change = Change(what, len(both), len(moves), least, strayed)
        wrong = sorted({new for new in answers.values() if new not in now})
        if wrong:
            self.problems.append(f"{what}: new sessions went to servers {wrong}, which should get none")
        if not change.held:
            self.problems.append(f"{what}: {100 * change.share:.1f} % of the new sessions moved, {100 * least:.1f} % had to; "
                                 f"{strayed} between servers whose share stayed or went the other way")
        self.show.say(f"{what}: {100 * change.share:.1f} % of {len(both)} new sessions go to another server, "
                      f"{100 * least:.1f} % must")
        self.changes.append(change)
        self._last, self._shares = answers, now
        return change

    def ask(self) -> Answers:
        """All connections, once; each must find a server. The nodes' entries of the former ones have gone, as they would have by the
        time that a client uses a port again."""
        for node in self._topology.nodes.values():
            node.forget(plan.WHO_PORT, self._family)
        for client in self._clients.values():
            client.begin()
        answers = {(n, port): server for n, client in self._clients.items() for port, server in client.answer().items()}
        missing = len(self._clients) * _PORTS - len(answers)
        if missing:
            self.problems.append(f"{missing} new connections found no server")
        return answers

    def tally(self, result: Result) -> None:
        result.problems += self.problems
        result.more["changes"] = [change.as_json() for change in self.changes]
