# SPDX-License-Identifier: BSD-3-Clause
"""The daemons' configuration files for the laboratory."""

from __future__ import annotations

from typing import Iterable

from lab import plan
from lab.balancer import Member, Pool, Service
from lab.topology import FAMILIES

PLACEMENT_KEY = "000102030405060708090a0b0c0d0e0f"
SLICES = 16  # of each client's ports
_WHOLE = {4: 32, 6: 128}  # length of a prefix that is one address
COOKIE_KEY = "101112131415161718191a1b1c1d1e1f"


def _node_head(number: int, role: str, directory: str, *more: str) -> list[str]:
    """The node's own addresses are those of its link of this role; `more` lines belong to [node]."""
    own = ", ".join(f'"{plan.link(role, number, family)[1]}"' for family in FAMILIES)
    return [
        "[node]",
        f"local_ips = [{own}]",
        f'state_dir = "{directory}/node{number}"',
        f'control_socket = "{node_socket(number, directory)}"',
        *more,
        "[keys]",
        f'placement_key = "{PLACEMENT_KEY}"',
        f'cookie_keys = [{{ key = "{COOKIE_KEY}", use = "sign" }}]',
    ]


def node_file(number: int, services: list[Service], pool: Pool, directory: str, extra: str = "") -> str:
    """A node's TOML: each service in both families, with the same servers. `extra` is appended as it is."""
    lines = _node_head(number, "down", directory)
    for service in services:
        for family in FAMILIES:
            lines += _pool(service, pool, family) + _service(service, family)
    return "\n".join(lines) + "\n" + extra


def _pool(service: Service, pool: Pool, family: int) -> list[str]:
    lines = ["[[pools]]", f'name = "{service.name}-{family}"']
    if service.policy:
        lines.append(f'policy = "{service.policy}"')
    lines += pool.settings
    for member in pool.members:
        address = f"{plan.bracketed(plan.server(member.server, family))}:{service.port}"
        lines += ["[[pools.servers]]", f'id = "s{member.server}"', f'address = "{address}"', f"weight = {member.weight}",
                  f'state = "{member.state}"', f'holder = "{member.holder}"']
    for epoch in pool.past:
        members = ", ".join(f'{{ id = "s{m.server}", weight = {m.weight} }}' for m in epoch)
        lines += ["[[pools.past_epochs]]", f"members = [{members}]"]
    return lines


def _service(service: Service, family: int) -> list[str]:
    lines = [
        "[[services]]",
        f'name = "{service.name}-{family}"',
        f'address = "{plan.bracketed(plan.service(family))}:{service.port}"',
        f'protocol = "{service.protocol}"',
        f'forward = "{service.forward}"',
        f'pool = "{service.name}-{family}"',
        f'routing = "{service.routing}"',
        f'on_conflict = "{service.on_conflict}"',
    ]
    if service.protocol == "udp":
        lines.append(f'explicit_first = "{service.explicit_first}"')
    else:
        lines.append(f'no_session = "{service.no_session}"')
    if service.forward == "full-nat":
        first, last = service.full_nat_ports
        lines += ["[services.full_nat]", f'addresses = ["{plan.full_nat(family)}"]', f'ports = "{first}-{last}"']
    return lines


def holder_file(number: int, services: list[Service], directory: str, extra: str = "") -> str:
    """A holder's TOML."""
    lines = [
        "[holder]",
        f'nodes = ["{plan.all_nodes(4)}", "{plan.all_nodes(6)}"]',
        f'state_dir = "{directory}/holder{number}"',
        f'control_socket = "{holder_socket(number, directory)}"',
    ]
    for service in services:
        lines += ["[[services]]", f'protocol = "{service.protocol}"', f"port = {service.port}", f'push = "{service.push}"']
        if service.protocol == "udp":
            lines.append(f'udp_linger = "{service.udp_linger}s"')
    return "\n".join(lines) + "\n" + extra


def gateway_file(number: int, clients: Iterable[int], directory: str, extra: str = "") -> str:
    """A gateway's TOML (ACT mode): in each family one outside address for all clients."""
    lines = _node_head(number, "up", directory, f"slice = {number % SLICES}")
    lines += ["[nat]", f"slices = {SLICES}"]
    for family in FAMILIES:
        each = ", ".join(f'"{plan.link("staff", n, family)[1]}/{_WHOLE[family]}"' for n in clients)
        lines += ["[[networks]]", f'name = "office-{family}"', f"clients = [{each}]", f'outside = ["{plan.outside(family)}/{_WHOLE[family]}"]']
    return "\n".join(lines) + "\n" + extra


def client_file(number: int, directory: str, extra: str = "") -> str:
    """The TOML of a holder beside an ACT mode's client."""
    lines = [
        "[holder]",
        f'state_dir = "{directory}/holder{number}"',
        f'control_socket = "{holder_socket(number, directory)}"',
        "[act]",
        "enabled = true",
        f'gateways = ["{plan.all_gateways(4)}", "{plan.all_gateways(6)}"]',
    ]
    return "\n".join(lines) + "\n" + extra


def node_socket(number: int, directory: str) -> str:
    return f"{directory}/node{number}.sock"


def holder_socket(number: int, directory: str) -> str:
    return f"{directory}/holder{number}.sock"


def active(pool: Pool) -> list[Member]:
    """The members that an epoch consists of."""
    return [member for member in pool.members if member.state == "active"]
