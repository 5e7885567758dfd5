# SPDX-License-Identifier: BSD-3-Clause
"""The peer: the same service on the kernel's own NAT, without any daemon and without anything that would survive a node."""
from __future__ import annotations

from lab import plan

from harness.rig import PORT, Rig

TABLE = "bench"


def install(rig: Rig, full_nat: bool) -> None:
    """DNAT to the server; with full NAT each node also uses an address of its own, for answers must come back to it."""
    for number, node in rig.nodes.items():
        lines = []
        for family in (4, 6):
            ip = "ip" if family == 4 else "ip6"
            target = f"{plan.bracketed(plan.server(1, family))}:{PORT}"
            lines += [
                f"table {ip} {TABLE} {{",
                "  chain pre { type nat hook prerouting priority -100;",
                f"    {ip} daddr {plan.service(family)} tcp dport {PORT} dnat to {target}",
                "  }",
                "  chain post { type nat hook postrouting priority 100;",
                f"    {ip} daddr {plan.server(1, family)} snat to {plan.node(number, family)}" if full_nat else "",
                "  }",
                "}",
            ]
        node.run("nft", "-f", "-", stdin="\n".join(lines) + "\n")


def remove(rig: Rig) -> None:
    for node in rig.nodes.values():
        for ip in ("ip", "ip6"):
            node.run("nft", "delete", "table", ip, TABLE, check=False)
