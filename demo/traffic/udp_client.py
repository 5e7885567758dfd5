# SPDX-License-Identifier: BSD-3-Clause
"""Usage: udp_client.py ADDRESS PORT COUNT INTERVAL
Keeps COUNT UDP flows, each sending a numbered datagram every INTERVAL seconds to a server of udp_server.py. Answers each line of
standard input with one line of JSON about all flows, {"port": {"sent", "heard", "wrong", "servers", "last_heard"}} with the number
of the last datagram that was answered; the line "quit" ends it. An answer is wrong if it is not, octet by octet, that to a datagram
which this flow has sent."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from typing import Any


class Flow(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.port = 0
        self.sent = 0
        self.heard = 0
        self.wrong = 0
        self.last_heard = 0
        self.servers: list[str] = []
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def say(self) -> None:
        self.sent += 1
        self.transport.sendto(f"{self.port}-{self.sent}".encode())

    def datagram_received(self, data: bytes, addr: Any) -> None:
        server, _, payload = data.decode(errors="replace").partition(" ")
        port, _, number = payload.partition("-")
        is_ours = port == str(self.port) and number.isdecimal() and 0 < int(number) <= self.sent
        if not is_ours or payload != f"{self.port}-{int(number)}":
            self.wrong += 1
            return
        self.heard += 1
        self.last_heard = max(self.last_heard, int(number))
        if server not in self.servers:
            self.servers.append(server)

    def error_received(self, exc: Exception) -> None:
        pass  # an ICMP error; unanswered datagrams are counted anyway

    def report(self) -> dict[str, Any]:
        return {"sent": self.sent, "heard": self.heard, "wrong": self.wrong, "servers": self.servers, "last_heard": self.last_heard}


async def _main(address: str, port: int, count: int, interval: float) -> None:
    loop = asyncio.get_running_loop()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    flows = [(await loop.create_datagram_endpoint(Flow, remote_addr=(address, port), family=family))[1] for _ in range(count)]

    async def talk() -> None:
        while True:
            for flow in flows:
                flow.say()
            await asyncio.sleep(interval)

    talking = loop.create_task(talk())
    while (await loop.run_in_executor(None, sys.stdin.readline)).strip() not in ("quit", ""):
        print(json.dumps({str(flow.port): flow.report() for flow in flows}), flush=True)
    talking.cancel()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))
