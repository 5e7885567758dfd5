# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: node-4 node-6 holder-4
"""Rules that another program flushed or pushed from the first place come back, rules of others stay, and sessions go on."""

from __future__ import annotations

from dataclasses import replace

import support
from lab import plan
from lab.netns import Namespace
from lab.waiting import wait_for
from scenarios.base import Options
from scenarios.workload import services
from traffic.echo import EchoClient, EchoServer

_FOREIGN = ["-t", "mangle", "-I", "PREROUTING", "-m", "comment", "--comment", "not-ours", "-j", "ACCEPT"]


def program(family: int) -> str:
    return "iptables" if family == 4 else "ip6tables"


def flush(space: Namespace, family: int) -> None:
    for table in ("raw", "mangle"):
        space.run(program(family), "-t", table, "-F")


def flushed_everything(space: Namespace, _: int) -> None:
    space.run("nft", "flush", "ruleset")


def pushed_aside(space: Namespace, family: int) -> None:
    space.run(program(family), *_FOREIGN)


def repaired(space: Namespace, family: int, expect: support.Expectations) -> None:
    before = support.rules(space, family)
    for attack in (flush, flushed_everything):
        attack(space, family)
        support.rules_back(space, {family: before})
        expect.that(True, f"{space.name}: rules are back after {attack.__name__}")
    pushed_aside(space, family)

    def first_again() -> bool:
        jumps = [line for line in support.rules(space, family).splitlines() if line.startswith("-A PREROUTING")]
        foreign = [i for i, line in enumerate(jumps) if "not-ours" in line]
        ours = [i for i, line in enumerate(jumps) if "ASRP" in line]
        return bool(foreign) and bool(ours) and min(ours) < foreign[0]

    wait_for(f"our jump before the foreign rule in {space.name}", first_again, limit=30, every=0.1)
    expect.that("not-ours" in support.rules(space, family), f"{space.name}: the foreign rule stays, behind ours")


def node_rules(options: Options, expect: support.Expectations) -> None:
    lab = support.cluster(options, services(options))
    with lab:
        lab.start()
        for space in lab.topology.servers.values():
            EchoServer(space, plan.ECHO_PORT)
        old = EchoClient(lab.topology.clients[1], plan.service(options.family), plan.ECHO_PORT, 10)
        old.command(f"open {support.PATIENCE}")
        for node in lab.topology.nodes.values():
            repaired(node, options.family, expect)
        heard = old.command(f"speak {support.PATIENCE}")
        expect.that(len(heard.alive) == 10, f"{len(heard.alive)} of 10 sessions live on {heard.broken}")
        fresh = EchoClient(lab.topology.clients[2], plan.service(options.family), plan.ECHO_PORT, 10)
        opened = fresh.command(f"open {support.PATIENCE}")
        expect.that(len(opened.alive) == 10, f"{len(opened.alive)} of 10 new connections {opened.broken}")
        lab.topology.flush_all()
        heard = old.command(f"speak {support.PATIENCE}")
        expect.that(len(heard.alive) == 10, f"{len(heard.alive)} of 10 sessions recovered {heard.broken}")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def holder_rules(options: Options, expect: support.Expectations) -> None:
    lab = support.cluster(options, services(options))
    with lab:
        lab.start()
        for space in lab.topology.servers.values():
            EchoServer(space, plan.ECHO_PORT)
            before = support.rules(space, options.family)
            for attack in (flush, flushed_everything):
                attack(space, options.family)
                support.rules_back(space, {options.family: before})
                expect.that(True, f"{space.name}: rules are back after {attack.__name__}")
        fresh = EchoClient(lab.topology.clients[2], plan.service(options.family), plan.ECHO_PORT, 10)
        fresh.command(f"open {support.PATIENCE}")
        lab.topology.flush_all()
        heard = fresh.command(f"speak {support.PATIENCE}")
        expect.that(len(heard.alive) == 10, f"{len(heard.alive)} of 10 sessions recovered {heard.broken}")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


if __name__ == "__main__":
    support.main({
        "node-4": lambda options, expect: node_rules(replace(options, family=4), expect),
        "node-6": lambda options, expect: node_rules(replace(options, family=6, forward="full-nat"), expect),
        "holder-4": lambda options, expect: holder_rules(replace(options, family=4), expect),
    })
