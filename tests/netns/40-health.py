# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: tcp http asrp command flapping all-down-first all-down-drop
"""Health checks of real servers: one that is down gets no new sessions, and its old ones go on; a command that hangs is killed with its
children; a server that flaps is kept away for a while; and what happens when all are down."""

from __future__ import annotations

import os
import time
from typing import Iterable

import support
from lab import plan
from lab.netns import Namespace
from lab.waiting import wait_for
from scenarios import movement
from scenarios.base import Lab, Options
from scenarios.workload import services
from traffic.echo import EchoClient, EchoServer
from traffic.web import Content, start_nginx
from traffic.who import WhoClient, WhoServer

_QUICK = ['interval = "200ms"', "rise = 2", "fall = 2"]


class Bench:
    """One node with three servers that say who they are, and long-lived connections to them."""

    def __init__(self, options: Options, health: Iterable[str], pool: Iterable[str] = (), servers: int = 3) -> None:
        self.lab = support.cluster(options, [*services(options), movement.service(options.forward)], nodes=1, servers=servers)
        self.lab.cluster.pool.settings = [*pool, "[pools.health]", *health]
        self.options = options

    def start(self) -> Lab:
        lab = self.lab
        lab.topology.build()
        for number, space in lab.topology.servers.items():
            EchoServer(space, plan.ECHO_PORT)
            WhoServer(space, plan.WHO_PORT, number)
        lab.balancer.start_holders()
        lab.balancer.start_node(1)
        lab.topology.route_via([1])
        address = plan.service(self.options.family)
        self.who = WhoClient(lab.topology.clients[1], address, plan.WHO_PORT, 2000, 120)
        self.echo = EchoClient(lab.topology.clients[2], address, plan.ECHO_PORT, 30)
        return lab

    def open(self, expect: support.Expectations) -> None:
        expect.none_of(self.echo.command(f"open {support.PATIENCE}").broken.values(), "connections to all servers are open")

    def servers(self) -> set[int]:
        """Where new sessions go."""
        self.who.begin()
        self.answers = self.who.answer()
        return set(self.answers.values())

    def speaks(self, expect: support.Expectations, text: str) -> None:
        expect.none_of(self.echo.command(f"speak {support.PATIENCE}").broken.values(), text)

    def becomes(self, server: int, state: str, falls: int = 0, detail: str = "", pools: tuple[str, ...] = ("who-4", "shell-4")) -> None:
        """Waits until the server is in that state in these pools, after so many falls and with that result of its last check."""

        def reached() -> bool:
            lines = self.lab.cluster.ask_node(1, "backends")["lines"]
            found = [each for each in lines if each["id"] == f"s{server}" and each["pool"] in pools]
            return len(found) == len(pools) and all(
                each["health"] == state and each["falls"] >= falls and detail in each["health_detail"] for each in found)

        wait_for(f"s{server} to be {state} {detail}", reached, limit=support.PATIENCE, every=0.05)


def _refuse(space: Namespace, port: int, refuse: bool) -> None:
    """New connections are reset; old ones go on."""
    for program in ("iptables", "ip6tables"):
        space.run(program, "-I" if refuse else "-D", "INPUT", "-p", "tcp", "--dport", str(port), "--syn", "-j", "REJECT",
                  "--reject-with", "tcp-reset")


def tcp(options: Options, expect: support.Expectations) -> None:
    bench = Bench(options, ['check = "tcp"', *_QUICK])
    with bench.lab:
        lab = bench.start()
        bench.open(expect)
        for number in (1, 2, 3):
            bench.becomes(number, "up")
        expect.that(bench.servers() == {1, 2, 3}, "new sessions go to all three servers")
        first = lab.topology.servers[1]
        for port in (plan.WHO_PORT, plan.ECHO_PORT):
            _refuse(first, port, True)
        bench.becomes(1, "down", detail="Connection refused")
        expect.that(bench.servers() == {2, 3}, f"new sessions go to the other two once it is down ({sorted(set(bench.answers.values()))})")
        expect.that(len(bench.answers) == 120, "and all of them find a server")
        bench.speaks(expect, "old connections go on, also those of the server that is down")
        lab.topology.flush([1])
        bench.speaks(expect, "and are recovered from it after the node has lost its table")
        lab.cluster.nodes[1].reload()
        expect.that(bench.servers() == {2, 3}, "a reload doesn't bring it back")
        for port in (plan.WHO_PORT, plan.ECHO_PORT):
            _refuse(first, port, False)
        bench.becomes(1, "up")
        expect.that(bench.servers() == {1, 2, 3}, "it gets new sessions again once it is up")
        counters = lab.cluster.counters(lab.cluster.nodes[1])
        expect.that(counters["health.checks"] > counters["health.failed"] > 0, "checks and failed ones are counted")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def http(options: Options, expect: support.Expectations) -> None:
    bench = Bench(options, ['check = "http"', f"port = {plan.HTTP_PORT}", 'path = "/f0000"', 'host = "check.example"',
                            'status = "200"', *_QUICK], servers=2)
    with bench.lab as lab:
        Content(lab.directory, 1, 1000)
        bench.start()
        for space in lab.topology.servers.values():
            start_nginx(space, lab.directory, 0)
        for number in (1, 2):
            bench.becomes(number, "up", detail="HTTP status 200")
        expect.that(bench.servers() == {1, 2}, "new sessions go to both servers")
        os.rename(f"{lab.directory}/content/f0000", f"{lab.directory}/content/gone")
        bench.becomes(1, "down", detail="HTTP status 404")
        os.rename(f"{lab.directory}/content/gone", f"{lab.directory}/content/f0000")
        bench.becomes(1, "up", detail="HTTP status 200")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def asrp(options: Options, expect: support.Expectations) -> None:
    bench = Bench(options, ['check = "asrp"', *_QUICK])
    with bench.lab:
        lab = bench.start()
        for number in (1, 2, 3):
            bench.becomes(number, "up", detail="the holder answers")
        lab.cluster.holders[1].stop()
        bench.becomes(1, "down", detail="the holder is gone")
        expect.that(bench.servers() == {2, 3}, "a server whose holder is gone gets no new sessions")
        lab.cluster.start_holder(1)
        bench.becomes(1, "up", detail="the holder answers")
        expect.that(bench.servers() == {1, 2, 3}, "and does when it is back")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def _script(lab: Lab, text: str) -> str:
    path = f"{lab.directory}/check"
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def _with_script(options: Options, text: str, health: Iterable[str], pool: Iterable[str] = ()) -> Bench:
    bench = Bench(options, [], pool)
    path = _script(bench.lab, text.replace("DIRECTORY", bench.lab.directory))
    bench.lab.cluster.pool.settings += ['check = "command"', f'command = ["{path}", "argument"]', *health]
    return bench


def _hanging(space: Namespace, word: str) -> list[str]:
    """Processes in the namespace with `word` in their command line."""
    found = []
    for pid in space.pids():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line:
            found.append(f"{pid}: {line}")
    return found


def command(options: Options, expect: support.Expectations) -> None:
    script = """
[ "$1" = argument ] || { echo no argument; exit 9; }
[ "$ASRP_SERVER" = s1 ] && [ -e DIRECTORY/hang ] || { echo "$ASRP_POOL $ASRP_ADDRESS $ASRP_PORT"; exit 0; }
sh -c 'trap "" TERM; sleep 4711; true' &
sleep 4711
"""
    bench = _with_script(options, script, [*_QUICK, 'timeout = "300ms"'])
    with bench.lab:
        lab = bench.start()
        bench.open(expect)
        bench.becomes(1, "up", detail=f"status 0: who-4 {plan.server(1, 4)} {plan.WHO_PORT}", pools=("who-4",))
        with open(f"{lab.directory}/hang", "w", encoding="ascii"):
            pass
        bench.becomes(1, "down", detail="not ended in time: killed")
        expect.that(bench.servers() == {2, 3}, "a server whose command hangs gets no new sessions")
        bench.speaks(expect, "old connections go on, and the node isn't held up")
        os.unlink(f"{lab.directory}/hang")
        bench.becomes(1, "up")
        node = lab.topology.nodes[1]
        wait_for("the end of all that hung", lambda: not _hanging(node, "sleep 4711"), limit=support.PATIENCE)
        expect.that(True, "nothing is left of commands that hung, nor of their children")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def flapping(options: Options, expect: support.Expectations) -> None:
    script = '[ "$ASRP_SERVER" = s1 ] && [ -e DIRECTORY/down ] && exit 1\nexit 0\n'
    bench = _with_script(options, script, ['interval = "100ms"', "rise = 1", "fall = 1", "flaps = 3", 'half_life = "8s"'])
    with bench.lab:
        lab = bench.start()
        bench.becomes(1, "up")
        down = f"{lab.directory}/down"
        for fall in (1, 2, 3):
            with open(down, "w", encoding="ascii"):
                pass
            bench.becomes(1, "down", fall)
            os.unlink(down)
            bench.becomes(1, "up" if fall < 3 else "damped", fall)
        damped = time.monotonic()
        expect.that(bench.servers() == {2, 3}, "after three falls it gets no new sessions, although its checks are good")
        bench.becomes(1, "up", 3)
        expect.that(time.monotonic() - damped > 4, f"it is back after a while: {time.monotonic() - damped:.1f} s")
        expect.that(bench.servers() == {1, 2, 3}, "and then gets new sessions")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def _all_down(options: Options, expect: support.Expectations, how: str) -> None:
    bench = _with_script(options, "[ -e DIRECTORY/down ] && exit 1\nexit 0\n", [*_QUICK], [f'all_down = "{how}"'])
    with bench.lab:
        lab = bench.start()
        bench.open(expect)
        for number in (1, 2, 3):
            bench.becomes(number, "up")
        with open(f"{lab.directory}/down", "w", encoding="ascii"):
            pass
        for number in (1, 2, 3):
            bench.becomes(number, "down")
        before = lab.cluster.counters(lab.cluster.nodes[1])
        if how == "first":
            expect.that(bench.servers() == {1, 2, 3}, "all down: new sessions go on as if all were well")
            after = lab.cluster.counters(lab.cluster.nodes[1])
            expect.that(after["sessions.all_down"] > before["sessions.all_down"], "and that is counted")
        else:
            vain = EchoClient(lab.topology.clients[1], plan.service(options.family), plan.ECHO_PORT, 1)
            expect.that(not vain.command("open 3").alive, "all down: new sessions find no server")
            after = lab.cluster.counters(lab.cluster.nodes[1])
            expect.that(after["drops.no_backend"] > before["drops.no_backend"], "and that is counted")
        bench.speaks(expect, "old connections go on")
        os.unlink(f"{lab.directory}/down")
        bench.becomes(1, "up")
        expect.that(1 in bench.servers(), "once it is up it gets new sessions")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def all_down_first(options: Options, expect: support.Expectations) -> None:
    _all_down(options, expect, "first")


def all_down_drop(options: Options, expect: support.Expectations) -> None:
    _all_down(options, expect, "drop")


if __name__ == "__main__":
    support.main({"tcp": tcp, "http": http, "asrp": asrp, "command": command, "flapping": flapping,
                  "all-down-first": all_down_first, "all-down-drop": all_down_drop})
