# SPDX-License-Identifier: BSD-3-Clause
"""Usage: echo_server.py PORT
Echoes lines over TCP on IPv4 and IPv6. SIGUSR1: writes the line "tick" to every connection, so that a server can be the first to
speak after a silence. Writes "ready" when it listens."""

from __future__ import annotations

import asyncio
import signal
import sys

_open: set[asyncio.StreamWriter] = set()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    _open.add(writer)
    try:
        while line := await reader.readline():
            writer.write(line)
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        _open.discard(writer)
        writer.close()


def _tick() -> None:
    for writer in _open:
        writer.write(b"tick\n")


async def _main(port: int) -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, _tick)
    server = await asyncio.start_server(_serve, ["0.0.0.0", "::"], port, backlog=4096)
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1])))
