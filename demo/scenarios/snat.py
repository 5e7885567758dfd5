# SPDX-License-Identifier: BSD-3-Clause
"""An office behind gateways with source NAT: two of them die, one after the other, and no session to the world is lost, not even one
whose server alone speaks at that moment."""

from __future__ import annotations

import time
from dataclasses import replace

from lab.analysis import OfficeAnalysis
from lab.checks import no_message_outside
from lab.ground import OFFICE
from lab.topology import Shape
from lab.waiting import wait_for
from scenarios.base import Lab, Options, Result
from scenarios.office_work import OfficeWork
from scenarios.verdict import Event, judge_events, moves_of
from screen.show import Show

ABOUT = "an office behind three gateways with source NAT: two are killed one after the other (ACT mode)"
CLIENTS = 8
SITES = 3
_BACKUP_LIMIT = 60.0
_CHAT_INTERVAL = 1.2  # more than what is between two HS of a session


class Snat:
    """One run."""

    def __init__(self, options: Options, show: Show, asymmetric: bool = False) -> None:
        self.options = options
        self.show = show
        self.asymmetric = asymmetric
        self.name = "snat-asymmetric" if asymmetric else "snat"
        shape = Shape(clients=CLIENTS, nodes=4 if asymmetric else 3, servers=SITES, loss_percent=options.loss,
                      paths="ecmp" if asymmetric else "lasthop", ground=OFFICE)
        self.lab = Lab(options, shape, [], [])
        self.work = OfficeWork(self.lab, show)
        self.events: list[Event] = []

    def run(self) -> Result:
        started = time.monotonic()
        result = Result(self.name)
        with self.lab as lab:
            lab.start()
            if self.asymmetric:
                lab.topology.route_via([1], "edge")
                lab.topology.route_via([2], "core")
                self.show.say("packets to the world go by node1, those from it by node2")
            self.work.serve()
            self.show.say(f"{len(lab.topology.nodes)} gateways with {lab.balancer.name}, {CLIENTS} clients "
                          + ("without asrpd-holder" if self.options.control else "with asrpd-holder"))
            lab.watch(self.show)
            self.work.begin()
            self._backed_up()
            self.work.until(0.2, "a fifth of the downloads' octets")
            self._strike(self._first())
            self.work.until(0.45, "the downloads to go on")
            self._strike(self._second())
            if not self.asymmetric and not self.options.control:
                self._return()
            self.work.finish()
            lab.end(self.show)
            self.work.tally(result)
            self._judge(result)
            result.duration_s = round(time.monotonic() - started, 1)
        return result

    def _backed_up(self) -> None:
        """Every session of the load has its backup, before anything happens. With loss an HS or its answer may have gone, and the
        session's next packet after a second asks again."""
        if self.options.control:
            return
        gateways, chatted = self.lab.gateways, time.monotonic()

        def complete() -> bool:
            nonlocal chatted
            if not gateways.unprotected():
                return True
            if time.monotonic() > chatted + _CHAT_INTERVAL:
                self.work.chat()
                chatted = time.monotonic()
            return False

        wait_for("a backup of each session", complete, limit=_BACKUP_LIMIT, every=0.1)
        self.show.say("the clients' holders have a backup of each session")

    # --- events -----------------------------------------------------------------------------------------------------

    def _first(self) -> tuple[int, int]:
        """Who dies first, and who takes its place where none is left: with asymmetric routing the way back."""
        return (2, 3) if self.asymmetric else (self._busiest(), 0)

    def _second(self) -> tuple[int, int]:
        return (1, 4) if self.asymmetric else (self._busiest(), 0)

    def _busiest(self) -> int:
        return max(self.lab.topology.nodes, key=self.lab.sessions_on)

    def _strike(self, who: tuple[int, int]) -> None:
        lab, (victim, spare) = self.lab, who
        carried = lab.sessions_on(victim)
        self.work.hush()
        self.show.dead[victim] = "killed"
        moment = time.time()
        lab.topology.kill_nodes([victim], [spare] if spare else [])
        self.events.append(Event(moment, (victim,), time.time()))
        self.work.servers_speak()
        self.show.say(f"node{victim} ({carried} sessions) killed" + (f", node{spare} takes its place" if spare else ""))
        self.work.go_on()
        self.show.say(f"sessions that were silent go on, their servers first: {len(self.work.lost)} lost so far")

    def _return(self) -> None:
        lab = self.lab
        dead = [number for event in self.events for number in event.emptied]
        for number in dead:
            lab.topology.add_node(number)
            lab.balancer.start_node(number)
            self.show.dead.pop(number, None)
        self.work.hush()
        lab.topology.route_via(sorted(lab.topology.nodes))
        self.work.servers_speak()
        self.show.say(f"{' and '.join(f'node{n}' for n in dead)} back, with empty tables")
        self.work.go_on()

    # --- verdict ----------------------------------------------------------------------------------------------------

    def _judge(self, result: Result) -> None:
        records = self.lab.capture.all_records()
        analysis = OfficeAnalysis(records, self.options.family)
        result.problems += no_message_outside(records)
        server_first = {move.session for move in moves_of(analysis, self.events) if move.server_first}
        result.more["server_first"] = len(server_first)
        if not server_first and not self.options.control:
            result.problems.append("of no session that moved the server's packet came first, which proves nothing")
        judge_events(self.lab, result, analysis, self.events)


def snat_options(options: Options) -> Options:
    """The load of this scenario, where the command line does not say another one."""
    if options.octets == Options.octets:
        options = replace(options, octets=200_000 if options.loss > 0 else 400_000, rate=15_000 if options.loss > 0 else 25_000)
    if options.seconds:
        options = replace(options, octets=int(options.rate * options.seconds))
    return replace(options, transfers=2 * CLIENTS, idle=2)


def run(options: Options, show: Show) -> Result:
    return Snat(snat_options(options), show).run()
