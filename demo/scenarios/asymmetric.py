# SPDX-License-Identifier: BSD-3-Clause
"""Requests pass nodes 1 and 2, all answers pass node 3, which knows the sessions by PS alone. Then the sides change places."""

from __future__ import annotations

import time

from lab.analysis import Analysis
from lab.balancer import Member
from lab.topology import Shape
from scenarios.base import Lab, Options, Result
from scenarios.verdict import judge
from scenarios.workload import Workload, services
from screen.show import Show

ABOUT = "requests pass one node, answers another: PS restores each session there; then both sides change nodes"


def run(options: Options, show: Show) -> Result:
    started = time.monotonic()
    result = Result("asymmetric")
    push = "auto" if options.forward == "full-nat" else "always"
    lab = Lab(options, Shape(nodes=3, servers=4, paths="ecmp", loss_percent=options.loss), services(options, push),
              [Member(n) for n in range(1, 5)])
    work = Workload(lab, show)
    with lab:
        lab.start()
        lab.topology.route_via([1, 2], "edge")
        lab.topology.route_via([3], "core")
        work.serve()
        show.say("requests go by node1 and node2, answers by node3")
        lab.watch(show)
        work.begin()
        work.until(0.3, "a third of the downloads' octets")
        event = time.time()
        lab.topology.route_via([3], "edge")
        lab.topology.route_via([1, 2], "core")
        show.say("requests go by node3, answers by node1 and node2")
        work.finish()
        lab.end(show)
        work.tally(result)
        analysis = Analysis(lab.capture.all_records(), options.family)
        pushed = sum(analysis.pushed(session, 3) for session in analysis.live_at(event))
        result.more["pushed"] = pushed
        if pushed < work.total and options.loss == 0:
            result.problems.append(f"node3 learned only {pushed} of {work.total} sessions by PS before it forwarded an answer")
        judge(lab, result, analysis, event)
        result.duration_s = round(time.monotonic() - started, 1)
    return result
