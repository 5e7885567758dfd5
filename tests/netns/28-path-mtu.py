# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: nat-4 full-nat-6
"""The nodes' routes to the clients carry less than the servers send. Path MTU discovery works through the translation, also when
the tables are lost in mid-transfer and the packets that are too large are the first ones that a node sees of a session."""

from __future__ import annotations

import time
from dataclasses import replace

import support
from lab import plan
from lab.waiting import wait_for
from scenarios.base import Lab, Options
from scenarios.workload import services
from traffic.web import Content, Downloads, start_nginx

_COUNT = 10
_MTU = 1300


def narrow(lab: Lab) -> None:
    for number, node in lab.topology.nodes.items():
        for family in (4, 6):
            node.ip(f"route replace default via {plan.link('up', number, family)[0]} dev toedge mtu {_MTU}", family=family)


def sessions(options: Options, expect: support.Expectations) -> None:
    lab = support.cluster(options, services(options), paths="ecmp" if options.forward == "full-nat" else "lasthop")
    with lab:
        lab.start()
        content = Content(lab.directory, 2 * _COUNT, 1_500_000)
        for space in lab.topology.servers.values():
            start_nginx(space, lab.directory, 300_000)
        address = plan.service(options.family)
        downloads = Downloads(content, lab.topology.clients, address, 150, 90)
        wait_for("all downloads to begin", lambda: min(downloads.octets()) > 100_000, limit=150)
        narrow(lab)
        narrowed = time.time()
        lab.topology.flush_all()
        wait_for("the downloads to go on", lambda: min(downloads.octets()) > 800_000, limit=150)
        lab.topology.flush_all()
        wait_for("the end of the downloads", lambda: downloads.poll() == 0, limit=150)
        expect.that(downloads.exact() == 2 * _COUNT, f"{downloads.exact()} of {2 * _COUNT} downloads are byte-exact")
        lab.capture.stop()
        sizes = [r.packet.data_length for r in lab.capture.records("edge") if r.time > narrowed and r.node and r.arriving]
        most = _MTU - (20 if options.family == 4 else 40) - 32  # a TCP header with timestamps
        expect.that(max(sizes) == most, f"the largest segment of {len(sizes)} had {max(sizes)} octets of data: {most} fill the MTU")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


if __name__ == "__main__":
    support.main({
        "nat-4": lambda options, expect: sessions(replace(options, family=4), expect),
        "full-nat-6": lambda options, expect: sessions(replace(options, family=6, forward="full-nat"), expect),
    })
