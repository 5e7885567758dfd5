# SPDX-License-Identifier: BSD-3-Clause
"""A server joins; then every flow changes node. Old sessions stay at their servers although the hash now says otherwise for a
third of them; new ones use the new server too."""

from __future__ import annotations

import time

from lab import plan
from lab.analysis import Analysis
from lab.balancer import Member
from lab.topology import Shape
from lab.waiting import wait_for
from scenarios.base import Lab, Options, Result
from scenarios.verdict import judge
from scenarios.workload import TRANSFER_LIMIT, Workload, services
from screen.show import Show
from traffic.web import Content, Downloads

ABOUT = "a server joins and all flows change node: old sessions stay at their server, new ones use the new one"

_NEW = 30  # downloads that begin after the change


def run(options: Options, show: Show) -> Result:
    started = time.monotonic()
    result = Result("pool-change")
    paths = "ecmp" if options.forward == "full-nat" else "lasthop"
    members = [Member(n) for n in range(1, 5)] + [Member(5, weight=2, state="joining")]
    lab = Lab(options, Shape(nodes=3, servers=5, paths=paths, loss_percent=options.loss), services(options), members)
    work = Workload(lab, show)
    with lab:
        lab.start()
        work.serve()
        lab.watch(show)
        work.begin()
        work.until(0.3, "a third of the downloads' octets")
        lab.balancer.join(5, 2)
        event = time.time()
        lab.topology.route_via([3, 1, 2])
        show.say("server5 joins the pool, and the router hashes anew: all flows change node")
        later = _new_downloads(lab, work)
        work.finish()
        wait_for("the new downloads", lambda: later.poll() == 0, limit=TRANSFER_LIMIT)
        show.say(f"downloads begun after the change: {later.exact()} of {_NEW} byte-exact")
        lab.end(show)
        work.tally(result)
        for kind, good in (("transfers", "byte_exact"), ("sessions", "survived")):
            counts = getattr(result, kind)
            counts["total"] += _NEW
            counts[good] += later.exact()
        analysis = Analysis(lab.capture.all_records(), options.family)
        old = analysis.live_at(event)
        moved_servers = [s for s in old if len(analysis.servers_of(s)) != 1]
        result.problems += [f"session {s} was sent to servers {sorted(analysis.servers_of(s))}" for s in moved_servers]
        new_server = sum(5 in analysis.servers_of(s) for s in analysis.opened if s not in old)
        result.more |= {"new_sessions": len(analysis.opened) - len(old), "new_sessions_at_new_server": new_server}
        if new_server == 0:
            result.problems.append("no new session went to the new server")
        show.say(f"of {len(analysis.opened) - len(old)} new sessions {new_server} went to the new server")
        judge(lab, result, analysis, event)
        result.duration_s = round(time.monotonic() - started, 1)
    return result


def _new_downloads(lab: Lab, work: Workload) -> Downloads:
    content = Content(lab.directory, work.options.transfers, work.options.octets)
    content.digests = content.digests[:_NEW]
    return Downloads(content, lab.topology.clients, plan.service(lab.options.family), TRANSFER_LIMIT, work.stall, label="new")
