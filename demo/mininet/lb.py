#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: sudo ./demo/mininet/lb.py [OPTIONS]     (--help; README.md beside it explains)
A load balancer of several asrp nodes in Mininet, with Linux bridges: a command line to play with, or --test."""

from __future__ import annotations

import os
import sys
from typing import Sequence

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True

try:
    import matplotlib  # noqa: F401
    import mininet.net  # noqa: F401
except ImportError as missing:
    sys.exit(f"{missing}; install what is missing with: sudo ./tools/dev/install-packages")

from dataclasses import replace  # noqa: E402

from lab.command import run  # noqa: E402
from lab.topology import Shape  # noqa: E402
from program import options_of, parse, parser_of, play  # noqa: E402
from scenarios.workload import services  # noqa: E402


def main(argv: Sequence[str]) -> int:
    parser = parser_of("lb", "A load balancer of asrp nodes in Mininet, with Linux bridges.", "nodes")
    parser.add_argument("--forward", choices=("nat", "full-nat"), default="nat")
    arguments = parse(parser, argv)
    is_symmetric = arguments.routing == "symmetric"
    options = replace(options_of(arguments), forward=arguments.forward)
    shape = Shape(clients=arguments.clients, nodes=arguments.nodes, servers=arguments.servers,
                  paths="lasthop" if is_symmetric else "ecmp", loss_percent=arguments.loss)
    # With asymmetric routing a node sees answers to requests that it never saw: it is told of the session beforehand.
    wanted = services(options, "auto" if is_symmetric or arguments.forward == "full-nat" else "always")
    for service in wanted:
        service.routing = arguments.routing
    return play("lb", "load balancer", arguments, options, shape, wanted)


if __name__ == "__main__":
    run(main)
