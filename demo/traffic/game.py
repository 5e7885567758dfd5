# SPDX-License-Identifier: BSD-3-Clause
"""Handles of the game's programs: UDP in both directions at once, or for a while from the server alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import IO, Any, cast

from lab.netns import Namespace

_HERE = os.path.dirname(os.path.abspath(__file__))


def start_game_server(space: Namespace, port: int, interval: float) -> None:
    process = space.start(sys.executable, os.path.join(_HERE, "game_server.py"), str(port), str(interval), stdout=subprocess.PIPE, text=True)
    if cast(IO[str], process.stdout).readline() != "ready\n":
        raise RuntimeError(f"the game's server in {space.name} did not start")


class Players:
    """`count` players on one client."""

    def __init__(self, space: Namespace, address: str, port: int, count: int, interval: float) -> None:
        self.count = count
        self._process = space.start(sys.executable, os.path.join(_HERE, "game_client.py"), address, str(port), str(count), str(interval),
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def quiet(self) -> None:
        """From now on every second player hears and says nothing."""
        self._command("quiet")

    def talk(self) -> None:
        """All players say something again."""
        self._command("talk")

    def report(self) -> dict[str, dict[str, Any]]:
        values: dict[str, dict[str, Any]] = json.loads(self._command("report"))
        return values

    def _command(self, word: str) -> str:
        pipe = cast(IO[str], self._process.stdin)
        pipe.write(word + "\n")
        pipe.flush()
        return cast(IO[str], self._process.stdout).readline()
