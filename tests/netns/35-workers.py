# SPDX-License-Identifier: BSD-3-Clause
# limit: 180
# cases: nat-4 nat-6 full-nat-4 full-nat-6
"""Nodes with four workers each: a node dies, tables are lost, daemons are killed and reloaded, and every TCP and UDP session goes on.
Clients have many addresses, so that the kernel's spread over the queues has something to spread."""

from __future__ import annotations

from dataclasses import replace

import support
from lab import plan
from lab.balancer import Service
from lab.checks import all_checks
from lab.cluster import ask
from lab.configuration import node_socket
from lab.waiting import wait_for
from scenarios.base import Lab, Options
from scenarios.workload import services
from traffic.datagrams import UdpFlows, start_udp_server
from traffic.echo import EchoClient, EchoServer

_WORKERS = 4
_CLIENTS = 8
_EACH = 5  # connections, and UDP flows, of a client


def packets_by_queue(lab: Lab) -> dict[int, list[int]]:
    """For each running node how many packets each of its queues has had."""
    found = {}
    for number, daemon in lab.cluster.nodes.items():
        if daemon.running:
            lines = lab.topology.nodes[number].read("/proc/thread-self/net/netfilter/nfnetlink_queue").splitlines()
            found[number] = [int(line.split()[7]) for line in sorted(lines, key=lambda line: int(line.split()[0]))]
    return found


def everyone_speaks(groups: list[EchoClient], flows: list[UdpFlows], expect: support.Expectations, when: str) -> None:
    for group in groups:
        group.send("speak 30")
    answers = [group.answer() for group in groups]
    alive = sum(len(answer.alive) for answer in answers)
    broken = [answer.broken for answer in answers if answer.broken]
    expect.that(alive == _CLIENTS * _EACH, f"{when}: {alive} of {_CLIENTS * _EACH} connections live {broken or ''}")
    before = {id(flow): flow.report() for flow in flows}

    def all_heard() -> bool:
        return all(flow.report()[port]["heard"] > report["heard"] + 3 for flow in flows for port, report in before[id(flow)].items())

    wait_for(f"{when}: answers on every UDP flow", all_heard, limit=30, every=0.2)
    servers = [len(report["servers"]) for flow in flows for report in flow.report().values()]
    expect.that(servers == [1] * (_CLIENTS * _EACH), f"{when}: every UDP flow stays at its server {servers}")


def run(options: Options, expect: support.Expectations) -> None:
    shell = [service for service in services(options) if service.name == "shell"]
    lab = support.cluster(options, [*shell, Service("flow", plan.UDP_FLOW_PORT, "udp", options.forward)], nodes=3, clients=_CLIENTS,
                          paths="ecmp" if options.forward == "full-nat" else "lasthop")
    lab.cluster.node_extra = f"[queue]\nworkers = {_WORKERS}\n"
    with lab:
        lab.start()
        for number, space in lab.topology.servers.items():
            EchoServer(space, plan.ECHO_PORT)
            start_udp_server(space, plan.UDP_FLOW_PORT, f"server{number}")
        address = plan.service(options.family)
        groups = [EchoClient(client, address, plan.ECHO_PORT, _EACH) for client in lab.topology.clients.values()]
        for group in groups:
            group.send("open 30")
        opened = sum(len(group.answer().alive) for group in groups)
        expect.that(opened == _CLIENTS * _EACH, f"{opened} of {_CLIENTS * _EACH} connections open")
        flows = [UdpFlows(client, address, plan.UDP_FLOW_PORT, _EACH, 0.05) for client in lab.topology.clients.values()]
        everyone_speaks(groups, flows, expect, "at the start")
        busy = packets_by_queue(lab)
        spread = [sum(1 for tap in range(3) if queues[tap * _WORKERS + w]) > 0 for queues in busy.values() for w in range(_WORKERS)]
        expect.that(all(len(queues) == 3 * _WORKERS for queues in busy.values()), f"each node has its queues {busy}")
        # Of IPv6 addresses the kernel looks at the second and the last of four parts only, which the laboratory's clients share.
        if options.family == 4:
            expect.that(sum(spread) > len(busy), f"several workers of a node had packets: {sum(spread)} of {len(spread)}")

        lab.topology.flush_all()
        everyone_speaks(groups, flows, expect, "after the loss of all tables")
        lab.cluster.change_pool(list(lab.cluster.pool.members))
        for daemon in lab.cluster.nodes.values():
            daemon.kill()
        for number in lab.topology.nodes:
            lab.cluster.start_node(number)
        lab.topology.flush_all()
        everyone_speaks(groups, flows, expect, "after a kill of all daemons and the loss of all tables")
        lab.topology.kill_nodes([1])
        everyone_speaks(groups, flows, expect, "after the death of a node")

        def acknowledged() -> bool:
            gauges = [ask(node_socket(n, lab.directory), "status")["gauges"] for n, d in lab.cluster.nodes.items() if d.running]
            return all(each["waiting"] == 0 and each["recoveries"] == 0 for each in gauges)

        wait_for("every NA to find its worker", acknowledged, limit=30)
        counters = [lab.cluster.counters(d) for d in lab.cluster.nodes.values() if d.running]
        print({name: sum(each[name] for each in counters) for name in counters[0] if name.startswith(("sessions.", "discard"))})
        expect.that(sum(each["sessions.restored_rs"] for each in counters) > 0, "sessions were restored")
        expect.that(sum(each["sessions.unprotected"] for each in counters) == 0, "no session is left without a backup")
        lab.capture.stop()
        expect.none_of(all_checks(lab.capture, options.family), "the capture is clean, nothing passed untranslated")
        expect.none_of([p for p in lab.cluster.problems() if not p.startswith("node1 ended")], "no daemon failed")


def variant(family: int, forward: str) -> support.Case:
    return lambda options, expect: run(replace(options, family=family, forward=forward, thorough=True), expect)


if __name__ == "__main__":
    support.main({
        "nat-4": variant(4, "nat"),
        "nat-6": variant(6, "nat"),
        "full-nat-4": variant(4, "full-nat"),
        "full-nat-6": variant(6, "full-nat"),
    })
