#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: sudo ./demo/mininet/lb.py [OPTIONS]     (--help; README.md beside it explains)
A load balancer of several asrp nodes in Mininet, with Linux bridges: a command line to play with, or --test."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from typing import Sequence

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(os.path.dirname(_HERE))
sys.path.insert(1, os.path.join(_ROOT, "demo"))
sys.dont_write_bytecode = True

try:
    import matplotlib  # noqa: F401
    import mininet.net  # noqa: F401
except ImportError as missing:
    sys.exit(f"{missing}; install what is missing with: sudo ./tools/dev/install-packages")

from isolation import isolate  # noqa: E402
from lab.balancer import Service  # noqa: E402
from lab.cluster import find_program  # noqa: E402
from lab.command import run  # noqa: E402
from lab.topology import Shape  # noqa: E402
from load import Load  # noqa: E402
from network import new_network  # noqa: E402
from prompt import Prompt  # noqa: E402
from scenarios.base import Options  # noqa: E402
from scenarios.workload import services  # noqa: E402
from screen.show import Show  # noqa: E402
from session import MOST_NODES, Session  # noqa: E402
from trial import run_trial  # noqa: E402

_MOST_HOSTS = 60


def _number(least: int, most: int) -> "type[int]":
    def parse(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{value} is not from {least} to {most}")
        return value

    parse.__name__ = "number"
    return parse  # type: ignore[return-value]


def _percent(text: str) -> float:
    value = float(text)
    if not 0 <= value < 100:
        raise argparse.ArgumentTypeError(f"{text} is no percentage below 100")
    return value


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="lb.py", description="A load balancer of asrp nodes in Mininet, with Linux bridges.")
    parser.add_argument("--nodes", type=_number(1, MOST_NODES), default=3, metavar="N")
    parser.add_argument("--servers", type=_number(1, _MOST_HOSTS), default=4, metavar="N")
    parser.add_argument("--clients", type=_number(1, _MOST_HOSTS), default=3, metavar="N")
    parser.add_argument("--routing", choices=("symmetric", "asymmetric"), default="symmetric",
                        help="answers pass the node that the request passed, or any")
    parser.add_argument("--forward", choices=("nat", "full-nat"), default="nat")
    parser.add_argument("--family", type=int, choices=(4, 6), default=4, help="IPv4 or IPv6")
    parser.add_argument("--loss", type=_percent, default=0.0, metavar="PERCENT", help="random loss on every link, each direction")
    parser.add_argument("--downloads", type=_number(1, 100), default=4, metavar="N", help="of each client at once")
    parser.add_argument("--rate", type=_number(1000, 100_000_000), default=50_000, metavar="OCTETS", help="a second of each download")
    parser.add_argument("--output", default="lb-results", metavar="DIRECTORY", help="for the plot, its figures and the captures")
    parser.add_argument("--test", action="store_true", help="unattended: kill, add and flush a node under load; status 0 if all held")
    parser.add_argument("--control", action="store_true", help="with --test: recovery is off, and sessions must be lost")
    parser.add_argument("--programs", default=os.path.join(_ROOT, "build", "release"), metavar="DIRECTORY",
                        help="where asrpd-node and asrpd-holder are built")
    arguments = parser.parse_args(argv)
    if arguments.test and arguments.nodes < 2:
        parser.error("--test kills a node and needs two")
    if arguments.control and not arguments.test:
        parser.error("--control belongs to --test")
    return arguments


def _session(arguments: argparse.Namespace, show: Show) -> Session:
    is_symmetric = arguments.routing == "symmetric"
    options = Options(family=arguments.family, forward=arguments.forward, loss=arguments.loss, control=arguments.control,
                      thorough=arguments.test, transfers=arguments.clients * arguments.downloads, octets=arguments.rate * 8,
                      rate=arguments.rate, idle=3, programs=os.path.abspath(arguments.programs))
    shape = Shape(clients=arguments.clients, nodes=arguments.nodes, servers=arguments.servers,
                  paths="lasthop" if is_symmetric else "ecmp", loss_percent=arguments.loss)
    # With asymmetric routing a node sees answers to requests that it never saw: it is told of the session beforehand.
    wanted: list[Service] = services(options, "auto" if is_symmetric or arguments.forward == "full-nat" else "always")
    for service in wanted:
        service.routing = arguments.routing
    output = os.path.abspath(arguments.output)
    os.makedirs(output, exist_ok=True)
    return Session(new_network(), options, shape, wanted, output, show)


def _play(session: Session, arguments: argparse.Namespace) -> bool:
    """The command line, and downloads for as long as it is open; true if none broke."""
    session.lab.start()
    load = Load(session.topology, session.lab.directory, arguments.family, arguments.downloads, arguments.rate * 8, arguments.rate)
    load.start()
    session.lab.monitor.start()
    session.show.started = time.time()
    print(f"{arguments.downloads} downloads of each client run without end. `help` lists the commands; try: watch 5, kill n2, watch 5",
          flush=True)
    try:
        Prompt(session, load)
    finally:
        load.stop()
        session.lab.monitor.stop()
        session.lab.capture.stop()
    problems = load.broken + session.lab.balancer.problems()
    for problem in problems:
        print("  " + problem)
    print(f"{load.exact} downloads were byte-exact, {len(load.broken)} broke")
    return not problems


def main(argv: Sequence[str]) -> int:
    arguments = _arguments(argv)
    if os.geteuid() != 0:
        print("network namespaces need root: sudo ./demo/mininet/lb.py", file=sys.stderr)
        return 2
    try:
        for program in ("asrpd-node", "asrpd-holder"):
            find_program(arguments.programs, program)
    except FileNotFoundError as error:
        print(f"{error}; build it with: ./tools/dev/build release asrpd-node asrpd-holder asrpdump", file=sys.stderr)
        return 2
    isolate()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: sys.exit(128 + received))
    show = Show("asrp in Mininet: load balancer", plain=True)
    with show, _session(arguments, show) as session:
        held = run_trial(session) if arguments.test else _play(session, arguments)
        names = [*session.plot(), *session.files()]
    print(f"in {arguments.output}: " + " ".join(os.path.basename(name) for name in names))
    print(f"the exchange of messages: asrpdump {os.path.join(arguments.output, os.path.basename(session.files()[1]))}", flush=True)
    return 0 if held else 1


if __name__ == "__main__":
    run(main)
