# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
"""With recovery off the same events lose the sessions that move: the failover tests can fail."""

from __future__ import annotations

from dataclasses import replace

import support
from scenarios import failover
from scenarios.base import Options
from screen.show import Show


def recovery_off(options: Options, expect: support.Expectations) -> None:
    result = failover.run(replace(options, control=True, octets=400_000), Show("", quiet=True))
    print(result.as_json(), flush=True)
    lost = result.sessions["total"] - result.sessions["survived"]
    expect.that(result.held, f"{lost} of {result.sessions['total']} sessions are lost")


if __name__ == "__main__":
    support.main({"recovery-off": recovery_off})
