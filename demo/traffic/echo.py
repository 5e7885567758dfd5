# SPDX-License-Identifier: BSD-3-Clause
"""Handles of the echo programs: long-lived connections that idle and then speak."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from typing import IO, Any, cast

from lab.netns import Namespace

_HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass
class EchoResult:
    alive: list[int] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    round_trip_ms: list[float] = field(default_factory=list)


class EchoServer:
    def __init__(self, space: Namespace, port: int) -> None:
        self._process = space.start(sys.executable, os.path.join(_HERE, "echo_server.py"), str(port), stdout=subprocess.PIPE,
                                    text=True)
        line = cast(IO[str], self._process.stdout).readline()
        if line != "ready\n":
            raise RuntimeError(f"the echo server in {space.name} did not start")

    def tick(self) -> None:
        """Every connection hears "tick" from the server."""
        self._process.send_signal(signal.SIGUSR1)


class EchoClient:
    """`count` connections from one client namespace."""

    def __init__(self, space: Namespace, address: str, port: int, count: int) -> None:
        self.count = count
        self._process = space.start(sys.executable, os.path.join(_HERE, "echo_client.py"), address, str(port), str(count),
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def command(self, line: str) -> EchoResult:
        self.send(line)
        return self.answer()

    def send(self, line: str) -> None:
        pipe = cast(IO[str], self._process.stdin)
        pipe.write(line + "\n")
        pipe.flush()

    def answer(self) -> EchoResult:
        line = cast(IO[str], self._process.stdout).readline()
        if not line:
            raise RuntimeError("the echo client ended")
        values: dict[str, Any] = json.loads(line)
        return EchoResult(**values)

    def close(self) -> None:
        self.send("quit")
        self._process.wait(timeout=30)
