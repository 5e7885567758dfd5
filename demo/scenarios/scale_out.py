# SPDX-License-Identifier: BSD-3-Clause
"""A third node is added under load: ECMP hashes anew and half of all sessions change node."""

from __future__ import annotations

import time

from lab.analysis import Analysis
from lab.balancer import Member
from lab.topology import Shape
from scenarios.base import Lab, Options, Result
from scenarios.verdict import judge
from scenarios.workload import Workload, services
from screen.show import Show

ABOUT = "a node is added under load, and ECMP moves half of the sessions"


def run(options: Options, show: Show) -> Result:
    started = time.monotonic()
    result = Result("scale-out")
    paths = "ecmp" if options.forward == "full-nat" else "lasthop"
    lab = Lab(options, Shape(nodes=2, servers=4, paths=paths, loss_percent=options.loss), services(options),
              [Member(n) for n in range(1, 5)])
    work = Workload(lab, show)
    with lab:
        lab.start()
        work.serve()
        lab.watch(show)
        work.begin()
        work.until(0.3, "a third of the downloads' octets")
        lab.topology.add_node(3)
        lab.balancer.start_node(3)
        event = time.time()
        lab.topology.route_via([1, 2, 3])
        show.say("node3 joins the cluster with an empty table")
        work.finish()
        lab.end(show)
        work.tally(result)
        judge(lab, result, Analysis(lab.capture.all_records(), options.family), event)
        result.duration_s = round(time.monotonic() - started, 1)
    return result
