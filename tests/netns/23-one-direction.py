# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: udp-4 udp-full-nat-6 tcp-4
"""A node that sees one direction of a session only keeps it in the kernel: ten thousand packets cause no queue hit after the
first."""

from __future__ import annotations

from dataclasses import replace

import support
from lab import plan
from lab.balancer import Service
from lab.waiting import wait_for
from scenarios.base import Lab, Options
from scenarios.workload import services
from traffic.datagrams import UdpFlows, start_udp_server
from traffic.web import Content, Downloads, start_nginx

_PACKETS = 10_000


def received(lab: Lab) -> dict[int, int]:
    """Packets that each node has received from either side."""
    counts = {}
    for number, node in lab.topology.nodes.items():
        lines = [line.strip() for line in node.read("/proc/thread-self/net/dev").splitlines()]
        counts[number] = sum(int(line.split(":")[1].split()[1]) for line in lines if line.startswith(("toedge", "tocore")))
    return counts


def one_way(lab: Lab) -> None:
    """Requests by node 1, answers by node 2."""
    lab.topology.route_via([1], "edge")
    lab.topology.route_via([2], "core")


def udp(options: Options, expect: support.Expectations) -> None:
    service = Service("flow", plan.UDP_FLOW_PORT, "udp", options.forward)
    lab = support.cluster(options, [service], paths="ecmp")
    with lab:
        lab.start()
        one_way(lab)
        for number, space in lab.topology.servers.items():
            start_udp_server(space, plan.UDP_FLOW_PORT, f"server{number}")
        flows = UdpFlows(lab.topology.clients[1], plan.service(options.family), plan.UDP_FLOW_PORT, 1, 0.0005)
        (port,) = flows.report()
        wait_for("the first answers", lambda: flows.report()[port]["heard"] >= 100, limit=150)
        before = {n: support.queued(node) for n, node in lab.topology.nodes.items()}
        start = flows.report()[port]["heard"]
        wait_for(f"{_PACKETS} answers", lambda: flows.report()[port]["heard"] >= start + _PACKETS, limit=150, every=0.2)
        after = {n: support.queued(node) for n, node in lab.topology.nodes.items()}
        report = flows.report()[port]
        expect.that(before == after, f"queue hits while {report['heard'] - start} datagrams passed: {before} before, {after} after")
        expect.that(len(report["servers"]) == 1, f"one server answered: {report['servers']}")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def tcp(options: Options, expect: support.Expectations) -> None:
    options = replace(options, octets=60_000_000)
    lab = support.cluster(options, services(options), paths="ecmp")
    with lab:
        lab.start()
        one_way(lab)
        content = Content(lab.directory, 1, options.octets)
        for space in lab.topology.servers.values():
            start_nginx(space, lab.directory, 8_000_000)
        downloads = Downloads(content, lab.topology.clients, plan.service(options.family), 150, 90)
        wait_for("the download to begin", lambda: downloads.octets()[0] > 500_000, limit=150)
        before = {n: support.queued(node) for n, node in lab.topology.nodes.items()}
        packets = received(lab)
        wait_for("most of the download", lambda: downloads.octets()[0] > 58_000_000, limit=150)
        after = {n: support.queued(node) for n, node in lab.topology.nodes.items()}
        passed = {n: count - packets[n] for n, count in received(lab).items()}
        expect.that(max(passed.values()) >= _PACKETS, f"packets of one direction that came to the nodes: {passed}")
        expect.that(before == after, f"queue hits: {before} before, {after} after")
        wait_for("the end of the download", lambda: downloads.poll() == 0, limit=150)
        expect.that(downloads.exact() == 1, "the download is byte-exact")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


if __name__ == "__main__":
    support.main({
        "udp-4": lambda options, expect: udp(replace(options, family=4), expect),
        "udp-full-nat-6": lambda options, expect: udp(replace(options, family=6, forward="full-nat"), expect),
        "tcp-4": lambda options, expect: tcp(replace(options, family=4), expect),
    })
