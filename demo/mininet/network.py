# SPDX-License-Identifier: BSD-3-Clause
"""The laboratory's network made of Mininet's hosts and Linux bridges: each link is two cables with a bridge between them.

    c1 --- br-c1 --- edge --- br-n1-up --- n1 --- br-n1-down --- core --- br-s1 --- s1

Addresses, routes, loss, death and return of nodes are the laboratory's own (lab/topology.py)."""

from __future__ import annotations

import re

from mininet.net import Mininet
from mininet.node import Node
from mininet.nodelib import LinuxBridge

from lab import plan
from lab.claim import Claim
from lab.netns import Namespace, run
from lab.topology import Shape, Topology

_SHORT = {"client": "c", "node": "n", "server": "s"}


def short(role: str) -> str:
    """Mininet's name of a role: client1 is c1, node2 n2, server3 s3; edge and core stay."""
    match = re.fullmatch(r"(client|node|server)(\d+)", role)
    return _SHORT[match.group(1)] + match.group(2) if match else role


def new_network() -> Mininet:
    """Without hosts, links and controller."""
    # What Mininet does once are machine-wide limits for very large networks (fs.file-max, kernel.pty.max, socket buffers). These
    # are not the demo's to change.
    Mininet.inited = True
    LinuxBridge.setup()
    return Mininet(switch=LinuxBridge, controller=None, build=False)


class HostNamespace(Namespace):
    """The network namespace of a Mininet host, under a name by which the laboratory's programs enter it."""

    def __init__(self, name: str, network: Mininet, host: str) -> None:
        super().__init__(name)
        self.network = network
        self.host_name = host
        self.host: Node

    def _make(self) -> None:
        self.host = self.network.addHost(self.host_name, ip=None)
        run(["ip", "netns", "attach", self.name, str(self.host.pid)])


class MininetClaim(Claim):
    """Gives namespaces that are hosts of `network`."""

    def __init__(self, network: Mininet) -> None:
        super().__init__()
        self.network = network

    def namespace(self, role: str) -> Namespace:
        return HostNamespace(super().namespace(role).name, self.network, short(role))


class MininetTopology(Topology):
    """A topology whose cables are Mininet's."""

    def __init__(self, network: Mininet, shape: Shape) -> None:
        super().__init__(MininetClaim(network), shape)
        self.network = network

    def _join(self, router: Namespace, name: str, link: str, other: Namespace, device: str, role: str, number: int) -> None:
        super()._join(router, name, link, other, device, role, number)
        assert isinstance(other, HostNamespace)
        # For Mininet's command line, which puts addresses for names.
        interface = other.host.nameToIntf[device]
        _, interface.ip, length = plan.link(role, number, 4)
        interface.prefixLen = str(length)

    def _cable(self, router: Namespace, link: str, other: Namespace, device: str) -> None:
        assert isinstance(router, HostNamespace) and isinstance(other, HostNamespace)
        bridge = self.network.addSwitch(_bridge_name(link, device))
        for host, name, port in ((router.host, link, f"{bridge.name}-a"), (other.host, device, f"{bridge.name}-b")):
            self.network.addLink(host, bridge, intfName1=name, intfName2=port)
        bridge.start([])
        for port in (f"{bridge.name}-a", f"{bridge.name}-b"):
            run(["ethtool", "-K", port, "tx", "off", "rx", "off", "gso", "off", "gro", "off", "tso", "off"])
            run(["ip", "link", "set", port, "up"])

    def remove_node(self, number: int) -> None:
        space = self.nodes[number]
        assert isinstance(space, HostNamespace)
        super().remove_node(number)
        gone = {_bridge_name(f"node{number}", device) for device in ("toedge", "tocore")}
        bridges = [switch for switch in self.network.switches if switch.name in gone]
        for link in [k for k in self.network.links if k.intf2.node in bridges]:
            if link.intf1.node is not space.host:
                link.intf1.node.delIntf(link.intf1)
            self.network.links.remove(link)
        for bridge in bridges:
            self.network.delSwitch(bridge)
        # The host's shell died with its namespace: delHost() would wait for its answer.
        space.host.terminate()
        self.network.hosts.remove(space.host)
        del self.network.nameToNode[space.host_name]


def _bridge_name(link: str, device: str) -> str:
    return f"br-{short(link)}" + {"toedge": "-up", "tocore": "-down"}.get(device, "")
