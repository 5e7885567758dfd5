# SPDX-License-Identifier: BSD-3-Clause
"""An office's gateways: asrpd-node in ACT mode on every node, asrpd-holder on every client."""

from __future__ import annotations

from lab import configuration
from lab.cluster import Cluster
from lab.netns import Namespace
from lab.topology import Topology


class Gateways(Cluster):
    """A cluster without services. Without holders it is a source NAT like any other."""

    name = "asrpd-node, ACT mode"

    def __init__(self, topology: Topology, directory: str, programs: str, has_holders: bool = True) -> None:
        super().__init__(topology, [], [], directory, programs)
        self.has_holders = has_holders

    @property
    def holder_spaces(self) -> dict[int, Namespace]:
        return self.topology.clients if self.has_holders else {}

    def knows_gateways(self, number: int) -> bool:
        """Whether a holder has had an answer from one."""
        return bool(self.ask_holder(number, "status")["gauges"]["routes_proven"])

    def unprotected(self) -> list[str]:
        """Sessions that clients have open, by their sockets, of which their holders have no backup."""
        found = []
        for number in self.holders:
            backed = {(line["protocol"], line["client"].rsplit(":", 1)[1])
                      for line in self.ask_holder(number, "backups")["lines"] if line["mode"] == "act"}
            for line in self.topology.clients[number].run("ss", "-Htun").splitlines():
                protocol, state, _, _, local, _ = line.split()[:6]
                if state == "ESTAB" and (protocol, local.rsplit(":", 1)[1]) not in backed:
                    found.append(f"client{number}: {line}")
        return found

    def _holder_file(self, number: int) -> str:
        return configuration.client_file(number, self.directory, self.holder_extra)

    def _node_file(self, number: int) -> str:
        return configuration.gateway_file(number, self.topology.clients, self.directory, self.node_extra)
