# SPDX-License-Identifier: BSD-3-Clause
"""Usage: who_server.py PORT NUMBER
Writes NUMBER to every TCP connection, which the client ends: a server that ends it first keeps its port for a minute, and its holder the
backup. Writes "ready" when it listens."""

from __future__ import annotations

import asyncio
import sys


async def _main(port: int, number: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(number.encode() + b"\n")
            await writer.drain()
            await reader.read()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, ["0.0.0.0", "::"], port, backlog=4096)
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), sys.argv[2]))
