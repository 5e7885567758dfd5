# SPDX-License-Identifier: BSD-3-Clause
"""The networks of the benchmarks. Both have the same parts: `client`, `nodes`, `server`, `core`.

    one node:     client --- node 1 --- core --- server
    three nodes:  client --- edge ===(ECMP)=== node 1..3 ===(ECMP)=== core --- server
"""
from __future__ import annotations

from lab import plan
from lab.claim import Claim
from lab.netns import Namespace, run
from lab.topology import Shape, Topology

CLIENT_ADDRESSES = 16  # so that no port comes again while an entry of it may still be there
FULL_NAT_ADDRESSES = 8
PORT = plan.HTTP_PORT
_FORWARD = {
    "net.ipv4.ip_forward": 1,
    "net.ipv6.conf.all.forwarding": 1,
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
}


def client_addresses(family: int) -> list[str]:
    if family == 4:
        return [f"198.18.1.{100 + i}" for i in range(CLIENT_ADDRESSES)]
    return [f"2001:db8:c:1::1:{i:x}" for i in range(CLIENT_ADDRESSES)]


def full_nat_addresses(family: int) -> list[str]:
    if family == 4:
        return [f"10.9.0.{1 + i}" for i in range(FULL_NAT_ADDRESSES)]
    return [f"fd00:9::{1 + i:x}" for i in range(FULL_NAT_ADDRESSES)]


def office(family: int) -> str:
    """The clients, as a gateway's network: twice as many addresses as they use."""
    return "198.18.1.96/27" if family == 4 else "2001:db8:c:1::1:0/123"


def outside(family: int) -> str:
    """One address for each of them; routed to the node as all that isn't a server's."""
    return "203.0.113.64/27" if family == 4 else "2001:db8:f::40/123"


def full_nat_prefix(family: int) -> str:
    return "10.9.0.0/24" if family == 4 else "fd00:9::/64"


class Rig:
    """Made by one_node() or three_nodes(); taken away by close()."""

    def __init__(self, claim: Claim, client: Namespace, nodes: dict[int, Namespace], core: Namespace, server: Namespace) -> None:
        self.claim = claim
        self.client = client
        self.nodes = nodes
        self.core = core
        self.server = server
        self.servers = {1: server}  # as lab.cluster.Cluster wants to see a topology

    @property
    def directory(self) -> str:
        return self.claim.directory

    def service(self, family: int) -> str:
        return f"{plan.bracketed(plan.service(family))}:{PORT}"

    def site(self, family: int) -> str:
        """The server itself, for clients behind a gateway."""
        return f"{plan.bracketed(plan.server(1, family))}:{PORT}"

    def spaces(self) -> list[Namespace]:
        return [self.client, *self.nodes.values(), self.core, self.server]

    def flush(self) -> None:
        for node in self.nodes.values():
            node.flush_sessions()
        self.server.flush_sessions()
        self.client.flush_sessions()

    def close(self) -> None:
        self.claim.release()

    def __enter__(self) -> "Rig":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


def _add_client_addresses(client: Namespace, device: str) -> None:
    for family, length in ((4, 24), (6, 64)):
        flag = " nodad" if family == 6 else ""
        client.ip(*[f"addr add {address}/{length} dev {device}{flag}" for address in client_addresses(family)])


def _link(one: Namespace, one_device: str, other: Namespace, other_device: str, role: str, offloads: bool) -> None:
    """`one` gets the router's address of the link, `other` the far one."""
    one.ip(f"link add name {one_device} type veth peer name {other_device} netns {other.name}")
    for family in (4, 6):
        ours, theirs, length = plan.link(role, 1, family)
        flag = " nodad" if family == 6 else ""
        one.ip(f"addr add {ours}/{length} dev {one_device}{flag}")
        other.ip(f"addr add {theirs}/{length} dev {other_device}{flag}")
    for space, device in ((one, one_device), (other, other_device)):
        space.ip(f"link set {device} up")
        if not offloads:
            space.run("ethtool", "-K", device, "tx", "off", "rx", "off", "gso", "off", "gro", "off", "tso", "off")


def one_node(offloads: bool = True) -> Rig:
    claim = Claim()
    try:
        client, node, core, server = (claim.namespace(name) for name in ("client", "node1", "core", "server"))
        for space in (client, node, core, server):
            space.create()
        for space in (node, core):
            space.sysctl(_FORWARD)
        _link(node, "toclient", client, "eth0", "client", offloads)
        _link(core, "node1", node, "tocore", "down", offloads)
        _link(core, "server", server, "eth0", "server", offloads)
        for family in (4, 6):
            down_core, down_node, _ = plan.link("down", 1, family)
            client.ip(f"route add default via {plan.link('client', 1, family)[0]} dev eth0")
            server.ip(f"route add default via {plan.link('server', 1, family)[0]} dev eth0")
            core.ip(f"route add default via {down_node} dev node1")
            node.ip(f"route add {plan.all_servers(family)} via {down_core} dev tocore",
                    f"route add default via {plan.link('client', 1, family)[1]} dev toclient")
        _add_client_addresses(client, "eth0")
        return Rig(claim, client, {1: node}, core, server)
    except BaseException:
        claim.release()
        raise


def three_nodes(offloads: bool = True) -> Rig:
    claim = Claim()
    try:
        net = Topology(claim, Shape(clients=1, nodes=3, servers=1, paths="ecmp", offloads=offloads))
        net.build()
        net.route_via((1, 2, 3))
        client = net.clients[1]
        _add_client_addresses(client, "eth0")
        for family in (4, 6):
            group = run(["ip", "-n", net.core.name, f"-{family}", "route", "show", plan.full_nat(family)]).split("nhid ")[1].split()[0]
            net.core.ip(f"route replace {full_nat_prefix(family)} nhid {group}")
        return Rig(claim, client, dict(net.nodes), net.core, net.servers[1])
    except BaseException:
        claim.release()
        raise
