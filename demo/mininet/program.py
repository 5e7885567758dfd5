# SPDX-License-Identifier: BSD-3-Clause
"""What lb.py and snat.py have in common: their options, and how they run."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from typing import Callable, Optional, Sequence

from isolation import isolate
from lab.balancer import Service
from lab.cluster import find_program
from lab.topology import Shape
from load import Load
from network import new_network
from prompt import Prompt
from scenarios.base import Options
from screen.show import Show
from session import MOST_NODES, Session
from trial import run_trial

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_MOST_HOSTS = 60


def parser_of(name: str, about: str, nodes: str) -> argparse.ArgumentParser:
    """The options of both; `nodes` is what the option for their number is called."""
    parser = argparse.ArgumentParser(prog=f"{name}.py", description=about)
    parser.add_argument(f"--{nodes}", dest="nodes", type=_number(1, MOST_NODES), default=3, metavar="N")
    parser.add_argument("--servers", type=_number(1, _MOST_HOSTS), default=4, metavar="N")
    parser.add_argument("--clients", type=_number(1, _MOST_HOSTS), default=3, metavar="N")
    parser.add_argument("--routing", choices=("symmetric", "asymmetric"), default="symmetric",
                        help="answers pass the node that the request passed, or any")
    parser.add_argument("--family", type=int, choices=(4, 6), default=4, help="IPv4 or IPv6")
    parser.add_argument("--loss", type=_percent, default=0.0, metavar="PERCENT", help="random loss on every link, each direction")
    parser.add_argument("--downloads", type=_number(1, 100), default=4, metavar="N", help="of each client at once")
    parser.add_argument("--rate", type=_number(1000, 100_000_000), default=50_000, metavar="OCTETS", help="a second of each download")
    parser.add_argument("--output", default=f"{name}-results", metavar="DIRECTORY", help="for the plot, its figures and the captures")
    parser.add_argument("--test", action="store_true", help="unattended: kill, add and flush a node under load; status 0 if all held")
    parser.add_argument("--control", action="store_true", help="with --test: recovery is off, and sessions must be lost")
    parser.add_argument("--programs", default=os.path.join(_ROOT, "build", "release"), metavar="DIRECTORY",
                        help="where asrpd-node and asrpd-holder are built")
    return parser


def parse(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """What was given, if it makes sense."""
    arguments = parser.parse_args(argv)
    if arguments.test and arguments.nodes < 2:
        parser.error("--test kills a node and needs two")
    if arguments.control and not arguments.test:
        parser.error("--control belongs to --test")
    return arguments


def options_of(arguments: argparse.Namespace) -> Options:
    """For the laboratory."""
    return Options(family=arguments.family, loss=arguments.loss, control=arguments.control, thorough=arguments.test,
                   transfers=arguments.clients * arguments.downloads, octets=arguments.rate * 8, rate=arguments.rate, idle=3,
                   programs=os.path.abspath(arguments.programs))


def play(name: str, title: str, arguments: argparse.Namespace, options: Options, shape: Shape, services: list[Service]) -> int:
    """Builds the network and plays, unattended or with a command line. Returns the exit status."""
    problem = _missing(f"./demo/mininet/{name}.py", arguments.programs)
    if problem:
        print(problem, file=sys.stderr)
        return 2
    isolate()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: sys.exit(128 + received))
    show = Show(f"asrp in Mininet: {title}", plain=True)
    output = os.path.abspath(arguments.output)
    os.makedirs(output, exist_ok=True)
    with show, Session(name, new_network(), options, shape, services, output, show) as session:
        held = run_trial(session) if arguments.test else _interact(session, arguments)
        names = [*session.plot(), *session.files()]
    print(f"in {arguments.output}: " + " ".join(os.path.basename(each) for each in names))
    print(f"the exchange of messages: asrpdump {os.path.join(arguments.output, os.path.basename(session.telling_file()))}", flush=True)
    return 0 if held else 1


def _missing(path: str, programs: str) -> Optional[str]:
    """Why it can't run."""
    if os.geteuid() != 0:
        return f"network namespaces need root: sudo {path}"
    try:
        for program in ("asrpd-node", "asrpd-holder"):
            find_program(programs, program)
    except FileNotFoundError as error:
        return f"{error}; build it with: ./tools/dev/build release asrpd-node asrpd-holder asrpdump"
    return None


def _interact(session: Session, arguments: argparse.Namespace) -> bool:
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


def _number(least: int, most: int) -> Callable[[str], int]:
    def parse_number(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{value} is not from {least} to {most}")
        return value

    parse_number.__name__ = "number"
    return parse_number


def _percent(text: str) -> float:
    value = float(text)
    if not 0 <= value < 100:
        raise argparse.ArgumentTypeError(f"{text} is no percentage below 100")
    return value
