# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: nat-4 full-nat-6
"""The servers answer every SYN with a cookie: between SYN and ACK their kernels know nothing of the connection, and its backup is
all that there is. Each connection has its backup all the same, from the first packet to long after the holder's first look."""

from __future__ import annotations

from dataclasses import replace

import support
from lab import plan
from lab.waiting import wait_for
from scenarios.base import Lab, Options
from scenarios.workload import services
from traffic.echo import EchoClient, EchoServer

_EACH = 30


def cookies_sent(lab: Lab) -> int:
    """SYN/ACKs with a cookie, of all servers."""
    total = 0
    for space in lab.topology.servers.values():
        names, values = [line.split() for line in space.read("/proc/thread-self/net/netstat").splitlines()
                         if line.startswith("TcpExt:")]
        total += int(values[names.index("SyncookiesSent")])
    return total


def run(options: Options, expect: support.Expectations) -> None:
    lab = support.cluster(options, services(options), paths="ecmp" if options.forward == "full-nat" else "lasthop")
    with lab:
        lab.start()
        for space in lab.topology.servers.values():
            space.sysctl({"net.ipv4.tcp_syncookies": 2})
            EchoServer(space, plan.ECHO_PORT)
        address = plan.service(options.family)
        groups = [EchoClient(space, address, plan.ECHO_PORT, _EACH) for space in lab.topology.clients.values()]
        for round_ in ("at once", "after the holders' first look"):
            for group in groups if round_ == "at once" else ():
                opened = group.command(f"open {support.PATIENCE}")
                expect.that(len(opened.alive) == _EACH, f"{len(opened.alive)} of {_EACH} connections {opened.broken}")
            lab.topology.flush_all()
            for group in groups:
                heard = group.command(f"speak {support.PATIENCE}")
                expect.that(len(heard.alive) == _EACH, f"tables lost {round_}: {len(heard.alive)} of {_EACH} live {heard.broken}")
            if round_ == "at once":
                wait_for("the look for each connection", lambda: all(
                    lab.cluster.counters(holder)["sessions.looked_up"] >= lab.cluster.counters(holder)["backups.stored"]
                    for holder in lab.cluster.holders.values()))
        sent = cookies_sent(lab)
        expect.that(sent >= 2 * _EACH, f"{sent} SYN/ACK were cookies")
        for holder in lab.cluster.holders.values():
            counters = lab.cluster.counters(holder)
            expect.that(any(name.startswith("backups.released") for name in counters), "what is released is counted")
            released = {name: value for name, value in counters.items() if name.startswith("backups.released") and value}
            expect.that(not released, f"{holder.name}: {counters['backups.stored']} backups stored, none released {released}")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


if __name__ == "__main__":
    support.main({
        "nat-4": lambda options, expect: run(replace(options, family=4), expect),
        "full-nat-6": lambda options, expect: run(replace(options, family=6, forward="full-nat"), expect),
    })
