# SPDX-License-Identifier: BSD-3-Clause
"""The addresses of the laboratory: pure functions of role, number and family. Numbers start at 1.

    client i --- edge ===(ECMP)=== node n ===(ECMP)=== core --- server m

In front of gateways (ACT mode) the clients are an office's staff with private addresses, and the servers sites somewhere else.
"""

from __future__ import annotations

HTTP_PORT = 80
ECHO_PORT = 7022  # long-lived connections that idle, as SSH's do
DNS_PORT = 53
UDP_FLOW_PORT = 7777
SSH_PORT = 22
RATE_PORT = 5201  # and the next ones: a run of iperf3 has a server of its own
GAME_PORT = 27015
WHO_PORT = 7070  # each server says who it is
ASRP_PORT = 51200
FULL_NAT_PORTS = (20000, 59999)


def link(role: str, number: int, family: int) -> tuple[str, str, int]:
    """The link between a router and `role` `number`: address of the router, address of the other end, prefix length.
    Roles: client or staff, up (node to edge), down (node to core), server or site."""
    if family == 4:
        prefix = {"client": "198.18", "staff": "10.8", "up": "10.1", "down": "10.2", "server": "10.3", "site": "198.19"}[role]
        return f"{prefix}.{number}.1", f"{prefix}.{number}.2", 24
    prefix = {"client": "2001:db8:c", "staff": "fd00:8", "up": "fd00:1", "down": "fd00:2", "server": "fd00:3",
              "site": "2001:db8:d"}[role]
    return f"{prefix}:{number}::1", f"{prefix}:{number}::2", 64


def client(number: int, family: int) -> str:
    return link("client", number, family)[1]


def server(number: int, family: int) -> str:
    return link("server", number, family)[1]


def node(number: int, family: int) -> str:
    """The node's own address: the one on the servers' side."""
    return link("down", number, family)[1]


def service(family: int) -> str:
    """The address that clients talk to."""
    return "203.0.113.10" if family == 4 else "2001:db8:f::10"


def full_nat(family: int) -> str:
    """The address that full NAT uses; it belongs to the cluster as a whole."""
    return "10.9.0.1" if family == 4 else "fd00:9::1"


def outside(family: int) -> str:
    """The address that gateways put in the place of the clients'; it belongs to the cluster as a whole."""
    return "203.0.113.20" if family == 4 else "2001:db8:f::20"


def all_clients(family: int) -> str:
    return "198.18.0.0/16" if family == 4 else "2001:db8:c::/48"


def all_servers(family: int) -> str:
    return "10.3.0.0/16" if family == 4 else "fd00:3::/32"


def all_nodes(family: int) -> str:
    return "10.2.0.0/16" if family == 4 else "fd00:2::/32"


def all_staff(family: int) -> str:
    return "10.8.0.0/16" if family == 4 else "fd00:8::/32"


def all_gateways(family: int) -> str:
    """The gateways' own addresses: those on the clients' side."""
    return "10.1.0.0/16" if family == 4 else "fd00:1::/32"


def all_sites(family: int) -> str:
    return "198.19.0.0/16" if family == 4 else "2001:db8:d::/48"


def bracketed(address: str) -> str:
    """As an URL or a TOML endpoint writes it."""
    return f"[{address}]" if ":" in address else address


def role_number(address: str, role: str) -> int:
    """The number of whatever has `address` in this role, 0 if nothing has."""
    family = 6 if ":" in address else 4
    separator = ":" if family == 6 else "."
    start = link(role, 1, family)[1].split(separator + "1" + (separator if family == 4 else "::"))[0] + separator
    if not address.startswith(start):
        return 0
    return int(address[len(start):].split(separator)[0])
