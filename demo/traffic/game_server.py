# SPDX-License-Identifier: BSD-3-Clause
"""Usage: game_server.py PORT INTERVAL
Sends each player, on IPv4 and IPv6, an update every INTERVAL seconds, whether the player says something or not, from the first datagram
on that came from there. An update is the line "ADDRESS PORT NUMBER INPUT": whom the server thinks that it talks to, the update's
number, and the last input from there, as it came. Writes "ready" when it plays."""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any


class Game(asyncio.DatagramProtocol):
    """The players of one family."""

    def __init__(self) -> None:
        self.players: dict[tuple[str, int], tuple[int, str]] = {}
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        number, _ = self.players.get(addr[:2], (0, ""))
        self.players[addr[:2]] = number, data.decode(errors="replace")

    def error_received(self, exc: Exception) -> None:
        pass  # a player may be out of reach for a while

    def update(self) -> None:
        """To everybody."""
        for place, (number, said) in self.players.items():
            self.players[place] = number + 1, said
            self.transport.sendto(f"{place[0]} {place[1]} {number + 1} {said}".encode(), place)


async def _main(port: int, interval: float) -> None:
    loop = asyncio.get_running_loop()
    games = []
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        endpoint = socket.socket(family, socket.SOCK_DGRAM)
        if family == socket.AF_INET6:
            endpoint.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        endpoint.bind((address, port))
        games.append((await loop.create_datagram_endpoint(Game, sock=endpoint))[1])
    print("ready", flush=True)
    while True:
        for game in games:
            game.update()
        await asyncio.sleep(interval)


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), float(sys.argv[2])))
