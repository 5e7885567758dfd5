# SPDX-License-Identifier: BSD-3-Clause
"""The peer: the same service on the kernel's own NAT, without any daemon and without anything that would survive a node."""
from __future__ import annotations

import ipaddress

from lab import plan

from harness.rig import PORT, Rig, office, outside

TABLE = "bench"


def install(rig: Rig, forward: str) -> None:
    """nat: DNAT to the server; full-nat: each node also uses an address of its own, for answers must come back to it. snat: source
    NAT of the clients to as many addresses as a gateway in ACT mode has for them."""
    for number, node in rig.nodes.items():
        lines = []
        for family in (4, 6):
            ip = "ip" if family == 4 else "ip6"
            pool = ipaddress.ip_network(outside(family))
            target = f"{plan.bracketed(plan.server(1, family))}:{PORT}"
            lines += [
                f"table {ip} {TABLE} {{",
                "  chain pre { type nat hook prerouting priority -100;",
                f"    {ip} daddr {plan.service(family)} tcp dport {PORT} dnat to {target}" if forward in ("nat", "full-nat") else "",
                "  }",
                "  chain post { type nat hook postrouting priority 100;",
                f"    {ip} daddr {plan.server(1, family)} snat to {plan.node(number, family)}" if forward == "full-nat" else "",
                f"    {ip} saddr {office(family)} snat to {pool[0]}-{pool[-1]}" if forward.startswith("snat") else "",
                "  }",
                "}",
            ]
        node.run("nft", "-f", "-", stdin="\n".join(lines) + "\n")


def remove(rig: Rig) -> None:
    for node in rig.nodes.values():
        for ip in ("ip", "ip6"):
            node.run("nft", "delete", "table", ip, TABLE, check=False)
