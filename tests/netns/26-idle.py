# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: server-first-4 client-first-6 pool-change-full-nat-4 no-holder-4
"""Connections are silent until their entries at the nodes time out. The next packet, a server's or a client's, also after the pool
has changed, finds the session again. Where servers have no holder the entries live long instead, and no message is sent."""

from __future__ import annotations

from dataclasses import replace

import support
from lab import plan
from lab.balancer import Member
from lab.waiting import wait_for
from scenarios.base import Options
from scenarios.workload import services
from traffic.echo import EchoClient, EchoServer

_EACH = 15


def run(options: Options, expect: support.Expectations, who: str, change: bool) -> None:
    members = [Member(1), Member(2), Member(3, weight=2, state="joining")]
    paths = "ecmp" if options.forward == "full-nat" else "lasthop"
    lab = support.cluster(options, services(options), servers=3, paths=paths, members=members)
    lab.cluster.node_extra = '[timeouts]\ntcp_established = "10s"\n'
    with lab:
        lab.start()
        servers = [EchoServer(space, plan.ECHO_PORT) for space in lab.topology.servers.values()]
        groups = [EchoClient(space, plan.service(options.family), plan.ECHO_PORT, _EACH) for space in lab.topology.clients.values()]
        for group in groups:
            opened = group.command(f"open {support.PATIENCE}")
            expect.that(len(opened.alive) == _EACH, f"{len(opened.alive)} of {_EACH} connections {opened.broken}")
        carried = sum(lab.sessions_on(n) for n in lab.topology.nodes)
        expect.that(carried >= 2 * _EACH, f"the nodes have {carried} entries")
        wait_for("the entries to time out", lambda: not any(lab.sessions_on(n) for n in lab.topology.nodes), limit=150, every=0.5)
        if change:
            lab.cluster.join(3, 2)
        for round_, verb in enumerate(("listen", "speak") if who == "server" else ("speak", "listen")):
            for group in groups:
                group.send(f"{verb} {support.PATIENCE}")
            if verb == "listen":
                for server in servers:
                    server.tick()
            for group in groups:
                heard = group.answer()
                expect.that(len(heard.alive) == _EACH, f"round {round_ + 1}, {verb}: {len(heard.alive)} of {_EACH} {heard.broken}")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def no_holder(options: Options, expect: support.Expectations) -> None:
    lab = support.cluster(options, services(options), members=[Member(1, holder="no"), Member(2, holder="no")])
    with lab:
        lab.topology.build()
        for number in lab.topology.nodes:
            lab.cluster.start_node(number)
        lab.topology.route_via(sorted(lab.topology.nodes))
        lab.capture.start()
        for space in lab.topology.servers.values():
            EchoServer(space, plan.ECHO_PORT)
        group = EchoClient(lab.topology.clients[1], plan.service(options.family), plan.ECHO_PORT, _EACH)
        for command in (f"open {support.PATIENCE}", f"speak {support.PATIENCE}"):
            heard = group.command(command)
            expect.that(len(heard.alive) == _EACH, f"{command}: {len(heard.alive)} of {_EACH} {heard.broken}")
        for node in lab.topology.nodes.values():
            lifetime = node.read("/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established").strip()
            expect.that(lifetime == "7440", f"{node.name}: established entries live for {lifetime} s")
        lab.capture.stop()
        marked = [r for r in lab.capture.all_records() if r.packet.marked]
        expect.none_of([str(r) for r in marked[:5]], "no message was sent to servers without a holder")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def variant(family: int, forward: str, who: str, change: bool) -> support.Case:
    return lambda options, expect: run(replace(options, family=family, forward=forward), expect, who, change)


if __name__ == "__main__":
    support.main({
        "server-first-4": variant(4, "nat", "server", False),
        "client-first-6": variant(6, "nat", "client", False),
        "pool-change-full-nat-4": variant(4, "full-nat", "client", True),
        "no-holder-4": lambda options, expect: no_holder(replace(options, family=4), expect),
    })
