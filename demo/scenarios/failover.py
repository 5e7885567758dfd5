# SPDX-License-Identifier: BSD-3-Clause
"""A node dies outright in mid-transfer while the pool changes; later it comes back empty."""

from __future__ import annotations

import time
from dataclasses import replace

from lab.analysis import Analysis
from lab.balancer import Member
from lab.topology import Shape
from scenarios.base import Lab, Options, Result
from scenarios.verdict import judge
from scenarios.workload import Workload, services
from screen.show import Show

ABOUT = "one of three nodes is killed in mid-transfer while a server joins; later it comes back empty"
SERVERS = 4


class Failover:
    """One run."""

    def __init__(self, options: Options, show: Show) -> None:
        self.options = options
        self.show = show
        # The joining server has double weight: it takes a third of the hash, from which no established session may suffer.
        self.joining = Member(SERVERS + 1, weight=2, state="joining")
        members = [Member(n) for n in range(1, SERVERS + 1)] + [self.joining]
        shape = Shape(nodes=max(3, 2 * options.kill), servers=SERVERS + 1, loss_percent=options.loss,
                      paths="ecmp" if options.forward == "full-nat" else "lasthop")
        self.lab = Lab(options, shape, services(options), members)
        self.work = Workload(self.lab, show)
        self.victims: list[int] = []
        self.event = 0.0
        self.settled = 0.0

    def run(self) -> Result:
        started = time.monotonic()
        result = Result("failover")
        with self.lab as lab:
            lab.start()
            self.work.serve()
            self.show.say(f"{len(lab.topology.nodes)} nodes with {lab.balancer.name}, {SERVERS} servers with nginx"
                          + ("" if self.options.kernel_nat else " and asrpd-holder"))
            lab.watch(self.show)
            self.work.begin()
            self.work.until(0.25, "a quarter of the downloads' octets")
            self._strike()
            if self.victims:
                self._return()
            self.work.finish()
            lab.end(self.show)
            self.work.tally(result)
            judge(lab, result, Analysis(lab.capture.all_records(), self.options.family), self.event,
                  self.victims, self.settled)
            result.duration_s = round(time.monotonic() - started, 1)
        return result

    def _strike(self) -> None:
        lab, options = self.lab, self.options
        if options.control:
            lab.topology.block_messages()
            self.show.say("control: core drops the datagrams of ASRP, so nothing can be recovered")
        if options.flush_all:
            self.event = time.time()
            lab.topology.flush_all()
            self.settled = time.time()
            lab.balancer.join(self.joining.server, self.joining.weight)
            self.show.say(f"all nodes' tables are emptied, and server{self.joining.server} joins the pool")
            return
        carried = {n: lab.sessions_on(n) for n in lab.topology.nodes}
        self.victims = sorted(carried, key=lambda n: -carried[n])[:options.kill]
        for number in self.victims:
            self.show.dead[number] = "killed"
        self.event = time.time()
        lab.topology.kill_nodes(self.victims)
        self.settled = time.time()
        lab.balancer.join(self.joining.server, self.joining.weight)
        names = " and ".join(f"node{n} ({carried[n]} sessions)" for n in self.victims)
        self.show.say(f"{names} killed, and server{self.joining.server} joins the pool")

    def _return(self) -> None:
        lab = self.lab
        self.work.until(0.4 if self.options.control else 0.6, "the downloads to go on")
        for number in self.victims:
            lab.topology.add_node(number)
            lab.balancer.start_node(number)
            self.show.dead.pop(number, None)
        lab.topology.route_via(sorted(lab.topology.nodes))
        self.show.say(f"{' and '.join(f'node{n}' for n in self.victims)} back, with empty tables")


def run(options: Options, show: Show) -> Result:
    if options.loss > 0 and options.octets == Options.octets:
        options = replace(options, octets=200_000, rate=20_000)
    return Failover(options, show).run()
