# SPDX-License-Identifier: BSD-3-Clause
"""The comparison: plain kernel DNAT with consistent hashing of client address and port, set up at its best.

The hash goes to slots of which a joining server takes its share and nobody else's move, so no more flows change server than must.
tcp_loose picks up flows in mid-stream: by the hash if the client's packet comes first, and if the server's does, by giving it the
service's address, which is always right."""

from __future__ import annotations

from lab import plan
from lab.balancer import Member, Service
from lab.netns import run
from lab.topology import FAMILIES, Topology

SLOTS = 60


class KernelNat:
    """DNAT by jhash on every node; no state is shared."""

    name = "kernel DNAT (nft jhash, tcp_loose=1)"

    def __init__(self, topology: Topology, services: list[Service], members: list[Member]) -> None:
        self.topology = topology
        self.services = services
        self.weights = {m.server: m.weight for m in members if m.state == "active"}
        servers = sorted(self.weights)
        self.owners = [servers[slot * len(servers) // SLOTS] for slot in range(SLOTS)]

    def start_holders(self) -> None:
        """Nobody needs anything."""

    def start_node(self, number: int) -> None:
        node = self.topology.nodes[number]
        self._load(number)
        node.sysctl({"net.netfilter.nf_conntrack_tcp_loose": 1, "net.netfilter.nf_conntrack_tcp_be_liberal": 1})

    def join(self, server: int, weight: int) -> None:
        self.weights[server] = weight
        total = sum(self.weights.values())
        share = {s: SLOTS * w // total for s, w in self.weights.items()}
        for slot, owner in enumerate(self.owners):
            if self.owners.count(owner) > share[owner]:
                self.owners[slot] = server
        for number in self.topology.nodes:
            self._load(number)

    def problems(self) -> list[str]:
        return []

    def _load(self, number: int) -> None:
        """One transaction: established sessions keep their entries."""
        lines = []
        for family in FAMILIES:
            ip = "ip" if family == 4 else "ip6"
            table = f"{ip} compare"
            lines += [f"add table {table}", f"delete table {table}", f"table {table} {{"]
            lines.append("chain guard { type filter hook prerouting priority -150; policy accept;")
            lines += ["ct state invalid drop", "}"]
            lines.append("chain back { type nat hook postrouting priority 100; policy accept;")
            for service in self.services:
                lines.append(f'iifname "tocore" {service.protocol} sport {service.port} snat to {plan.service(family)}')
            lines.append("}")
            lines.append("chain translate { type nat hook prerouting priority -100; policy accept;")
            slots = ", ".join(f"{slot} : {plan.server(owner, family)}" for slot, owner in enumerate(self.owners))
            for service in self.services:
                where = f"{ip} daddr {plan.service(family)} {service.protocol} dport {service.port}"
                key = f"{ip} saddr . {service.protocol} sport"
                lines.append(f"{where} dnat to jhash {key} mod {SLOTS} seed 0x5eed map {{ {slots} }}")
            lines += ["}", "}"]
        node = self.topology.nodes[number]
        run(node.command("nft", "-f", "-"), stdin="\n".join(lines) + "\n")
