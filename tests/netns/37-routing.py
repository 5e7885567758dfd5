# SPDX-License-Identifier: BSD-3-Clause
# limit: 240
# cases: bird frr keepalived
"""Routing daemons of the distribution with the configurations of packaging/examples: a node that isn't ready withdraws its routes, one
that dies is routed around, and sessions go on."""

from __future__ import annotations

import os
import signal
import subprocess

import support
from lab import plan
from lab.balancer import Service
from lab.configuration import node_socket
from lab.netns import Namespace
from lab.routing import Bird, Frr, Routing, example
from lab.waiting import wait_for
from scenarios.base import Lab, Options
from traffic.echo import EchoClient, EchoServer

_CONNECTIONS = 15


def laboratory(options: Options) -> Lab:
    return support.cluster(options, [Service("echo", plan.ECHO_PORT, "tcp")], nodes=3, servers=2, paths="ecmp")


def start_without_routes(lab: Lab) -> None:
    """Everything of Lab.start() but the routes, which are the routing daemons' matter."""
    lab.topology.build()
    lab.cluster.start_holders()
    for number in sorted(lab.topology.nodes):
        lab.cluster.start_node(number)
    for space in lab.topology.servers.values():
        EchoServer(space, plan.ECHO_PORT)


def ready_check(lab: Lab) -> str:
    program = lab.cluster.program("asrpctl")
    return f"{program} --socket {node_socket(0, lab.directory).replace('node0', 'node{number}')} ready"


def silence(space: Namespace) -> None:
    """As the neighbours see it, the node is dead: nothing comes and nothing goes, while the links stay up."""
    for program in ("iptables-restore", "ip6tables-restore"):
        space.run(program, "--noflush", stdin="*raw\n-I PREROUTING -j DROP\n-I OUTPUT -j DROP\nCOMMIT\n")


def everyone_speaks(groups: list[EchoClient], expect: support.Expectations, when: str) -> None:
    for group in groups:
        group.send(f"speak {support.PATIENCE}")
    answers = [group.answer() for group in groups]
    alive = sum(len(answer.alive) for answer in answers)
    expect.that(alive == _CONNECTIONS * len(groups), f"{when}: {alive} connections live {[a.broken for a in answers if a.broken] or ''}")


def open_all(lab: Lab, expect: support.Expectations) -> list[EchoClient]:
    groups = [EchoClient(client, plan.service(family), plan.ECHO_PORT, _CONNECTIONS)
              for client in lab.topology.clients.values() for family in (4, 6)]
    for group in groups:
        group.send(f"open {support.PATIENCE}")
    opened = sum(len(group.answer().alive) for group in groups)
    expect.that(opened == _CONNECTIONS * len(groups), f"{opened} connections open")
    return groups


def followed(on_nodes: type[Bird] | type[Frr], options: Options, expect: support.Expectations) -> None:
    with laboratory(options) as lab:
        start_without_routes(lab)
        routing = Routing(lab.topology, lab.directory, ready_check(lab), on_nodes)
        try:
            routing.start()
            expect.that(routing.routed(lab.topology.edge) == set(), "nobody announces what no node was found ready for")
            for number in lab.topology.nodes:
                routing.follow(number)
            routing.wait_for({1, 2, 3})
            nodes_leave(lab, routing, expect)
        finally:
            for each in routing.nodes.values():
                if isinstance(each, Frr):
                    each.space.kill_all()
                    each.remove()
        logs = "".join(each.log() for each in (routing.edge, routing.core, *routing.nodes.values()))
        expect.that("yntax error" not in logs and "nvalid" not in logs, "nobody has anything against the configuration")


def nodes_leave(lab: Lab, routing: Routing, expect: support.Expectations) -> None:
    groups = open_all(lab, expect)
    control = [lab.cluster.program("asrpctl"), "--socket", node_socket(3, lab.directory)]
    subprocess.run([*control, "drain", "--node"], check=True, capture_output=True, timeout=60)
    routing.wait_for({1, 2})
    everyone_speaks(groups, expect, "a node that is drained is out of the routes")
    subprocess.run([*control, "undrain", "--node"], check=True, capture_output=True, timeout=60)
    routing.wait_for({1, 2, 3})
    lab.cluster.nodes[1].kill()
    routing.wait_for({2, 3})
    everyone_speaks(groups, expect, "a node whose daemon was killed is out of the routes")
    lab.cluster.start_node(1)
    routing.wait_for({1, 2, 3})
    everyone_speaks(groups, expect, "it is back")

    silence(lab.topology.nodes[2])
    routing.wait_for({1, 3})
    everyone_speaks(groups, expect, "a node that fell silent is routed around")
    lab.topology.cut_node(3)
    routing.wait_for({1})
    everyone_speaks(groups, expect, "so is one whose links went down")

    routing.followers[1].send_signal(signal.SIGTERM)
    routing.followers[1].wait(timeout=30)
    routing.wait_for(set())
    expect.that(True, "the end of asrp-announce withdraws the routes")
    expect.none_of(lab.cluster.problems(), "no daemon failed")


def bird(options: Options, expect: support.Expectations) -> None:
    followed(Bird, options, expect)


def frr(options: Options, expect: support.Expectations) -> None:
    followed(Frr, options, expect)


_SIDES = {"clients": ("edge", 4), "servers": ("core", 5)}  # interface of the node, router, second octet of its network


def shared_links(lab: Lab) -> None:
    """A network on each side that all nodes are on, beside the links that they have; routers lead to its virtual address."""
    for side, (router_name, net) in _SIDES.items():
        router = lab.topology.edge if router_name == "edge" else lab.topology.core
        router.ip("link add shared type bridge", f"addr add 10.{net}.0.1/24 dev shared", "link set shared up")
        for number, node in lab.topology.nodes.items():
            router.ip(f"link add sh{number} type veth peer name to{side} netns {node.name}", f"link set sh{number} master shared up")
            node.ip(f"addr add 10.{net}.0.{10 + number}/24 dev to{side}", f"link set to{side} up")
        target = plan.service(4) if router_name == "edge" else plan.all_clients(4)
        router.ip(f"route add {target} via 10.{net}.0.254")
    for node in lab.topology.nodes.values():
        node.ip("route replace default via 10.4.0.1 dev toclients", f"route replace {plan.all_servers(4)} via 10.5.0.1 dev toservers")


def start_keepalived(lab: Lab, number: int) -> None:
    directory = os.path.join(lab.directory, f"keepalived{number}")
    os.makedirs(directory, exist_ok=True)
    check = os.path.join(directory, "ready")
    with open(check, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nexec {ready_check(lab).format(number=number)}\n")
    os.chmod(check, 0o755)
    text = example("keepalived/keepalived.conf").replace("/usr/sbin/asrpctl ready", check).replace("priority 101", f"priority {100 + number}")
    path = os.path.join(directory, "keepalived.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    with open(f"{path}.log", "w", encoding="utf-8") as log:
        lab.topology.nodes[number].start("keepalived", "--dont-fork", "--log-console", "--vrrp", "--use-file", path,
                                         f"--pid={directory}/pid", f"--vrrp_pid={directory}/vrrp.pid", stdout=log, stderr=log)


def active_is(lab: Lab, number: int) -> None:
    """Waits until this node, and no other one that lives, has the addresses on both sides."""
    def holders(net: int) -> set[int]:
        return {n for n, space in lab.topology.nodes.items() if f"10.{net}.0.254/" in space.run("ip", "-4", "addr")}

    for _, net in _SIDES.values():
        wait_for(f"node{number} to have 10.{net}.0.254", lambda n=net: holders(n) - lab_silent == {number}, limit=60)  # type: ignore[misc]


lab_silent: set[int] = set()  # nodes that nobody hears: what they think of themselves doesn't count


def keepalived(options: Options, expect: support.Expectations) -> None:
    lab_silent.clear()
    with laboratory(options) as lab:
        start_without_routes(lab)
        shared_links(lab)
        for number in lab.topology.nodes:
            start_keepalived(lab, number)
        active_is(lab, 3)  # the highest priority
        group = EchoClient(lab.topology.clients[1], plan.service(4), plan.ECHO_PORT, _CONNECTIONS)
        expect.that(len(group.command(f"open {support.PATIENCE}").alive) == _CONNECTIONS, "connections open over the active node")
        lab.cluster.nodes[3].kill()
        active_is(lab, 2)
        everyone_speaks([group], expect, "the active node's daemon was killed, the next one took over")
        lab_silent.add(2)
        silence(lab.topology.nodes[2])
        active_is(lab, 1)
        everyone_speaks([group], expect, "the active node fell silent, the last one took over")
        lab.cluster.start_node(3)
        active_is(lab, 3)
        everyone_speaks([group], expect, "the first one is back")
        expect.none_of(lab.cluster.problems(), "no daemon failed")


if __name__ == "__main__":
    support.main({"bird": bird, "frr": frr, "keepalived": keepalived})
