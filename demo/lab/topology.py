# SPDX-License-Identifier: BSD-3-Clause
"""The cluster's network: client namespaces, an ECMP router (edge), nodes, a router on the servers' side (core), servers.

Every link has one end in edge or core. So two captures see all links, and loss in the forwarding of these two hits each link in
both directions without failing anybody's send call. All offloads are off: what a capture shows is what goes over the wire.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from subprocess import DEVNULL
from typing import Iterable

from lab import plan
from lab.claim import Claim
from lab.ground import FARM, Ground
from lab.netns import Namespace, run

FAMILIES = (4, 6)
_GROUP = {4: 100, 6: 200}
_ROUTER_SYSCTLS = {
    "net.ipv4.ip_forward": 1,
    "net.ipv6.conf.all.forwarding": 1,
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
    "net.ipv4.conf.all.send_redirects": 0,
    "net.ipv4.conf.default.send_redirects": 0,
}
# Both addresses, the protocol and both ports, as they stand in the packet. Policy 1 would take the hash that the packet's sender has
# given to it: veth hands it on, which no real link does, and what a holder sends beside TCP's own packets has another one.
_ECMP_SYSCTLS = {f"net.ipv{family}.fib_multipath_hash_{key}": value for family in FAMILIES for key, value in (("policy", 3), ("fields", 0x37))}


@dataclass(frozen=True)
class Shape:
    """How large, and how answers find their node: `lasthop` by the one that the request came through, `ecmp` by hash."""

    clients: int = 2
    nodes: int = 3
    servers: int = 4
    paths: str = "lasthop"
    loss_percent: float = 0.0
    ground: Ground = FARM
    offloads: bool = False


class Topology:
    """Builds the network, changes it, and takes it away with all that runs in it."""

    def __init__(self, claim: Claim, shape: Shape) -> None:
        self.claim = claim
        self.shape = shape
        self.edge = claim.namespace("edge")
        self.core = claim.namespace("core")
        self.clients = {n: claim.namespace(f"client{n}") for n in range(1, shape.clients + 1)}
        self.nodes: dict[int, Namespace] = {}
        self.servers = {n: claim.namespace(f"server{n}") for n in range(1, shape.servers + 1)}
        self.devices: dict[tuple[str, int], str] = {}  # (router, interface index) -> link name such as node2, client1
        self._routed: dict[str, tuple[int, ...]] = {"edge": (), "core": ()}

    # --- building ---------------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Everything but the nodes' place in the routes: route_via() or add_node() with `routed` gives them that."""
        ground = self.shape.ground
        for router in (self.edge, self.core):
            router.create()
            router.sysctl(_ROUTER_SYSCTLS | _ECMP_SYSCTLS)
        for number, client in self.clients.items():
            client.create()
            self._join(self.edge, "edge", f"client{number}", client, "eth0", ground.client_role, number)
            _default_route(client, ground.client_role, number, self.shape.loss_percent > 0)
        for number, server in self.servers.items():
            server.create()
            self._join(self.core, "core", f"server{number}", server, "eth0", ground.server_role, number)
            _default_route(server, ground.server_role, number, self.shape.loss_percent > 0)
        for number in range(1, self.shape.nodes + 1):
            self.add_node(number)
        if self.shape.paths == "lasthop":
            self._remember_last_hop()
        self.set_loss(self.shape.loss_percent)

    def add_node(self, number: int) -> Namespace:
        """A fresh node with its links, not yet in the routes."""
        node = self.claim.namespace(f"node{number}")
        node.create()
        node.sysctl(_ROUTER_SYSCTLS)
        self._join(self.edge, "edge", f"node{number}", node, "toedge", "up", number)
        self._join(self.core, "core", f"node{number}", node, "tocore", "down", number)
        for family in FAMILIES:
            node.ip(*self.shape.ground.node_routes(number, family), family=family)
        self.nodes[number] = node
        return node

    def _join(self, router: Namespace, name: str, link: str, other: Namespace, device: str, role: str, number: int) -> None:
        self._cable(router, link, other, device)
        for family in FAMILIES:
            ours, theirs, length = plan.link(role, number, family)
            nodad = " nodad" if family == 6 else ""
            router.ip(f"addr add {ours}/{length} dev {link}{nodad}")
            other.ip(f"addr add {theirs}/{length} dev {device}{nodad}")
        router.ip(f"link set {link} up")
        other.ip(f"link set {device} up")
        # As a routing protocol's session would have it. Of a next-hop group the kernel passes over who has no known neighbour yet, and
        # packets of one flow would take two nodes.
        hardware = other.hardware_address(device)
        router.ip(*(f"neigh replace {plan.link(role, number, family)[1]} lladdr {hardware} dev {link} nud reachable" for family in FAMILIES))
        if not self.shape.offloads:
            for space, interface in ((router, link), (other, device)):
                space.run("ethtool", "-K", interface, "tx", "off", "rx", "off", "gso", "off", "gro", "off", "tso", "off")
        self.devices[name, router.interface_index(link)] = link

    def _cable(self, router: Namespace, link: str, other: Namespace, device: str) -> None:
        router.ip(f"link add name {link} type veth peer name {device} netns {other.name}")

    # --- routes -----------------------------------------------------------------------------------------------------

    def route_via(self, nodes: Iterable[int], side: str = "both") -> None:
        """Flows go over exactly these nodes; `side` is edge (from clients), core (from servers) or both. Each family's switch
        is one atomic replacement of a next-hop group."""
        chosen = tuple(nodes)
        for name, role in (("edge", "up"), ("core", "down")):
            if side not in ("both", name):
                continue
            router = self.edge if name == "edge" else self.core
            lines = []
            for family in FAMILIES:
                base, group = _GROUP[family], _GROUP[family]
                for number in chosen:
                    address = plan.link(role, number, family)[1]
                    lines.append(f"nexthop replace id {base + number} via {address} dev node{number}")
                members = "/".join(str(base + number) for number in chosen)
                lines.append(f"nexthop replace id {group} group {members}")
                # A group that lost its last member is gone and took its routes along.
                for target in self.shape.ground.routed(name, family):
                    lines.append(f"route replace {target} nhid {group}")
            router.ip(*lines)
            self._routed[name] = chosen
            if name == "core" and self.shape.paths == "lasthop":
                for number in self.nodes:
                    self._last_hop_route(number, number in chosen)

    def _remember_last_hop(self) -> None:
        """Core sends a flow's answers to the node that brought its last request, while that node's link is up."""
        self.core.sysctl({"net.netfilter.nf_conntrack_tcp_be_liberal": 1})
        for family in FAMILIES:
            lines = ["*mangle"]
            for number in range(1, 32):
                lines.append(f"-A PREROUTING -i node{number} -j CONNMARK --set-mark {number}")
            lines.append("-A PREROUTING -i server+ -j CONNMARK --restore-mark")
            _restore(self.core, family, lines)
            self.core.ip(*[f"rule add fwmark {n} lookup {1000 + n} pref {1000 + n}" for n in range(1, 32)], family=family)

    def _last_hop_route(self, number: int, used: bool) -> None:
        """A node that is not in the routes gets no answers either."""
        table = str(1000 + number)
        for family in FAMILIES:
            if not used:
                self.core.run("ip", f"-{family}", "route", "flush", "table", table, check=False)
                continue
            address = plan.link("down", number, family)[1]
            self.core.ip(f"route replace default via {address} dev node{number} table {table}", family=family)

    # --- loss -------------------------------------------------------------------------------------------------------

    def set_loss(self, percent: float) -> None:
        """Random loss on every link, each direction: at a router once for the link a packet came by, once for the one it
        leaves by."""
        for router in (self.edge, self.core):
            for family in FAMILIES:
                rule = f"-A FORWARD -m statistic --mode random --probability {percent / 100:.6f} -j DROP"
                _restore(router, family, ["*mangle", "-F FORWARD"] + ([rule, rule] if percent > 0 else []))

    # --- death and return -------------------------------------------------------------------------------------------

    def cut_node(self, number: int) -> None:
        """The node's links go down, as seen by its neighbours at once."""
        self.nodes[number].ip("link set toedge down", "link set tocore down")

    def remove_node(self, number: int) -> None:
        """The node and its table are gone. Its links must be down and out of the routes."""
        node = self.nodes.pop(number)
        node.kill_all()
        self.edge.ip(f"link delete node{number}")
        self.core.ip(f"link delete node{number}")
        node.remove()

    def kill_nodes(self, numbers: Iterable[int], spare: Iterable[int] = ()) -> None:
        """Outright death: links down, processes killed with SIGKILL, routes withdrawn, then the namespace is gone. A side that has
        no other node in its routes goes on by the `spare` ones."""
        dead, others = tuple(numbers), tuple(spare)
        for number in dead:
            self.cut_node(number)
            self.nodes[number].kill_all()
        for side in ("edge", "core"):
            self.route_via(tuple(n for n in self._routed[side] if n not in dead) or others, side)
        for number in dead:
            self.remove_node(number)

    def flush_all(self) -> None:
        """Every node's table is emptied, as nearly at once as processes can be started."""
        self.flush(self.nodes)

    def flush(self, numbers: Iterable[int]) -> None:
        """The tables of these nodes are emptied."""
        running = [self.nodes[n].start("conntrack", "-F", stdout=DEVNULL, stderr=DEVNULL) for n in numbers]
        for process in running:
            process.wait(timeout=30)

    @property
    def holders_router(self) -> Namespace:
        """The router beside which the holders are, which sees all messages."""
        return self.core if self.shape.ground.holders_at == "core" else self.edge

    def block_messages(self) -> None:
        """The router beside the holders drops all datagrams to ASRP-PORT from now on."""
        for family in FAMILIES:
            _restore(self.holders_router, family, ["*mangle", f"-I FORWARD -p udp --dport {plan.ASRP_PORT} -j DROP"])

    def established(self, server: int, ports: Iterable[int]) -> int:
        """Connections to these ports that the server itself has."""
        lines = self.servers[server].run("ss", "-Htn", "state", "established").splitlines()
        return sum(line.split()[2].rsplit(":", 1)[1] == str(port) for line in lines for port in ports)

    def routed(self, side: str = "edge") -> tuple[int, ...]:
        return self._routed[side]

    def namespaces(self) -> list[Namespace]:
        return [self.edge, self.core, *self.clients.values(), *self.nodes.values(), *self.servers.values()]


def _default_route(space: Namespace, role: str, number: int, quick: bool) -> None:
    """`quick`: TCP repeats after 20 ms instead of 200, and (where the kernel has the setting, since 6.15) at least once a second. A
    packet crosses four lossy links each way; with the usual bounds the doubling of TCP's own timer makes some connections
    silent for a minute, whatever is between its ends."""
    if quick and os.path.exists("/proc/sys/net/ipv4/tcp_rto_max_ms"):
        space.sysctl({"net.ipv4.tcp_rto_max_ms": 1000})
    for family in FAMILIES:
        minimum = " rto_min 20ms" if quick else ""
        space.ip(f"route add default via {plan.link(role, number, family)[0]} dev eth0{minimum}", family=family)


def _restore(space: Namespace, family: int, lines: list[str]) -> None:
    program = "iptables-restore" if family == 4 else "ip6tables-restore"
    run(space.command(program, "--noflush"), stdin="\n".join([*lines, "COMMIT"]) + "\n")
