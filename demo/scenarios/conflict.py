# SPDX-License-Identifier: BSD-3-Clause
"""Two nodes choose the same full-NAT port for the same server: the holder answers NC, the node takes the next port, and both
connections work, also after they have changed node."""

from __future__ import annotations

import time
from dataclasses import replace

from lab import plan
from lab.analysis import Analysis
from lab.balancer import Member, Service
from lab.topology import Shape
from scenarios.base import Lab, Options, Result
from scenarios.verdict import judge
from screen.show import Show
from traffic.echo import EchoClient, EchoServer

ABOUT = "two nodes choose the same full-NAT port: NC, and both connections work"

_PORTS = 40  # in the range; two servers share them
_ROUND = 4  # connections of each client in one round
_ROUNDS = 6
_LIMIT = 90


def run(options: Options, show: Show) -> Result:
    options = replace(options, forward="full-nat")  # with nat no node chooses a port
    started = time.monotonic()
    result = Result("conflict")
    services = [Service("shell", plan.ECHO_PORT, forward="full-nat", full_nat_ports=(20000, 20000 + _PORTS - 1))]
    lab = Lab(options, Shape(nodes=3, servers=2, paths="ecmp", loss_percent=options.loss), services, [Member(1), Member(2)])
    with lab:
        lab.start()
        for space in lab.topology.servers.values():
            EchoServer(space, plan.ECHO_PORT)
        lab.watch(show)
        groups = _open_until_conflict(lab, show)
        event = time.time()
        lab.topology.route_via([3, 1, 2])
        show.say("the router hashes anew: all flows change node")
        for group in groups:
            group.send(f"speak {_LIMIT}")
        heard = [group.answer() for group in groups]
        alive = sum(len(h.alive) for h in heard)
        total = sum(group.count for group in groups)
        show.say(f"all connections spoke: {alive} of {total} alive")
        lab.end(show)
        result.sessions = {"total": total, "survived": alive}
        result.transfers = {"total": total, "byte_exact": alive}
        for each in heard:
            result.problems += [f"connection of port {port}: {why}" for port, why in each.broken.items()]
        analysis = Analysis(lab.capture.all_records(), options.family)
        if analysis.messages["NC"] == 0:
            result.problems.append("no two nodes chose the same port, which proves nothing")
        judge(lab, result, analysis, event)
        result.duration_s = round(time.monotonic() - started, 1)
    return result


def _open_until_conflict(lab: Lab, show: Show) -> list[EchoClient]:
    """Opens connections, some at a time, until a holder has answered NC."""
    groups = []
    for _ in range(_ROUNDS):
        for space in lab.topology.clients.values():
            group = EchoClient(space, plan.service(lab.options.family), plan.ECHO_PORT, _ROUND)
            opened = group.command(f"open {_LIMIT}")
            if opened.broken:
                raise RuntimeError(f"connections could not be opened: {opened.broken}")
            groups.append(group)
        opened_now = _ROUND * len(groups)
        conflicts = lab.monitor.watched.messages["NC"]
        show.say(f"{opened_now} connections over {_PORTS} ports, {conflicts} conflicts")
        if conflicts and opened_now >= 2 * _ROUND * len(lab.topology.clients):
            break
    return groups
