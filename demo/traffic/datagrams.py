# SPDX-License-Identifier: BSD-3-Clause
"""Handles of the UDP programs: long-lived flows, and DNS with dnsmasq and dig."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import IO, Any, cast

from lab import plan
from lab.netns import Namespace
from lab.waiting import wait_for

_HERE = os.path.dirname(os.path.abspath(__file__))
DNS_NAME = "session.asrp.example"
DNS_ANSWER = {"A": "192.0.2.77", "AAAA": "2001:db8::77"}


def start_udp_server(space: Namespace, port: int, name: str) -> None:
    process = space.start(sys.executable, os.path.join(_HERE, "udp_server.py"), str(port), name, stdout=subprocess.PIPE, text=True)
    if cast(IO[str], process.stdout).readline() != "ready\n":
        raise RuntimeError(f"the UDP server in {space.name} did not start")


class UdpFlows:
    """`count` long-lived flows from one client."""

    def __init__(self, space: Namespace, address: str, port: int, count: int, interval: float) -> None:
        self.count = count
        self._process = space.start(sys.executable, os.path.join(_HERE, "udp_client.py"), address, str(port), str(count),
                                    str(interval), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def report(self) -> dict[str, dict[str, Any]]:
        pipe = cast(IO[str], self._process.stdin)
        pipe.write("report\n")
        pipe.flush()
        values: dict[str, dict[str, Any]] = json.loads(cast(IO[str], self._process.stdout).readline())
        return values


def start_dnsmasq(space: Namespace, directory: str) -> None:
    """A real DNS server with one name."""
    label = space.name.split("-")[-1]
    space.start("dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root", "--group=root",
                f"--pid-file={directory}/dnsmasq-{label}.pid", f"--address=/{DNS_NAME}/{DNS_ANSWER['A']}",
                f"--address=/{DNS_NAME}/{DNS_ANSWER['AAAA']}", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    port = f":{plan.DNS_PORT:04X} "
    wait_for(f"dnsmasq in {space.name}", lambda: all(port in space.read(f"/proc/thread-self/net/{t}") for t in ("udp", "udp6")))


def _answers(text: str) -> list[str]:
    """What `dig +short` says was answered; in between it tells of each try that got none."""
    return [line for line in text.splitlines() if not line.startswith(";")]


class Lookups:
    """Runs of dig; each asks for both addresses of the name from one socket each, and repeats as resolvers do."""

    def __init__(self) -> None:
        self._running: list[tuple[subprocess.Popen[str], str]] = []
        self.total = 0
        self.right = 0

    def ask(self, space: Namespace, address: str) -> None:
        for kind in DNS_ANSWER:
            process = space.start("dig", f"@{address}", "-p", str(plan.DNS_PORT), DNS_NAME, kind, "+short", "+tries=12", "+time=2",
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self._running.append((process, kind))
            self.total += 1

    def poll(self) -> int:
        """How many still wait; the ended ones are checked."""
        waiting = []
        for process, kind in self._running:
            if process.poll() is None:
                waiting.append((process, kind))
            elif _answers(cast(IO[str], process.stdout).read()) == [DNS_ANSWER[kind]]:
                self.right += 1
        self._running = waiting
        return len(waiting)
