# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: ssh-4 ssh-full-nat-6 iperf3-6 iperf3-full-nat-4
"""Programs as people use them: an idle ssh session, and iperf3 at full speed in both directions, while the node that carries them is
killed. They notice nothing."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import replace

import support
from lab import plan
from lab.netns import Namespace
from lab.waiting import wait_for
from scenarios.base import Lab, Options
from scenarios.workload import services
from traffic.shell import Shell, make_keys, start_sshd

_SECONDS = 8


def carried_by_first(options: Options, servers: int) -> Lab:
    """Flows take the first of two nodes."""
    lab = support.cluster(options, services(options), servers=servers, paths="ecmp" if options.forward == "full-nat" else "lasthop")
    lab.start()
    lab.topology.route_via([1])
    return lab


def kill_first(lab: Lab) -> None:
    lab.topology.cut_node(1)
    lab.topology.nodes[1].kill_all()
    lab.topology.route_via([2])


def listens(space: Namespace) -> None:
    wait_for(f"a listener in {space.name}", lambda: f":{plan.ECHO_PORT:04X} 0" in space.read("/proc/thread-self/net/tcp6"))


def restored(lab: Lab, expect: support.Expectations, least: int) -> None:
    counters = lab.cluster.counters(lab.cluster.nodes[2])
    count = counters["sessions.restored_rs"] + counters["sessions.restored_ps"]
    expect.that(count >= least, f"the second node has restored {count} sessions")
    expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def ssh(options: Options, expect: support.Expectations) -> None:
    with carried_by_first(options, servers=2) as lab:
        make_keys(lab.directory)
        for space in lab.topology.servers.values():
            start_sshd(space, lab.directory, plan.ECHO_PORT)
        session = Shell(lab.topology.clients[1], lab.directory, plan.service(options.family), plan.ECHO_PORT)

        def answers(when: str) -> None:
            session.say()
            wrong = session.hear(support.PATIENCE)
            expect.that(not wrong, f"an ssh session answers {when} {wrong}")

        answers("before")
        kill_first(lab)
        answers("after its node is gone")
        session.close()
        expect.that(session.process.returncode == 0, "and ends with status 0")
        restored(lab, expect, 1)


def iperf3(options: Options, expect: support.Expectations) -> None:
    # One server: the program's connections belong together.
    with carried_by_first(options, servers=1) as lab:
        lab.topology.servers[1].start("iperf3", "-s", "-p", str(plan.ECHO_PORT), stdout=subprocess.DEVNULL)
        listens(lab.topology.servers[1])
        client = lab.topology.clients[1].start("iperf3", "-c", plan.service(options.family), "-p", str(plan.ECHO_PORT), "-J", "--bidir",
                                               "-P", "3", "-b", "4M", "-t", str(_SECONDS), stdout=subprocess.PIPE, text=True)
        begun = time.monotonic()
        wait_for("a quarter of the time", lambda: time.monotonic() - begun > _SECONDS / 4)
        kill_first(lab)
        output, _ = client.communicate(timeout=support.PATIENCE)
        report = json.loads(output)
        expect.that(client.returncode == 0 and "error" not in report, f"iperf3 ends well {report.get('error', '')}")
        end = report.get("end", {})
        streams = end.get("streams", [])
        expect.that(len(streams) == 6, f"{len(streams)} streams")
        for direction in ("sum_sent", "sum_received", "sum_sent_bidir_reverse", "sum_received_bidir_reverse"):
            octets = int(end.get(direction, {}).get("bytes", 0))
            # A third of what the rate allows: the gap after the kill is a small part of it.
            expect.that(octets > 3 * 4_000_000 / 8 * _SECONDS / 3, f"{direction}: {octets} octets")
        last = [i["sum"]["bytes"] + i["sum_bidir_reverse"]["bytes"] for i in report.get("intervals", [])[-2:]]
        expect.that(len(last) == 2 and all(last), f"octets of the last two seconds: {last}")
        restored(lab, expect, 7)


if __name__ == "__main__":
    support.main({
        "ssh-4": lambda options, expect: ssh(replace(options, family=4), expect),
        "ssh-full-nat-6": lambda options, expect: ssh(replace(options, family=6, forward="full-nat"), expect),
        "iperf3-6": lambda options, expect: iperf3(replace(options, family=6), expect),
        "iperf3-full-nat-4": lambda options, expect: iperf3(replace(options, family=4, forward="full-nat"), expect),
    })
