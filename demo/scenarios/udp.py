# SPDX-License-Identifier: BSD-3-Clause
"""DNS with dnsmasq and dig, and long-lived UDP flows, while a node dies and a server joins.

What must hold, with loss on the links too: every flow is answered by one server from its first to its last datagram and goes on after
each event, and every answer is that to a datagram of this flow, unaltered. Datagrams that a link loses stay lost, as UDP has it: how many
were answered is told and proves nothing. Look-ups are repeated by dig until they are answered, and must be answered rightly."""

from __future__ import annotations

import time

from lab import plan
from lab.analysis import Analysis
from lab.balancer import Member, Service
from lab.topology import Shape
from lab.waiting import wait_for
from scenarios.base import Lab, Options, Result
from scenarios.verdict import judge
from screen.show import Show
from traffic.datagrams import Lookups, UdpFlows, start_dnsmasq, start_udp_server

ABOUT = "DNS look-ups and long-lived UDP flows while a node dies and a server joins"

_FLOWS = 15  # of each client
_INTERVAL = 0.05
_LIMIT = 90.0
_LEAST_LOST = 0.03  # with recovery off: a flow that is created anew finds its server again unless the pool's change moved it


class Udp:
    """One run."""

    def __init__(self, options: Options, show: Show) -> None:
        self.options = options
        self.show = show
        paths = "ecmp" if options.forward == "full-nat" else "lasthop"
        services = [Service("dns", plan.DNS_PORT, "udp", options.forward, explicit_first="dns", udp_linger=10),
                    Service("flow", plan.UDP_FLOW_PORT, "udp", options.forward)]
        members = [Member(n) for n in range(1, 5)] + [Member(5, weight=2, state="joining")]
        self.lab = Lab(options, Shape(nodes=3, servers=5, paths=paths, loss_percent=options.loss), services, members)
        self.lookups = Lookups()
        self.flows: list[UdpFlows] = []

    def run(self) -> Result:
        started = time.monotonic()
        result = Result("udp")
        with self.lab as lab:
            lab.start()
            for number, space in lab.topology.servers.items():
                start_udp_server(space, plan.UDP_FLOW_PORT, f"server{number}")
                start_dnsmasq(space, lab.directory)
            lab.watch(self.show)
            self._begin()
            event = self._strike()
            self._look_up()
            self._all_heard(20, "the flows to go on after the death of the node")
            lab.topology.add_node(self.victim)
            lab.balancer.start_node(self.victim)
            self.show.dead.clear()
            lab.topology.route_via(sorted(lab.topology.nodes))
            self.show.say(f"node{self.victim} back, with an empty table")
            self._look_up()
            self._all_heard(20, "the flows to go on with the node that came back")
            reports = [flow.report() for flow in self.flows]
            lab.end(self.show)
            self._tally(result, reports)
            analysis = Analysis(lab.capture.all_records(), self.options.family, single=[plan.DNS_PORT])
            judge(lab, result, analysis, event, [self.victim], self.gone, least_lost=_LEAST_LOST)
            result.duration_s = round(time.monotonic() - started, 1)
        return result

    def _begin(self) -> None:
        address = plan.service(self.options.family)
        for space in self.lab.topology.clients.values():
            self.flows.append(UdpFlows(space, address, plan.UDP_FLOW_PORT, _FLOWS, _INTERVAL))
        self._all_heard(20, "answers on all flows")
        self.show.say(f"{_FLOWS * len(self.flows)} UDP flows talk, a datagram every {_INTERVAL * 1000:g} ms each")
        self._look_up()

    def _look_up(self) -> None:
        before = self.lookups.total
        for _ in range(5):
            for space in self.lab.topology.clients.values():
                self.lookups.ask(space, plan.service(self.options.family))
        wait_for("answers to dig", lambda: self.lookups.poll() == 0, limit=_LIMIT)
        self.show.say(f"{self.lookups.total - before} DNS look-ups; {self.lookups.right} of {self.lookups.total} right so far")

    def _all_heard(self, more: int, what: str) -> None:
        """Every flow gets `more` further answers."""
        begun = [{port: flow["heard"] for port, flow in flows.report().items()} for flows in self.flows]

        def heard() -> bool:
            return all(report["heard"] >= begun[i][port] + more
                       for i, flows in enumerate(self.flows) for port, report in flows.report().items())

        wait_for(what, heard, limit=_LIMIT, every=0.1)

    def _strike(self) -> float:
        lab = self.lab
        carried = {n: lab.sessions_on(n, plan.UDP_FLOW_PORT) for n in lab.topology.nodes}
        self.victim = max(carried, key=lambda n: carried[n])
        self.show.dead[self.victim] = "killed"
        if self.options.control:
            lab.topology.block_messages()
        event = time.time()
        lab.topology.kill_nodes([self.victim])
        self.gone = time.time()
        lab.balancer.join(5, 2)
        self.show.say(f"node{self.victim} ({carried[self.victim]} flows) killed, and server5 joins the pool")
        return event

    def _tally(self, result: Result, reports: list[dict[str, dict[str, object]]]) -> None:
        """A flow survived if one server answered all of it, and still does."""
        survived = total = sent = heard = 0
        for report in reports:
            for port, flow in report.items():
                total += 1
                sent += int(str(flow["sent"]))
                heard += int(str(flow["heard"]))
                servers = flow["servers"]
                if isinstance(servers, list) and len(servers) == 1 and flow["wrong"] == 0:
                    survived += 1
                else:
                    result.problems.append(f"flow of port {port}: servers {servers}, {flow['wrong']} wrong answers")
        result.transfers = {"total": self.lookups.total, "byte_exact": self.lookups.right}
        result.sessions = {"total": total, "survived": survived}
        result.more |= {"datagrams_sent": sent, "datagrams_answered": heard}
        self.show.say(f"flows at one server throughout: {survived} of {total}; {heard} of {sent} datagrams answered")


def run(options: Options, show: Show) -> Result:
    return Udp(options, show).run()
