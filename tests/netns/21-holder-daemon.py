# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: kill-4 kill-full-nat-6 restart-4 taken-full-nat-4 taken-full-nat-6
"""asrpd-holder is killed with SIGKILL at random instants, or restarted, while connections come in all the time. Then all nodes lose
their tables: every session whose backup counts goes on.

taken: with full NAT, connections that have no backup because the holder was away hold ports that another node would choose, too.
Those that it makes then open all the same, and neither hurts the other."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, replace

import support
from lab import plan
from lab.analysis import Analysis, Session
from lab.capture import Record
from lab.packet import ACK, SYN
from scenarios.base import Lab, Options
from scenarios.workload import services
from traffic.echo import EchoClient, EchoServer

_ROUNDS = 12
_GROUP = 20  # connections of one client program
_SPEAK_LIMIT = 25
# Few for this many connections: full NAT over two nodes often chooses a port that another client's session has, also one whose
# NS passed while the holder was away.
_PORTS = (20000, 21999)
_FEW_PORTS = (20000, 20255)
_TAKEN = 50  # connections of each client at one server: one in five of the second client's chooses a port that is taken


@dataclass
class Running:
    """A time in which a holder ran, from its readiness to just before its end began."""

    begin: float
    end: float


class Restarter(threading.Thread):
    """Ends and starts the holder of each server, at random instants, until stopped."""

    def __init__(self, lab: Lab, gently: bool) -> None:
        super().__init__(daemon=True)
        self.lab = lab
        self.gently = gently
        self.enough = threading.Event()
        self.running: dict[int, list[Running]] = {n: [Running(time.time(), float("inf"))] for n in lab.cluster.holders}
        self.rounds = 0
        self.failure = ""
        self._random = random.Random(7)

    def run(self) -> None:
        try:
            while not self.enough.wait(self._random.uniform(0.05, 0.6)):
                number = self._random.choice(sorted(self.running))
                self.running[number][-1].end = time.time()
                holder = self.lab.cluster.holders[number]
                if self.gently:
                    holder.stop()
                else:
                    holder.kill()
                self.lab.cluster.start_holder(number)
                self.running[number].append(Running(time.time(), float("inf")))
                self.rounds += 1
        except Exception as error:  # reported by the test, which this thread must not end
            self.failure = f"{type(error).__name__}: {error}"


def counted(records: list[Record], analysis: Analysis, running: dict[int, list[Running]]) -> set[Session]:
    """Sessions whose SYN went to a server with its NS while the holder there ran, and was answered while it still ran."""
    asked: dict[Session, float] = {}
    found: set[Session] = set()
    for record in records:
        packet = record.packet
        if not record.link.startswith("server") or not packet.flags & SYN:
            continue
        session = analysis.session(record)
        if session is None:
            continue
        if not record.arriving and not packet.flags & ACK and packet.message is not None and packet.message.type == "NS":
            asked.setdefault(session, record.time)
        elif record.arriving and packet.flags & ACK and session in asked:
            for window in running[int(record.link[6:])]:
                if window.begin <= asked[session] and record.time <= window.end:
                    found.add(session)
    return found


def under_load(options: Options, expect: support.Expectations, gently: bool) -> None:
    offered = [replace(service, full_nat_ports=_PORTS) for service in services(options)]
    lab = support.cluster(options, offered, nodes=2, servers=3, paths="ecmp" if options.forward == "full-nat" else "lasthop")
    with lab:
        lab.start()
        for space in lab.topology.servers.values():
            EchoServer(space, plan.ECHO_PORT)
        restarter = Restarter(lab, gently)
        restarter.start()
        groups: list[tuple[str, EchoClient]] = []
        while (restarter.rounds < _ROUNDS or len(groups) < _ROUNDS) and not restarter.failure:
            number = 1 + len(groups) % 2
            group = EchoClient(lab.topology.clients[number], plan.service(options.family), plan.ECHO_PORT, _GROUP)
            opened = group.command(f"open {support.PATIENCE}")
            if opened.broken:
                expect.that(False, f"connections could not be opened: {opened.broken}")
            groups.append((plan.client(number, options.family), group))
        restarter.enough.set()
        restarter.join()
        expect.that(not restarter.failure, f"the holders could be restarted {restarter.failure}")
        event = time.time()
        lab.topology.flush_all()
        for _, group in groups:
            group.send(f"speak {_SPEAK_LIMIT}")
        alive = {(address, port) for address, group in groups for port in group.answer().alive}
        lab.capture.stop()
        records = lab.capture.all_records()
        analysis = Analysis(records, options.family)
        backed = counted(records, analysis, restarter.running) & analysis.live_at(event)
        lost = [session for session in backed if session[1:3] not in alive]
        total = _GROUP * len(groups)
        print(f"{restarter.rounds} ends of a holder, {total} sessions, {len(backed)} with a backup that counts, {len(alive)} alive; "
              f"messages {dict(analysis.messages)}")
        expect.that(len(backed) > total / 4, "enough backups count to show something")
        expect.none_of([str(session) for session in lost], f"all {len(backed)} sessions whose backup counts survived the loss of tables")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def taken_ports(options: Options, expect: support.Expectations) -> None:
    offered = [replace(service, full_nat_ports=_FEW_PORTS) for service in services(options)]
    lab = support.cluster(options, offered, nodes=2, servers=1, paths="ecmp")
    with lab:
        lab.start()
        EchoServer(lab.topology.servers[1], plan.ECHO_PORT)
        holder = lab.cluster.holders[1]
        old, new = (EchoClient(lab.topology.clients[n], plan.service(options.family), plan.ECHO_PORT, _TAKEN) for n in (1, 2))
        lab.topology.route_via([1])
        holder.kill()
        opened = old.command(f"open {support.PATIENCE}")
        expect.that(not opened.broken, f"connections open while the holder is away {opened.broken}")
        lab.cluster.start_holder(1)
        lab.topology.route_via([2], "edge")  # answers still take the first node
        opened = new.command(f"open {support.PATIENCE}")
        expect.that(not opened.broken, f"another node's connections open {opened.broken}")
        refused = lab.cluster.counters(holder)["conflicts.unknown_session"]
        expect.that(refused > 0, f"{refused} SYN would have met a connection without a backup")
        lab.topology.flush([2])
        heard = new.command(f"speak {support.PATIENCE}")
        expect.that(not heard.broken, f"the other node's connections survive the loss of its table {heard.broken}")
        lab.topology.route_via([1], "edge")
        heard = old.command(f"speak {support.PATIENCE}")
        expect.that(not heard.broken, f"the first connections are as they were {heard.broken}")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def variant(family: int, forward: str, gently: bool) -> support.Case:
    def case(options: Options, expect: support.Expectations) -> None:
        under_load(replace(options, family=family, forward=forward), expect, gently)

    return case


if __name__ == "__main__":
    support.main({
        "kill-4": variant(4, "nat", False),
        "kill-full-nat-6": variant(6, "full-nat", False),
        "restart-4": variant(4, "nat", True),
        "taken-full-nat-4": lambda options, expect: taken_ports(replace(options, family=4, forward="full-nat"), expect),
        "taken-full-nat-6": lambda options, expect: taken_ports(replace(options, family=6, forward="full-nat"), expect),
    })
