# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: nat-4 full-nat-6
"""A path drops SYNs that carry data, so sessions begin with a plain SYN and a message of its own. Both directions pass one node
while they begin, and only the client's afterwards: the kernel's own tracking, which has followed the handshake by then, must not
call acknowledgments of data that passed elsewhere invalid."""

from __future__ import annotations

from dataclasses import replace

import support
from lab import plan
from lab.netns import run
from lab.waiting import wait_for
from scenarios.base import Lab, Options
from scenarios.workload import services
from traffic.web import Content, Downloads, start_nginx

_COUNT = 10


def drop_marked_segments(lab: Lab) -> None:
    for program in ("iptables", "ip6tables"):
        run(lab.topology.core.command(program, "-t", "mangle", "-A", "FORWARD", "-p", "tcp", "--tcp-option", "253", "-i", "node+",
                                      "-j", "DROP"))


def sessions(options: Options, expect: support.Expectations) -> None:
    lab = support.cluster(options, services(options), paths="ecmp")
    with lab:
        lab.start()
        drop_marked_segments(lab)
        lab.topology.route_via([1])
        content = Content(lab.directory, _COUNT, 2_000_000)
        for space in lab.topology.servers.values():
            start_nginx(space, lab.directory, 400_000)
        downloads = Downloads(content, lab.topology.clients, plan.service(options.family), 150, 90)
        wait_for("all downloads to begin", lambda: min(downloads.octets()) > 100_000, limit=150)
        lab.topology.route_via([2], "core")
        wait_for("the end of the downloads", lambda: downloads.poll() == 0, limit=150)
        expect.that(downloads.exact() == _COUNT, f"{downloads.exact()} of {_COUNT} downloads are byte-exact")
        counters = lab.cluster.counters(lab.cluster.nodes[1])
        expect.that(counters.get("messages_sent.ns.standalone", 0) + counters.get("messages_sent.ns.separate", 0) > 0,
                    f"messages of their own: { {k: v for k, v in counters.items() if 'ns' in k and v} }")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


if __name__ == "__main__":
    support.main({
        "nat-4": lambda options, expect: sessions(replace(options, family=4), expect),
        "full-nat-6": lambda options, expect: sessions(replace(options, family=6, forward="full-nat"), expect),
    })
