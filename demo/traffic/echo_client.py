# SPDX-License-Identifier: BSD-3-Clause
"""Usage: echo_client.py ADDRESS PORT COUNT
Holds COUNT connections and obeys one command a line from standard input, answering each with one line of JSON:
  open            connects all, each says one line and hears it back
  speak SECONDS   each connection says a line of its own and must hear exactly that within SECONDS, "tick" lines apart
  listen SECONDS  each connection must hear the line "tick" within SECONDS (the server was told to speak)
  quit
The answer to open, speak and listen: {"alive": [ports], "broken": {port: reason}, "round_trip_ms": [...]}"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Optional


class Connection:
    def __init__(self) -> None:
        self.reader: Optional[asyncio.StreamReader] = None
        self.writer: Optional[asyncio.StreamWriter] = None
        self.port = 0
        self.broken = ""
        self.round_trip = 0.0

    async def open(self, address: str, port: int, limit: float) -> None:
        try:
            self.reader, self.writer = await asyncio.wait_for(asyncio.open_connection(address, port), limit)
            self.port = self.writer.get_extra_info("sockname")[1]
        except (OSError, asyncio.TimeoutError) as error:
            self.broken = f"connect: {type(error).__name__} {error}"

    async def speak(self, limit: float) -> None:
        line = os.urandom(16).hex().encode() + b"\n"
        await self._expect(line, limit, say=line)

    async def listen(self, limit: float) -> None:
        await self._expect(b"tick\n", limit)

    async def _expect(self, line: bytes, limit: float, say: bytes = b"") -> None:
        if self.broken or self.reader is None or self.writer is None:
            return
        start = time.monotonic()
        try:
            self.writer.write(say)
            heard = b"tick\n"
            while heard == b"tick\n":
                heard = await asyncio.wait_for(self.reader.readline(), limit)
                if heard == line:
                    break
            if heard != line:
                self.broken = "closed" if not heard else f"heard {heard!r}, not {line!r}"
        except asyncio.TimeoutError:
            self.broken = f"silent for {limit:g} s"
        except OSError as error:
            self.broken = type(error).__name__
        self.round_trip = (time.monotonic() - start) * 1000


async def _main(address: str, port: int, count: int) -> None:
    connections = [Connection() for _ in range(count)]
    loop = asyncio.get_running_loop()
    while True:
        words = (await loop.run_in_executor(None, sys.stdin.readline)).split()
        if not words or words[0] == "quit":
            break
        limit = float(words[1]) if len(words) > 1 else 30.0
        if words[0] == "open":
            await asyncio.gather(*(c.open(address, port, limit) for c in connections))
            await asyncio.gather(*(c.speak(limit) for c in connections))
        elif words[0] == "speak":
            await asyncio.gather(*(c.speak(limit) for c in connections))
        elif words[0] == "listen":
            await asyncio.gather(*(c.listen(limit) for c in connections))
        print(json.dumps({
            "alive": [c.port for c in connections if not c.broken],
            "broken": {str(c.port or f"unopened-{n}"): c.broken for n, c in enumerate(connections) if c.broken},
            "round_trip_ms": [round(c.round_trip, 3) for c in connections if not c.broken],
        }), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
