# SPDX-License-Identifier: BSD-3-Clause
"""Usage: who_client.py ADDRESS PORT FIRST COUNT
At each line "ask" on standard input: connects from each of the COUNT ports from FIRST on, reads which server it is, and resets, so that
the port can be used again at once. Writes one line of JSON: {port: server}."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import sys

_AT_ONCE = 64
_TRIES = 3
_LIMIT = 20.0


async def _ask(address: str, port: int, own: int) -> str:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.bind(("", own))
        loop = asyncio.get_running_loop()
        await asyncio.wait_for(loop.sock_connect(connection, (address, port)), _LIMIT)
        return (await asyncio.wait_for(loop.sock_recv(connection, 16), _LIMIT)).decode().strip()


async def _main(address: str, port: int, first: int, count: int) -> None:
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(own: int, found: dict[int, str]) -> None:
        async with places:
            for _ in range(_TRIES):
                try:
                    found[own] = await _ask(address, port, own)
                    return
                except (OSError, asyncio.TimeoutError):
                    await asyncio.sleep(0.2)

    loop = asyncio.get_running_loop()
    while (await loop.run_in_executor(None, sys.stdin.readline)).strip() == "ask":
        found: dict[int, str] = {}
        await asyncio.gather(*(one(own, found) for own in range(first, first + count)))
        print(json.dumps({own: server for own, server in found.items() if server}), flush=True)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
