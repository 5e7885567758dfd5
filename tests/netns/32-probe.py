# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: nat-4 full-nat-6
"""`holder = "probe"`: of two servers one has no holder at first. Nothing is inserted into packets to it, its connections work; when
its holder comes new connections have backups, when it goes they work without, and when it is back they have them again."""

from __future__ import annotations

import time
from dataclasses import replace

import support
from lab import plan
from lab.balancer import Member
from lab.packet import ACK, SYN
from lab.waiting import wait_for
from scenarios.base import Lab, Options
from scenarios.workload import services
from traffic.echo import EchoClient, EchoServer

_EACH = 20
_LATE = 2  # the server whose holder comes and goes


def counted(lab: Lab, counter: str, least: int) -> None:
    """Waits until each node has counted so much. Each holder has two addresses."""
    for node in lab.cluster.nodes.values():
        wait_for(f"{node.name}: {counter} {least}", lambda node=node: lab.cluster.counters(node)[counter] >= least, limit=60, every=0.1)


def opened_group(lab: Lab, options: Options, expect: support.Expectations, what: str) -> EchoClient:
    group = EchoClient(lab.topology.clients[1], plan.service(options.family), plan.ECHO_PORT, _EACH)
    opened = group.command(f"open {support.PATIENCE}")
    expect.that(len(opened.alive) == _EACH, f"{what}: {len(opened.alive)} of {_EACH} connections {opened.broken}")
    return group


def survives(lab: Lab, expect: support.Expectations, group: EchoClient, what: str) -> None:
    lab.topology.flush_all()
    heard = group.command(f"speak {support.PATIENCE}")
    expect.that(len(heard.alive) == _EACH, f"{what}, tables lost: {len(heard.alive)} of {_EACH} live {heard.broken}")


def run(options: Options, expect: support.Expectations) -> None:
    members = [Member(1, holder="probe"), Member(_LATE, holder="probe")]
    lab = support.cluster(options, services(options), members=members)
    bare: list[tuple[float, float]] = []  # times in which nothing may be inserted for the second server
    with lab:
        lab.topology.build()
        lab.cluster.start_holder(1)
        for number in lab.topology.nodes:
            lab.cluster.start_node(number)
        lab.topology.route_via(sorted(lab.topology.nodes))
        lab.capture.start()
        for space in lab.topology.servers.values():
            EchoServer(space, plan.ECHO_PORT)
        counted(lab, "holders.alive", 2)
        begun = time.time()
        opened_group(lab, options, expect, "one holder is not there")
        bare.append((begun, time.time()))
        lab.cluster.start_holder(_LATE)
        counted(lab, "holders.alive", 4)
        survives(lab, expect, opened_group(lab, options, expect, "it has come"), "it has come")
        lab.cluster.holders[_LATE].kill()
        counted(lab, "holders.gone", 2)
        begun = time.time()
        opened_group(lab, options, expect, "it has gone")
        bare.append((begun, time.time()))
        lab.cluster.start_holder(_LATE)
        counted(lab, "holders.alive", 6)
        survives(lab, expect, opened_group(lab, options, expect, "it is back"), "it is back")
        lab.capture.stop()
        sent = [r for r in lab.capture.records("core") if r.link == f"server{_LATE}" and not r.arriving]
        for begin, end in bare:
            meanwhile = [r for r in sent if begin <= r.time <= end]
            plain = [r for r in meanwhile if not r.packet.marked and r.packet.flags & (SYN | ACK) == SYN]
            told = [r for r in meanwhile if r.packet.message is not None and r.packet.message.type == "NS"]
            expect.that(len(plain) > 0 and not told, f"{len(plain)} plain SYN and {len(told)} NS to the server without a holder")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


if __name__ == "__main__":
    support.main({
        "nat-4": lambda options, expect: run(replace(options, family=4), expect),
        "full-nat-6": lambda options, expect: run(replace(options, family=6, forward="full-nat"), expect),
    })
