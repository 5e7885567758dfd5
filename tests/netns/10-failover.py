# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: nat-4 nat-6 full-nat-4 full-nat-6 loss-nat-4 loss-full-nat-6 half-nat-6 half-full-nat-4 flush-nat-4 flush-full-nat-6
"""A node is killed in mid-transfer while a server joins: no session is lost, and every packet on every link is as it must be.
Also with loss on every link, with half of the nodes killed at once, and with all tables emptied at once."""

from __future__ import annotations

from dataclasses import replace

import support
from scenarios import failover
from scenarios.base import Options
from screen.show import Show


def run(options: Options, expect: support.Expectations) -> None:
    result = failover.run(options, Show("", quiet=True))
    print(result.as_json(), flush=True)
    expect.none_of(result.problems, "nothing is wrong in the run or its capture")
    expect.that(result.held, f"all {result.sessions['total']} sessions survived, {result.more['moved']} moved")


def variant(forward: str, family: int, **changes: object) -> support.Case:
    def case(options: Options, expect: support.Expectations) -> None:
        base = replace(options, forward=forward, family=family, thorough=True, octets=400_000, rate=50_000)
        run(replace(base, **changes), expect)

    return case


if __name__ == "__main__":
    LOSS = {"loss": 5.0, "octets": 200_000, "rate": 25_000}
    support.main({
        "nat-4": variant("nat", 4),
        "nat-6": variant("nat", 6),
        "full-nat-4": variant("full-nat", 4),
        "full-nat-6": variant("full-nat", 6),
        "loss-nat-4": variant("nat", 4, **LOSS),
        "loss-full-nat-6": variant("full-nat", 6, **LOSS),
        "half-nat-6": variant("nat", 6, kill=2),
        "half-full-nat-4": variant("full-nat", 4, kill=2),
        "flush-nat-4": variant("nat", 4, flush_all=True),
        "flush-full-nat-6": variant("full-nat", 6, flush_all=True),
    })
