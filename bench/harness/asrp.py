# SPDX-License-Identifier: BSD-3-Clause
"""asrp on a rig: started for a round, looked at, and taken away with its rules."""
from __future__ import annotations

import json

from lab import plan
from lab.balancer import Member, Service
from lab.cluster import Cluster
from lab.daemon import Daemon

from harness.measure import Programs
from harness.rig import PORT, Rig, full_nat_addresses


def _pids(daemons: dict[int, Daemon]) -> list[int]:
    return [d.process.pid for d in daemons.values() if d.process is not None and d.running]


class Asrp(Cluster):
    """One TCP service with one server. Full NAT has more addresses than the laboratory's, for so many short connections."""

    def __init__(self, rig: Rig, programs: Programs, forward: str) -> None:
        service = Service("bench", PORT, forward=forward, full_nat_ports=(1024, 65535))
        super().__init__(rig, [service], [Member(1)], rig.directory, programs.build)  # type: ignore[arg-type]
        self.rig = rig

    def start(self) -> None:
        self.start_holders()
        for number in self.rig.nodes:
            self.start_node(number)

    def stop(self) -> None:
        """Ends the daemons and removes their rules, so that the next round has none of it."""
        for daemon in [*self.nodes.values(), *self.holders.values()]:
            if daemon.running:
                daemon.stop()
            daemon.space.run(*daemon.argv, "--remove-rules")

    def pids(self) -> list[int]:
        return self.node_pids() + _pids(self.holders)

    def node_pids(self) -> list[int]:
        return _pids(self.nodes)

    def sum_of_counters(self) -> dict[str, int]:
        """The nodes' counters, added up."""
        total: dict[str, int] = {}
        for daemon in self.nodes.values():
            for name, value in self.counters(daemon).items():
                total[name] = total.get(name, 0) + value
        return total

    def _write(self, name: str, text: str) -> str:
        for family in (4, 6):
            text = text.replace(f'addresses = ["{plan.full_nat(family)}"]', f"addresses = {json.dumps(full_nat_addresses(family))}")
        return super()._write(name, text)
