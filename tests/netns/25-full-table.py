# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: nat-4 nat-6
"""The node's table is full of a flood of SYNs: established sessions go on, nothing passes untranslated, the daemon lives, and when
the flood is over new connections succeed."""

from __future__ import annotations

import sys
from dataclasses import replace

import support
from lab import plan
from lab.checks import nothing_untranslated
from scenarios.base import Options
from scenarios.workload import services
from traffic.echo import EchoClient, EchoServer
from traffic.flood import fill_table, syn_flood

_ROOM = 300  # entries
_FLOOD = 20_000  # SYNs
_LARGEST = 600_000  # entries
_COUNT = "/proc/sys/net/netfilter/nf_conntrack_count"
_MAXIMUM = "/proc/sys/net/netfilter/nf_conntrack_max"


def run(options: Options, expect: support.Expectations) -> None:
    lab = support.cluster(options, services(options), nodes=1)
    with open(_MAXIMUM, encoding="ascii") as file:
        maximum = int(file.read())
    if maximum > _LARGEST:
        print(f"a table of {maximum} entries takes too long to fill")
        sys.exit(support.SKIPPED)
    with lab:
        lab.start()
        for space in lab.topology.servers.values():
            EchoServer(space, plan.ECHO_PORT)
        address = plan.service(options.family)
        old = EchoClient(lab.topology.clients[1], address, plan.ECHO_PORT, 20)
        opened = old.command(f"open {support.PATIENCE}")
        expect.that(len(opened.alive) == 20, f"20 connections are open {opened.broken}")
        node = lab.topology.nodes[1]
        # The maximum can be set for the whole machine only, so the table is filled with entries instead.
        fill_table(node, maximum - int(node.read(_COUNT)) - _ROOM)
        syn_flood(lab.topology.clients[2], options.family, address, plan.ECHO_PORT, _FLOOD)
        print(f"{node.read(_COUNT).strip()} of {maximum} entries; counters {lab.cluster.counters(lab.cluster.nodes[1])}")
        heard = old.command(f"speak {support.PATIENCE}")
        expect.that(len(heard.alive) == 20, f"{len(heard.alive)} of 20 sessions live on during the flood {heard.broken}")
        expect.that(lab.cluster.nodes[1].running, "the daemon lives")
        node.run("conntrack", "-D", "-d", "100.127.0.1", check=False)
        fresh = EchoClient(lab.topology.clients[1], address, plan.ECHO_PORT, 10)
        opened = fresh.command(f"open {support.PATIENCE}")
        expect.that(len(opened.alive) == 10, f"{len(opened.alive)} of 10 connections after the flood {opened.broken}")
        lab.capture.stop()
        expect.none_of(nothing_untranslated(lab.capture.all_records(), options.family), "nothing passed untranslated")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


if __name__ == "__main__":
    support.main({
        "nat-4": lambda options, expect: run(replace(options, family=4), expect),
        "nat-6": lambda options, expect: run(replace(options, family=6), expect),
    })
