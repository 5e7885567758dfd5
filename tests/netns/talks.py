# SPDX-License-Identifier: BSD-3-Clause
"""Sessions between clients of an office and its server: ends that take turns, and transfers in both directions at once. Whatever
arrives is compared with what was sent."""

from __future__ import annotations

import hashlib
import random
import select
import selectors
import socket
import struct
from typing import Iterable, Optional

import support
from lab.netns import Namespace
from office import SERVER, Office

TCP_PORT = 7000
_FIRST_UDP_PORT = 20000
_REPEAT = 0.5  # seconds


def made(space: Namespace, family: int, kind: int, port: int = 0) -> socket.socket:
    """A socket that lives in the namespace, wherever its user is."""
    with space.entered():
        out = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, kind)
    out.settimeout(support.PATIENCE)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == 6:
        out.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    out.bind(("0.0.0.0" if family == 4 else "::", port))
    return out


class Talk:
    """One session. `outside` is the client's end as the server sees it."""

    def __init__(self, name: str, client: socket.socket, server: socket.socket, protocol: str, address: tuple[str, int]) -> None:
        self.name = f"{protocol} {name}"
        self.client, self.server, self.protocol = client, server, protocol
        self.address = address
        self.outside: Optional[tuple[str, int]] = None
        self._turns = 0
        self.repeats = 0  # datagrams sent again
        if protocol == "tcp":
            self.outside = server.getpeername()[:2]
        self.turn(from_client=True)
        self.turn(from_client=False)

    def say(self, from_client: bool) -> bytes:
        """One end sends something that was not sent before."""
        self._turns += 1
        octets = self._turns.to_bytes(4, "big") + random.Random(f"{self.name} {self._turns}").randbytes(self._turns * 97 % 1100)
        self._send(octets, from_client)
        return octets

    def _send(self, octets: bytes, from_client: bool) -> None:
        if self.protocol == "tcp":
            (self.client if from_client else self.server).sendall(octets)
        elif from_client:
            self.client.sendto(octets, self.address)
        else:
            assert self.outside is not None
            self.server.sendto(octets, self.outside)

    def hear(self, octets: bytes, from_client: bool) -> str:
        """What is wrong with what comes to the other end, or nothing."""
        try:
            got = (self._hear_stream if self.protocol == "tcp" else self._hear_datagram)(octets, from_client)
        except OSError as error:
            return f"{self.name}: {type(error).__name__} {error}"
        return "" if got == octets else f"{self.name}: {len(got)} octets came, {len(octets)} were sent, or others"

    def _hear_stream(self, octets: bytes, from_client: bool) -> bytes:
        end = self.server if from_client else self.client
        got = b""
        while len(got) < len(octets) and (piece := end.recv(len(octets) - len(got))):
            got += piece
        return got

    def _hear_datagram(self, octets: bytes, from_client: bool) -> bytes:
        """Datagrams that do not arrive are sent again, and of those that come twice one counts."""
        end = self.server if from_client else self.client
        while True:
            if not select.select([end], [], [], _REPEAT)[0]:
                self.repeats += 1
                if self.repeats * _REPEAT > support.PATIENCE:
                    raise TimeoutError("no datagram arrives")
                self._send(octets, from_client)
                continue
            got, place = end.recvfrom(2048)
            if from_client and place[:2] != (self.outside or place[:2]):
                raise ConnectionError(f"comes from {place[:2]}, before from {self.outside}")
            if from_client:
                self.outside = place[:2]
            if got[:4] >= octets[:4]:
                return got

    def turn(self, from_client: bool) -> str:
        try:
            return self.hear(self.say(from_client), from_client)
        except OSError as error:
            return f"{self.name}: {type(error).__name__} {error}"

    def abort(self) -> None:
        """Ends it with a reset, so that no TIME-WAIT is left."""
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.client.close()
        self.server.close()


class Server:
    """The server's listener, and datagram sockets as they are needed."""

    def __init__(self, office: Office, family: int) -> None:
        self.office, self.family = office, family
        self.listener = made(office.server, family, socket.SOCK_STREAM, TCP_PORT)
        self.listener.listen(1024)
        self._next_udp = _FIRST_UDP_PORT

    def tcp(self, client: int) -> Talk:
        near, far = self.connection(client)
        return Talk(f"of client {client}, port {near.getsockname()[1]}", near, far, "tcp", (SERVER[self.family], TCP_PORT))

    def connection(self, client: int) -> tuple[socket.socket, socket.socket]:
        near = made(self.office.clients[client], self.family, socket.SOCK_STREAM)
        near.connect((SERVER[self.family], TCP_PORT))
        far, _ = self.listener.accept()
        far.settimeout(support.PATIENCE)
        return near, far

    def udp(self, client: int) -> Talk:
        near = made(self.office.clients[client], self.family, socket.SOCK_DGRAM)
        far = made(self.office.server, self.family, socket.SOCK_DGRAM, self._next_udp)
        address = (SERVER[self.family], self._next_udp)
        self._next_udp += 1
        return Talk(f"of client {client}, server's port {address[1]}", near, far, "udp", address)


def turns(talks: Iterable[Talk], from_client: bool) -> list[str]:
    """All say something at once; what is wrong with what arrives."""
    said = []
    wrong = []
    for talk in talks:
        try:
            said.append((talk, talk.say(from_client)))
        except OSError as error:
            wrong.append(f"{talk.name}: {type(error).__name__} {error}")
    return wrong + [problem for talk, octets in said if (problem := talk.hear(octets, from_client))]


class _End:
    """One end of a transfer: what it has to send, and what it ought to get."""

    def __init__(self, end: socket.socket, octets: bytes, expected: bytes) -> None:
        self.end, self.octets, self.size = end, octets, len(expected)
        self.expected = hashlib.sha256(expected).digest()
        self.sent = self.received = 0
        self._digest = hashlib.sha256()
        end.setblocking(False)

    def wanted(self) -> int:
        return ((selectors.EVENT_WRITE if self.sent < len(self.octets) else 0) |
                (selectors.EVENT_READ if self.received < self.size else 0))

    def step(self, events: int) -> int:
        """Moves what can be moved; how many octets have come."""
        if events & selectors.EVENT_WRITE:
            self.sent += self.end.send(self.octets[self.sent:self.sent + 16384])
        if not events & selectors.EVENT_READ:
            return 0
        piece = self.end.recv(65536)
        if not piece:
            raise ConnectionError(f"closed after {self.received} of {self.size} octets")
        self._digest.update(piece)
        self.received += len(piece)
        return len(piece)

    def is_exact(self) -> bool:
        return self.received == self.size and self._digest.digest() == self.expected


class Transfers:
    """Transfers in both directions, all at once."""

    def __init__(self) -> None:
        self._ends: list[_End] = []
        self.received = 0

    def add(self, near: socket.socket, far: socket.socket, size: int) -> None:
        seed = len(self._ends)
        there, back = (random.Random(seed + n).randbytes(size) for n in (0, 1))
        self._ends += [_End(near, there, back), _End(far, back, there)]

    def close(self) -> None:
        for each in self._ends:
            each.end.close()

    @property
    def size(self) -> int:
        return sum(end.size for end in self._ends)

    def play(self, until: float = 1.0) -> list[str]:
        """Until this part of all octets has come; what went wrong so far."""
        wrong = []
        with selectors.DefaultSelector() as selector:
            for each in self._ends:
                if each.wanted():
                    selector.register(each.end, each.wanted(), each)
            while selector.get_map() and self.received < until * self.size:
                ready = selector.select(support.PATIENCE)
                if not ready:
                    return [*wrong, f"{len(selector.get_map())} ends do not move at {self.received} of {self.size} octets"]
                for key, events in ready:
                    each = key.data
                    try:
                        self.received += each.step(events)
                        wanted = each.wanted()
                    except OSError as error:
                        wrong.append(f"{type(error).__name__} {error}")
                        wanted = 0
                    if wanted == 0:
                        selector.unregister(each.end)
                    elif wanted != key.events:
                        selector.modify(each.end, wanted, each)
        if until >= 1.0:
            wrong += ["what came is not what was sent" for each in self._ends if not each.is_exact()]
        return wrong
