# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: asymmetric-nat-4 asymmetric-full-nat-6 scale-out-6 pool-change-4 drain-4 drain-full-nat-6 udp-nat-4 udp-full-nat-6 udp-loss-4 conflict-4 conflict-6
"""The demo's other scenarios hold, and every packet on every link is as it must be."""

from __future__ import annotations

from dataclasses import replace

import support
from scenarios import asymmetric, conflict, drain, pool_change, scale_out, udp
from scenarios.base import Options, Scenario
from screen.show import Show


def variant(scenario: Scenario, family: int, forward: str = "nat", loss: float = 0.0) -> support.Case:
    def case(options: Options, expect: support.Expectations) -> None:
        changed = replace(options, forward=forward, family=family, thorough=True, octets=250_000, loss=loss)
        result = scenario(changed, Show("", quiet=True))
        print(result.as_json(), flush=True)
        expect.none_of(result.problems, "nothing is wrong in the run or its capture")
        expect.that(result.held, "the scenario held")

    return case


if __name__ == "__main__":
    support.main({
        "asymmetric-nat-4": variant(asymmetric.run, 4),
        "asymmetric-full-nat-6": variant(asymmetric.run, 6, "full-nat"),
        "scale-out-6": variant(scale_out.run, 6),
        "pool-change-4": variant(pool_change.run, 4),
        "drain-4": variant(drain.run, 4),
        "drain-full-nat-6": variant(drain.run, 6, "full-nat"),
        "udp-nat-4": variant(udp.run, 4),
        "udp-full-nat-6": variant(udp.run, 6, "full-nat"),
        "udp-loss-4": variant(udp.run, 4, loss=5.0),
        "conflict-4": variant(conflict.run, 4),
        "conflict-6": variant(conflict.run, 6),
    })
