#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: sudo ./demo/mininet/snat.py [OPTIONS]     (--help; README.md beside it explains)
An office behind several gateways with source NAT in Mininet, with Linux bridges: a command line to play with, or --test."""

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

from lab.command import run  # noqa: E402
from lab.ground import OFFICE  # noqa: E402
from lab.topology import Shape  # noqa: E402
from program import options_of, parse, parser_of, play  # noqa: E402


def main(argv: Sequence[str]) -> int:
    arguments = parse(parser_of("snat", "An office behind gateways with source NAT in Mininet, with Linux bridges.", "gateways"), argv)
    shape = Shape(clients=arguments.clients, nodes=arguments.nodes, servers=arguments.servers,
                  paths="lasthop" if arguments.routing == "symmetric" else "ecmp", loss_percent=arguments.loss, ground=OFFICE)
    return play("snat", "gateways with source NAT", arguments, options_of(arguments), shape, [])


if __name__ == "__main__":
    run(main)
