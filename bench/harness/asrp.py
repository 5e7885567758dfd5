# SPDX-License-Identifier: BSD-3-Clause
"""asrp on a rig: started for a round, looked at, and taken away with its rules."""
from __future__ import annotations

import json

from lab import configuration, plan
from lab.balancer import Member, Service
from lab.cluster import Cluster
from lab.daemon import Daemon
from lab.netns import Namespace

from harness.measure import Programs
from harness.rig import PORT, Rig, full_nat_addresses, office, outside


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


class AsrpGateway(Asrp):
    """ACT mode: the node is a gateway, and the client has the holder, or none. Each client address has all ports of an outside address, so
    that none is taken twice within a round."""

    def __init__(self, rig: Rig, programs: Programs, has_holder: bool) -> None:
        super().__init__(rig, programs, "nat")
        self.has_holder = has_holder

    @property
    def holder_spaces(self) -> dict[int, Namespace]:
        return {1: self.rig.client} if self.has_holder else {}

    def _holder_file(self, number: int) -> str:
        gateways = ", ".join(f'"{plan.link("client", 1, family)[0]}"' for family in (4, 6))
        return (f'[holder]\nstate_dir = "{self.directory}/holder{number}"\n'
                f'control_socket = "{configuration.holder_socket(number, self.directory)}"\n'
                f"[act]\nenabled = true\ngateways = [{gateways}]\n")

    def _node_file(self, number: int) -> str:
        own = ", ".join(f'"{plan.link("client", 1, family)[0]}"' for family in (4, 6))
        text = (f'[node]\nlocal_ips = [{own}]\nslice = 0\nstate_dir = "{self.directory}/node{number}"\n'
                f'control_socket = "{configuration.node_socket(number, self.directory)}"\n'
                f'[keys]\nplacement_key = "{configuration.PLACEMENT_KEY}"\n'
                f'cookie_keys = [{{ key = "{configuration.COOKIE_KEY}", use = "sign" }}]\n[nat]\nslices = 1\n')
        for family in (4, 6):
            text += (f'[[networks]]\nname = "office-{family}"\nclients = ["{office(family)}"]\noutside = ["{outside(family)}"]\n'
                     "ports_per_client = 64512\n")
        return text
