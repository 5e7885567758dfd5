# SPDX-License-Identifier: BSD-3-Clause
"""Which server a new session gets: the same connections, from the same ports, asked again and again. Handles of who_client.py and
who_server.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import IO, Any, cast

from lab.netns import Namespace

_HERE = os.path.dirname(os.path.abspath(__file__))


class WhoServer:
    """Tells `number` to whoever connects."""

    def __init__(self, space: Namespace, port: int, number: int) -> None:
        process = space.start(sys.executable, os.path.join(_HERE, "who_server.py"), str(port), str(number),
                              stdout=subprocess.PIPE, text=True)
        if cast(IO[str], process.stdout).readline() != "ready\n":
            raise RuntimeError(f"the server in {space.name} did not start")


class WhoClient:
    """Connections from one client namespace, from the ports `first_port` on."""

    def __init__(self, space: Namespace, address: str, port: int, first_port: int, count: int) -> None:
        self._process = space.start(sys.executable, os.path.join(_HERE, "who_client.py"), address, str(port), str(first_port),
                                    str(count), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def begin(self) -> None:
        pipe = cast(IO[str], self._process.stdin)
        pipe.write("ask\n")
        pipe.flush()

    def answer(self) -> dict[int, int]:
        """The server of each port; ports that got none are not in it."""
        line = cast(IO[str], self._process.stdout).readline()
        if not line:
            raise RuntimeError("the client ended")
        values: dict[str, Any] = json.loads(line)
        return {int(port): int(server) for port, server in values.items()}
