# SPDX-License-Identifier: BSD-3-Clause
"""The demo's command line; demo/run has installed and built what it needs."""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import time
from dataclasses import replace
from importlib import import_module
from typing import Any, Sequence

from lab.claim import remove_dead_labs
from lab.command import run
from scenarios.base import Options, Result
from screen.paint import paint
from screen.show import Show

COMPARABLE = ("failover", "scale-out", "pool-change", "udp")  # kernel NAT can play these too
SCENARIOS = ("failover", "asymmetric", "scale-out", "pool-change", "drain", "udp", "conflict", "snat", "snat-asymmetric")


def _module(scenario: str) -> Any:
    return import_module("scenarios." + scenario.replace("-", "_"))


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo/run", description="Shows a cluster whose sessions outlive its nodes.")
    parser.add_argument("scenario", nargs="?", default="failover", choices=SCENARIOS, metavar="SCENARIO")
    parser.add_argument("--list", action="store_true", help="list the scenarios")
    parser.add_argument("--keep", action="store_true", help="leave the laboratory up; the next run removes it")
    parser.add_argument("--json", metavar="FILE", help="write the figures")
    parser.add_argument("--compare", action="store_true", help="play the same on plain kernel DNAT as well")
    parser.add_argument("--control", action="store_true", help="with recovery off: sessions must be lost, or the demo proves nothing")
    parser.add_argument("--family", type=int, choices=(4, 6), default=4, help="IPv4 or IPv6")
    parser.add_argument("--forward", choices=("nat", "full-nat"), default="nat")
    parser.add_argument("--loss", type=float, default=0.0, metavar="PERCENT", help="random loss on every link, each direction")
    parser.add_argument("--kill", type=int, default=1, metavar="N", help="nodes to kill at once")
    parser.add_argument("--flush-all", action="store_true", help="empty all nodes' tables at once instead of killing nodes")
    parser.add_argument("--seconds", type=float, default=0.0, metavar="N", help="snat: how long the downloads last, without loss")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="in a row; all must hold")
    parser.add_argument("--plain", action="store_true", help="lines instead of a live picture")
    parser.add_argument("--thorough", action="store_true", help="check every captured packet, checksums included")
    parser.add_argument("--capture", metavar="FILE", help="keep a small capture of the sessions that tell most, for asrpdump")
    parser.add_argument("--programs", default="", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def _options(arguments: argparse.Namespace) -> Options:
    return Options(family=arguments.family, forward=arguments.forward, loss=arguments.loss, kill=arguments.kill,
                   flush_all=arguments.flush_all, control=arguments.control, keep=arguments.keep, plain=arguments.plain,
                   thorough=arguments.thorough, capture=arguments.capture or "", programs=arguments.programs, seconds=arguments.seconds)


def _title(scenario: str, options: Options) -> str:
    parts = [f"IPv{options.family}", options.forward]
    parts += [f"{options.loss:g} % loss on every link"] if options.loss else []
    parts += [f"{options.kill} nodes die"] if options.kill > 1 else []
    parts += ["all tables flushed"] if options.flush_all else []
    parts += ["recovery off"] if options.control else []
    parts += ["plain kernel DNAT for comparison"] if options.kernel_nat else []
    return f"asrp: {scenario} ({', '.join(parts)})"


def play(scenario: str, options: Options) -> Result:
    """One run with its show; the verdict is printed."""
    with Show(_title(scenario, options), options.plain, options.quiet) as show:
        result: Result = _module(scenario).run(options, show)
    if not options.quiet:
        report(result, options)
    return result


def report(result: Result, options: Options) -> None:
    """The figures in words."""
    latency, transfers, sessions = result.recovery_ms, result.transfers, result.sessions
    print(f"  transfers byte-exact   {transfers['byte_exact']} of {transfers['total']}")
    print(f"  sessions survived      {sessions['survived']} of {sessions['total']}, {result.more.get('moved', 0)} moved to another node")
    if not options.kernel_nat:
        print(f"  recovery               p50 {latency['p50']:g} ms, p99 {latency['p99']:g} ms, max {latency['max']:g} ms")
        print("  messages               " + (", ".join(f"{count} {name}" for name, count in result.messages.items()) or "none")
              + f" ({result.more.get('probes', 0)} of the QS and RX are probes of holders)")
    for change in result.more.get("changes", []):
        print(f"  new sessions           {100 * change['share']:.1f} % moved, {100 * change['least']:.1f} % had to: {change['what']}")
    for problem in result.problems[:12]:
        print("  " + paint("! ", "red") + problem)
    if options.control:
        verdict = "as it must: without recovery the sessions are lost" if result.held else "sessions survived without recovery: the demo proves nothing"
    elif options.kernel_nat:
        verdict = f"kernel DNAT broke {sessions['total'] - sessions['survived']} of {sessions['total']} sessions"
    else:
        verdict = "held" if result.held else "NOT held"
    print(paint(f"  {verdict} ({result.duration_s:g} s)", "bold", "green" if result.held else "red"), flush=True)


def _repeat(scenario: str, options: Options, runs: int) -> dict[str, Any]:
    """Several runs as one set of figures: the last one's, with how many held."""
    results = []
    for _ in range(runs):
        results.append(play(scenario, options))
    values = results[-1].as_json()
    if runs > 1:
        values["runs"] = [r.as_json() for r in results]
        values["held"] = all(r.held for r in results)
        medians = statistics.median(r.recovery_ms["p50"] for r in results)
        print(f"{sum(r.held for r in results)} of {runs} runs held; median of the p50 recovery {medians:g} ms")
    return values


def main(argv: Sequence[str]) -> int:
    arguments = _arguments(argv)
    if arguments.list:
        for scenario in SCENARIOS:
            print(f"{scenario:15}  {_module(scenario).ABOUT}")
        return 0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    removed = remove_dead_labs()
    if removed:
        print(f"removed what {len(removed)} former run(s) had left")
    options = _options(arguments)
    if arguments.scenario == "conflict":
        options = replace(options, forward="full-nat")
    started = time.monotonic()
    values = _repeat(arguments.scenario, options, arguments.runs)
    if arguments.compare:
        other = arguments.scenario if arguments.scenario in COMPARABLE else "failover"
        compared = play(other, replace(options, kernel_nat=True, forward="nat", keep=False, capture=""))
        values["compare"] = compared.as_json()
        broken = [r["sessions"]["total"] - r["sessions"]["survived"] for r in (values, values["compare"])]
        print(f"\nsame events: asrp broke {broken[0]} sessions, plain kernel DNAT {broken[1]} of {compared.sessions['total']}")
    values["duration_s"] = round(time.monotonic() - started, 1)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(values, file, indent=2)
            file.write("\n")
    return 0 if values["held"] else 1


def _interrupt(number: int, _frame: object) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


if __name__ == "__main__":
    run(main)
