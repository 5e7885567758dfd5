# SPDX-License-Identifier: BSD-3-Clause
"""The pool changes in every way under load: a server is drained, one joins, the drained one is removed, a weight changes; and every
flow changes node in between. Old sessions stay at their servers although the hash now says otherwise for many of them; of the new
ones no more go elsewhere than must."""

from __future__ import annotations

import time
from dataclasses import replace

from lab import plan
from lab.analysis import Analysis
from lab.balancer import Member
from lab.topology import Shape
from lab.waiting import wait_for
from scenarios import movement
from scenarios.base import Lab, Options, Result
from scenarios.movement import Movement, shares
from scenarios.verdict import judge
from scenarios.workload import TRANSFER_LIMIT, Workload, services
from screen.show import Show
from traffic.web import Content, Downloads

ABOUT = "servers are drained, added and removed, and weights change: old sessions stay where they are, few new ones move"

_NEW = 30  # downloads that begin after the change
_JOINING = 5
_LEAVING = 6


class PoolChange:
    """`kernel_nat` can only let a server join."""

    def __init__(self, options: Options, show: Show) -> None:
        self.options = options
        self.show = show
        self.members = [Member(n) for n in range(1, 5)] + [Member(_JOINING, weight=2, state="joining")]
        if not options.kernel_nat:
            self.members.append(Member(_LEAVING))
        paths = "ecmp" if options.forward == "full-nat" else "lasthop"
        self.lab = Lab(options, Shape(nodes=3, servers=len(self.members), paths=paths, loss_percent=options.loss),
                       [*services(options), movement.service(options.forward)], self.members)
        self.work = Workload(self.lab, show)
        self.event = 0.0

    def run(self) -> Result:
        started = time.monotonic()
        result = Result("pool-change")
        lab, work, show = self.lab, self.work, self.show
        with lab:
            lab.start()
            work.serve()
            lab.watch(show)
            moved = None if self.options.kernel_nat else Movement(lab, show)
            if moved is not None:
                self._drain(moved)
            work.begin()
            work.until(0.3, "a third of the downloads' octets")
            if self.options.control:
                lab.topology.block_messages()
            self._join()
            later = _new_downloads(lab, work)
            if moved is not None:
                moved.after(f"server{_JOINING} joins with weight 2", shares(self.members, (_LEAVING,)))
                self._remove_and_weigh(moved)
            work.finish()
            wait_for("the new downloads", lambda: later.poll() == 0, limit=TRANSFER_LIMIT)
            show.say(f"downloads begun after the change: {later.exact()} of {_NEW} byte-exact")
            lab.end(show)
            self._tally(result, later)
            if moved is not None:
                moved.tally(result)
            self._judge(result)
            result.duration_s = round(time.monotonic() - started, 1)
        return result

    def _drain(self, moved: Movement) -> None:
        moved.begin(shares(self.members))
        self.lab.cluster.drain(_LEAVING)
        moved.after(f"server{_LEAVING} is drained", shares(self.members, (_LEAVING,)))

    def _join(self) -> None:
        self.lab.balancer.join(_JOINING, 2)
        self.members = [replace(m, state="active") if m.server == _JOINING else m for m in self.members]
        self.event = time.time()
        self.lab.topology.route_via([3, 1, 2])
        self.show.say(f"server{_JOINING} joins the pool, and the router hashes anew: all flows change node")

    def _remove_and_weigh(self, moved: Movement) -> None:
        self.members = [m for m in self.members if m.server != _LEAVING]
        self.lab.cluster.change_pool(self.members)
        moved.after(f"server{_LEAVING}, drained, is removed", shares(self.members))
        self.members = [replace(m, weight=3) if m.server == 1 else m for m in self.members]
        self.lab.cluster.change_pool(self.members)
        moved.after("the weight of server1 goes from 1 to 3", shares(self.members))

    def _tally(self, result: Result, later: Downloads) -> None:
        self.work.tally(result)
        for kind, good in (("transfers", "byte_exact"), ("sessions", "survived")):
            counts = getattr(result, kind)
            counts["total"] += _NEW
            counts[good] += later.exact()

    def _judge(self, result: Result) -> None:
        analysis = Analysis(self.lab.capture.all_records(), self.options.family, single=[plan.WHO_PORT])
        old = analysis.live_at(self.event)
        moved_servers = [s for s in old if len(analysis.servers_of(s)) != 1]
        result.problems += [f"session {s} was sent to servers {sorted(analysis.servers_of(s))}" for s in moved_servers]
        new = [s for s in analysis.opened if s not in old and s.server_port != plan.WHO_PORT]
        at_joined = sum(_JOINING in analysis.servers_of(s) for s in new)
        result.more |= {"new_sessions": len(new), "new_sessions_at_new_server": at_joined}
        if at_joined == 0:
            result.problems.append("no new session went to the new server")
        self.show.say(f"of {len(new)} new sessions {at_joined} went to the new server")
        judge(self.lab, result, analysis, self.event)


def run(options: Options, show: Show) -> Result:
    return PoolChange(options, show).run()


def _new_downloads(lab: Lab, work: Workload) -> Downloads:
    content = Content(lab.directory, work.options.transfers, work.options.octets)
    content.digests = content.digests[:_NEW]
    return Downloads(content, lab.topology.clients, plan.service(lab.options.family), TRANSFER_LIMIT, work.stall, label="new")
