# SPDX-License-Identifier: BSD-3-Clause
"""What the laboratory's scenarios expect of a load balancer, be it asrp or the kernel's NAT for comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from lab import plan


@dataclass
class Service:
    """A port of the service address. Backends listen on the same port."""

    name: str
    port: int
    protocol: str = "tcp"
    forward: str = "nat"  # or full-nat
    explicit_first: str = "none"
    routing: str = "asymmetric"
    push: str = "auto"
    full_nat_ports: tuple[int, int] = plan.FULL_NAT_PORTS
    no_session: str = "drop"
    on_conflict: str = "query"
    udp_linger: int = 300
    policy: str = ""  # of its pool; empty: the default


@dataclass
class Member:
    """A server's place in the pool."""

    server: int
    weight: int = 1
    state: str = "active"  # or joining, disabled
    holder: str = "yes"


@dataclass
class Pool:
    """The servers of all services, and what the pool was before, newest first."""

    members: list[Member] = field(default_factory=list)
    past: list[list[Member]] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)  # further lines of each pool's table in the nodes' files


class Balancer(Protocol):
    """Runs on the nodes of a topology."""

    name: str

    def start_holders(self) -> None:
        """What the hosts of sessions need besides their applications."""

    def start_node(self, number: int) -> None:
        """Returns when the node serves."""

    def join(self, server: int, weight: int) -> None:
        """A server takes part from now on, on all running nodes; returns when they use it."""

    def problems(self) -> list[str]:
        """What went wrong on the balancer's side, for the report of a failed run."""
