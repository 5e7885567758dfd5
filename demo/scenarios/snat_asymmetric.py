# SPDX-License-Identifier: BSD-3-Clause
"""The same office, whose packets leave by one gateway and come back by another, from the first to the last. Both die."""

from __future__ import annotations

from scenarios.base import Options, Result
from scenarios.snat import Snat, snat_options
from screen.show import Show

ABOUT = "the same with packets that leave by one gateway and come back by another, all the time; both are killed"


def run(options: Options, show: Show) -> Result:
    return Snat(snat_options(options), show, asymmetric=True).run()
