# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: kill-4 kill-full-nat-6 stop-6 restart-full-nat-4 reload-4 reload-bad-6
"""asrpd-node is killed, stopped, restarted and reloaded under load, on all nodes at once: no established session notices, nothing
passes untranslated, new connections succeed once a daemon runs, with a retransmitted SYN at worst."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable

import support
from lab import plan
from lab.analysis import Analysis
from lab.checks import all_checks
from lab.waiting import wait_for
from scenarios.base import Lab, Options
from scenarios.workload import Workload, services
from screen.show import Show
from traffic.echo import EchoClient

Act = Callable[[Lab, support.Expectations], None]


def kill(lab: Lab, _: support.Expectations) -> None:
    for daemon in lab.cluster.nodes.values():
        daemon.kill()


def stop(lab: Lab, expect: support.Expectations) -> None:
    for number, daemon in lab.cluster.nodes.items():
        before = {f: support.rules(lab.topology.nodes[number], f) for f in (4, 6)}
        expect.that(daemon.stop() == 0, f"node{number}: SIGTERM ends it with status 0")
        after = {f: support.rules(lab.topology.nodes[number], f) for f in (4, 6)}
        expect.that(after == before, f"node{number}: the rules stay at a stop")


def start_again(lab: Lab, expect: support.Expectations) -> None:
    for number in lab.topology.nodes:
        lab.cluster.start_node(number)


def restart(lab: Lab, expect: support.Expectations) -> None:
    for number, daemon in lab.cluster.nodes.items():
        daemon.stop()
        lab.cluster.start_node(number)


def reload(lab: Lab, expect: support.Expectations) -> None:
    for _ in range(5):
        lab.cluster.change_pool(list(lab.cluster.pool.members))
    expect.that(all(d.running for d in lab.cluster.nodes.values()), "the daemons run on after five reloads")


def reload_bad(lab: Lab, expect: support.Expectations) -> None:
    """A reload with a bad file keeps the old configuration."""
    for number, daemon in lab.cluster.nodes.items():
        path = f"{lab.directory}/node{number}.toml"
        with open(path, encoding="utf-8") as file:
            good = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(good.replace('forward = "nat"', 'forward = "sideways"'))
        before = len(daemon.log())
        daemon.begin_reload()
        wait_for(f"node{number} to refuse the file", lambda: "forward" in daemon.log()[before:], limit=30)
        expect.that(daemon.running, f"node{number} runs on after a bad reload")
        with open(path, "w", encoding="utf-8") as file:
            file.write(good)


def under_load(options: Options, expect: support.Expectations, act: Act, then: Act | None = None) -> None:
    lab = support.cluster(options, services(options), paths="ecmp" if options.forward == "full-nat" else "lasthop")
    work = Workload(lab, Show("", quiet=True))
    with lab:
        lab.start()
        work.serve()
        lab.watch(work.show)
        work.begin()
        work.until(0.2, "a fifth of the downloads")
        fresh = EchoClient(lab.topology.clients[1], plan.service(options.family), plan.ECHO_PORT, 10)
        # While no daemon runs, connections are tried; they must succeed when it is back.
        if then is None:
            fresh.send(f"open {support.PATIENCE}")
            act(lab, expect)
            if not all(d.running for d in lab.cluster.nodes.values()):
                start_again(lab, expect)
        else:
            act(lab, expect)
            fresh.send(f"open {support.PATIENCE}")
            work.until(0.7, "the downloads to go on without daemons")
            then(lab, expect)
        opened = fresh.answer()
        expect.that(len(opened.alive) == 10, f"{len(opened.alive)} of 10 new connections succeeded {opened.broken}")
        work.finish()
        lab.end(work.show)
        expect.that(work.downloads.exact() == len(work.downloads.transfers), "every download is byte-exact")
        expect.none_of(work.complaints, f"{work.alive} of {work.idle} idle connections live")
        expect.none_of(all_checks(lab.capture, options.family), "the capture is clean, nothing passed untranslated")
        analysis = Analysis(lab.capture.all_records(), options.family)
        print(f"messages: {dict(analysis.messages)}")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def variant(act: Act, then: Act | None, family: int, forward: str = "nat") -> support.Case:
    def case(options: Options, expect: support.Expectations) -> None:
        changed = replace(options, family=family, forward=forward, thorough=True, transfers=20, octets=250_000, idle=5)
        under_load(changed, expect, act, then)

    return case


if __name__ == "__main__":
    support.main({
        "kill-4": variant(kill, None, 4),
        "kill-full-nat-6": variant(kill, start_again, 6, "full-nat"),
        "stop-6": variant(stop, start_again, 6),
        "restart-full-nat-4": variant(restart, None, 4, "full-nat"),
        "reload-4": variant(reload, None, 4),
        "reload-bad-6": variant(reload_bad, None, 6),
    })
