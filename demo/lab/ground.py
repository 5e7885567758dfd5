# SPDX-License-Identifier: BSD-3-Clause
"""What is in front of the nodes and behind them, of which addresses and routes follow: clients and the servers of a load balancer, or
an office and sites of the world with gateways in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from lab import plan


@dataclass(frozen=True)
class Ground:
    """`edge` and `core` in the names are the routers."""

    name: str
    client_role: str  # what is behind edge
    server_role: str  # what is behind core
    holders_at: str  # the router beside which the holders are; it sees all messages
    shared_address: Callable[[int], str]  # of a family: an address of the cluster as a whole, which each entry of a session has
    from_edge: Callable[[int], list[str]]  # what edge sends to the nodes
    from_core: Callable[[int], list[str]]
    to_edge: Callable[[int], list[str]]  # what nodes send to edge
    to_core: Callable[[int], list[str]]
    nowhere: Callable[[int], list[str]]  # what nodes drop when they have no other way for it

    def routed(self, router: str, family: int) -> list[str]:
        """What a router sends to the nodes."""
        return (self.from_edge if router == "edge" else self.from_core)(family)

    def node_routes(self, number: int, family: int) -> list[str]:
        """The routes of a node, as `ip` takes them."""
        edge_address, core_address = (plan.link(role, number, family)[0] for role in ("up", "down"))
        return [*(f"route add {target} via {edge_address} dev toedge" for target in self.to_edge(family)),
                *(f"route add {target} via {core_address} dev tocore" for target in self.to_core(family)),
                *(f"route add blackhole {target} metric 9999" for target in self.nowhere(family))]

    def targets(self, servers: int, family: int) -> list[str]:
        """The addresses that clients talk to."""
        if self.server_role == "server":
            return [self.shared_address(family)]
        return [self.server(number, family) for number in range(1, servers + 1)]

    def client(self, number: int, family: int) -> str:
        """The client's address."""
        return plan.link(self.client_role, number, family)[1]

    def server(self, number: int, family: int) -> str:
        """The server's address."""
        return plan.link(self.server_role, number, family)[1]


FARM = Ground(
    "load balancer", "client", "server", "core", plan.service,
    from_edge=lambda family: [plan.service(family)],
    from_core=lambda family: [plan.all_clients(family), plan.full_nat(family)],
    to_edge=lambda family: ["default"],
    to_core=lambda family: [plan.all_servers(family), plan.all_nodes(family)],
    nowhere=lambda family: [])

OFFICE = Ground(
    "office", "staff", "site", "edge", plan.outside,
    from_edge=lambda family: [plan.all_sites(family)],
    from_core=lambda family: [plan.outside(family)],
    to_edge=lambda family: [plan.all_staff(family)],
    to_core=lambda family: ["default"],
    # A gateway whose link to the office is down would send what is for clients back by its default route.
    nowhere=lambda family: [plan.all_staff(family)])
