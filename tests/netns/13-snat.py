# SPDX-License-Identifier: BSD-3-Clause
# limit: 120
# cases: gateways-4 asymmetric-6 control neighbours
"""The demo's office behind gateways holds, in both families, also where packets leave and come back by different gateways, and every
packet on every link is as it must be. Without holders sessions are lost, or the demo would prove nothing."""

from __future__ import annotations

from dataclasses import replace

import support
from lab import plan
from lab.ground import OFFICE
from lab.topology import Shape
from scenarios import snat, snat_asymmetric
from scenarios.base import Lab, Options, Scenario
from screen.show import Show


def variant(scenario: Scenario, family: int) -> support.Case:
    def case(options: Options, expect: support.Expectations) -> None:
        result = scenario(replace(options, family=family, thorough=True, octets=160_000, rate=25_000), Show("", quiet=True))
        print(result.as_json(), flush=True)
        expect.none_of(result.problems, "nothing is wrong in the run or its captures")
        expect.that(result.held, f"all {result.sessions['total']} sessions survived, {result.more['moved']} moved")

    return case


def control(options: Options, expect: support.Expectations) -> None:
    result = snat.run(replace(options, control=True, octets=100_000, rate=25_000), Show("", quiet=True))
    print(result.as_json(), flush=True)
    lost = result.sessions["total"] - result.sessions["survived"]
    expect.that(result.held, f"without holders {lost} of {result.sessions['total']} sessions are lost")
    expect.that(result.messages.get("NS", 0) == 0 and result.messages.get("RS", 0) == 0, "no backup was made, and none restored")


def neighbours(options: Options, expect: support.Expectations) -> None:
    """From the first packet on the routers know all gateways: one that isn't known yet is passed over, and an HS and its SYN, a few
    microseconds apart, would take two of them."""
    shape = Shape(clients=1, nodes=3, servers=1, ground=OFFICE)
    with Lab(options, shape, [], []) as lab:
        lab.start()
        for router, role in ((lab.topology.edge, "up"), (lab.topology.core, "down")):
            for family in (4, 6):
                known = router.run("ip", f"-{family}", "neigh", "show", "nud", "reachable", "nud", "stale", "nud", "delay").split()
                unknown = [n for n in lab.topology.nodes if plan.link(role, n, family)[1] not in known]
                expect.none_of([f"gateway {n}" for n in unknown], f"a router knows its gateways, IPv{family}")


if __name__ == "__main__":
    support.main({
        "gateways-4": variant(snat.run, 4),
        "asymmetric-6": variant(snat_asymmetric.run, 6),
        "control": control,
        "neighbours": neighbours,
    })
