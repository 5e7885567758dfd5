# SPDX-License-Identifier: BSD-3-Clause
"""A server is drained for its maintenance, and then a node. Its old sessions go on, also when every flow changes node and when a
node's daemon starts anew; new ones go elsewhere; and when the last one has ended the server is removed, which moves nothing more."""

from __future__ import annotations

import time

from lab import plan
from lab.analysis import Analysis
from lab.balancer import Member
from lab.topology import Shape
from lab.waiting import wait_for
from scenarios import movement
from scenarios.base import Lab, Options, Result
from scenarios.movement import Movement, shares
from scenarios.verdict import judge
from scenarios.workload import Workload, services
from screen.show import Show

ABOUT = "a server is drained until its sessions have ended, and then a node: nothing breaks"

_SERVER = 2
_NODE = 3
_SERVERS = 4
_DEADLINE = 120  # seconds
_ENDED_LIMIT = 60.0


class DrainDemo:
    def __init__(self, options: Options, show: Show) -> None:
        self.options = options
        self.show = show
        self.members = [Member(n) for n in range(1, _SERVERS + 1)]
        paths = "ecmp" if options.forward == "full-nat" else "lasthop"
        self.lab = Lab(options, Shape(nodes=3, servers=_SERVERS, paths=paths, loss_percent=options.loss),
                       [*services(options), movement.service(options.forward)], self.members)
        self.work = Workload(self.lab, show)
        self.event = 0.0
        self.progress: list[dict[str, float]] = []  # sessions left since the drain
        self.problems: list[str] = []

    def run(self) -> Result:
        started = time.monotonic()
        result = Result("drain")
        lab, work = self.lab, self.work
        with lab:
            lab.start()
            work.serve()
            lab.watch(self.show)
            moved = Movement(lab, self.show)
            moved.begin(shares(self.members))
            work.begin()
            work.until(0.2, "a fifth of the downloads' octets")
            self._drain_server(moved)
            work.until(0.4, "the downloads to go on")
            self._drain_node(moved)
            work.finish()
            work.close()
            self._remove(moved)
            lab.end(self.show)
            work.tally(result)
            moved.tally(result)
            result.problems += self.problems
            result.more["progress"] = self.progress
            analysis = Analysis(lab.capture.all_records(), self.options.family, single=[plan.WHO_PORT])
            judge(lab, result, analysis, self.event)
            result.duration_s = round(time.monotonic() - started, 1)
        return result

    def _drain_server(self, moved: Movement) -> None:
        lab = self.lab
        begun = time.monotonic()
        lab.cluster.drain(_SERVER, _DEADLINE)
        self._look(begun)
        moved.after(f"server{_SERVER} is drained", shares(self.members, (_SERVER,)))
        if self.options.control:
            lab.topology.block_messages()
        self.event = time.time()
        lab.topology.route_via([3, 1, 2])
        restarted = lab.cluster.nodes[1]
        restarted.kill()
        restarted.start()
        self.show.say("all flows change node, and the daemon of node1 is killed and starts anew")
        kept = lab.cluster.ask_node(1, "drains")["servers"]
        if not kept or any(each["server"] != f"s{_SERVER}" for each in kept):
            self.problems.append(f"after its start node1 has these servers drained: {kept}")
        moved.after("a node's daemon starts anew", shares(self.members, (_SERVER,)))
        self._begun = begun
        self._look(begun)

    def _look(self, begun: float) -> None:
        """The nodes' count is too high once sessions have changed node: the former one remembers them for a while."""
        left, listed = self._left(), self.lab.cluster.left(_SERVER)
        self.progress.append({"after_s": round(time.monotonic() - begun, 1), "at_server": left, "in_tables": listed})
        if listed < left:
            self.problems.append(f"server{_SERVER} has {left} sessions, and the nodes list {listed}")
        self.show.say(f"{left} sessions are left at server{_SERVER}; the nodes' tables have {listed}")

    def _left(self) -> int:
        return self.lab.topology.established(_SERVER, (plan.HTTP_PORT, plan.ECHO_PORT))

    def _drain_node(self, moved: Movement) -> None:
        lab = self.lab
        lab.cluster.ask_node(_NODE, "drain", node=True)
        if lab.cluster.is_ready(_NODE):
            self.problems.append(f"node{_NODE} is drained, and says that it is ready")
        moved.after(f"node{_NODE} is drained, and its route not yet gone", shares(self.members, (_SERVER,)))
        lab.topology.route_via([1, 2])
        self.show.say(f"node{_NODE} is drained and out of the routes: its sessions go on at the others")

    def _remove(self, moved: Movement) -> None:
        self._look(self._begun)
        wait_for(f"the end of the sessions at server{_SERVER}", lambda: self._left() == 0, limit=_ENDED_LIMIT, every=0.1)
        self._look(self._begun)
        self.members = [m for m in self.members if m.server != _SERVER]
        self.lab.cluster.change_pool(self.members)
        moved.after(f"server{_SERVER}, without sessions, is removed", shares(self.members))


def run(options: Options, show: Show) -> Result:
    return DrainDemo(options, show).run()
