# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: nat-4 full-nat-6
"""While no daemon runs, packets of a service that have no session are dropped, never passed untranslated and never answered: not
SYNs, not segments of sessions whose entry is gone, not a server's packets. When a daemon is back, all of them go on."""

from __future__ import annotations

from dataclasses import replace

import support
from lab import plan
from lab.checks import all_checks
from lab.packet import RST
from lab.waiting import wait_for
from scenarios.base import Options
from scenarios.workload import services
from traffic.echo import EchoClient, EchoServer


def run(options: Options, expect: support.Expectations) -> None:
    lab = support.cluster(options, services(options), paths="ecmp" if options.forward == "full-nat" else "lasthop")
    with lab:
        lab.start()
        servers = [EchoServer(space, plan.ECHO_PORT) for space in lab.topology.servers.values()]
        address = plan.service(options.family)
        talker, listener, late = (EchoClient(lab.topology.clients[1 + n % 2], address, plan.ECHO_PORT, 8) for n in range(3))
        for group in (talker, listener):
            opened = group.command(f"open {support.PATIENCE}")
            expect.that(len(opened.alive) == 8, f"{len(opened.alive)} of 8 connections {opened.broken}")
        for daemon in lab.cluster.nodes.values():
            daemon.kill()
        lab.topology.flush_all()
        # Now nothing knows the sessions. All three kinds of packets come: a client's data, a server's data, SYNs.
        talker.send(f"speak {support.PATIENCE}")
        for server in servers:
            server.tick()
        listener.send(f"listen {support.PATIENCE}")
        late.send(f"open {support.PATIENCE}")
        # TCP repeats what is lost: let each kind come several times before a daemon is there.
        start = support.arrived(lab)
        wait_for("repeated packets at the nodes", lambda: support.arrived(lab) >= start + 60, limit=150)
        for number in lab.topology.nodes:
            lab.cluster.start_node(number)
        for name, group in (("talker", talker), ("listener", listener), ("late", late)):
            result = group.answer()
            expect.that(len(result.alive) == 8, f"{name}: {len(result.alive)} of 8 {result.broken}")
        lab.capture.stop()
        records = lab.capture.all_records()
        expect.none_of(all_checks(lab.capture, options.family), "the capture is clean, nothing passed untranslated")
        resets = [r for r in records if r.packet.flags & RST]
        expect.none_of([str(r.packet) for r in resets[:5]], "nobody sent RST")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


if __name__ == "__main__":
    support.main({
        "nat-4": lambda options, expect: run(replace(options, family=4, thorough=True), expect),
        "full-nat-6": lambda options, expect: run(replace(options, family=6, forward="full-nat", thorough=True), expect),
    })
