# SPDX-License-Identifier: BSD-3-Clause
"""Usage: game_client.py ADDRESS PORT COUNT INTERVAL
COUNT players of a game_server.py, each with a socket of its own that sends an input every INTERVAL seconds. Obeys one command a line from
standard input: `quiet` silences every second player, `talk` ends that; both answer with an empty line. `report` answers with one line of
JSON, {"port": {"sent", "heard", "wrong", "places", "said", "is_quiet"}}: inputs sent, updates heard, those that were none of an update
to this player, the addresses and ports that the server thinks to talk to, and the last input that has reached it."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from typing import Any


class Player(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.port = 0
        self.sent = 0
        self.heard = 0
        self.wrong = 0
        self.said = 0
        self.is_quiet = False
        self.places: list[str] = []
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def say(self) -> None:
        if not self.is_quiet:
            self.sent += 1
            self.transport.sendto(f"{self.port}-{self.sent}".encode())

    def datagram_received(self, data: bytes, addr: Any) -> None:
        words = data.decode(errors="replace").split(" ")
        port, _, number = words[3].partition("-") if len(words) == 4 else ("", "", "")
        if port != str(self.port) or not number.isdecimal() or not 0 < int(number) <= self.sent:
            self.wrong += 1
            return
        self.heard += 1
        self.said = max(self.said, int(number))
        place = f"{words[0]} {words[1]}"
        if place not in self.places:
            self.places.append(place)

    def error_received(self, exc: Exception) -> None:
        pass  # an ICMP error; what was not said is seen anyway

    def report(self) -> dict[str, Any]:
        return {"sent": self.sent, "heard": self.heard, "wrong": self.wrong, "places": self.places, "said": self.said,
                "is_quiet": self.is_quiet}


async def _main(address: str, port: int, count: int, interval: float) -> None:
    loop = asyncio.get_running_loop()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    players = [(await loop.create_datagram_endpoint(Player, remote_addr=(address, port), family=family))[1] for _ in range(count)]

    async def play() -> None:
        while True:
            for player in players:
                player.say()
            await asyncio.sleep(interval)

    playing = loop.create_task(play())
    while (command := (await loop.run_in_executor(None, sys.stdin.readline)).strip()) in ("quiet", "talk", "report"):
        if command == "report":
            print(json.dumps({str(player.port): player.report() for player in players}), flush=True)
            continue
        for player in players[1::2]:
            player.is_quiet = command == "quiet"
        print(flush=True)
    playing.cancel()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))
