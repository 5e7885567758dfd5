# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: nat-4 nat-6 full-nat-4 full-nat-6 without-cookie-4 holder-away-full-nat-6
"""TCP Fast Open: the SYN brings the client's data along, and the NS has to fit with both. The server's application reads exactly what
was sent, also where the server takes such data without a cookie and the holder is away, and the sessions survive the loss of all
tables."""

from __future__ import annotations

import hashlib
import socket
from dataclasses import replace

import support
from lab import plan
from lab.checks import all_checks
from lab.netns import Namespace
from lab.packet import ACK, SYN
from lab.waiting import wait_for
from scenarios.base import Lab, Options
from scenarios.workload import services

# Octets of the SYN's data. The largest leaves no room for an NS in 1500 octets, so that this goes in a datagram of its own.
_SIZES = (1, 100, 512, 1000, 1200, 1300)
_EACH = 3
_COOKIES = {"client": 0x1, "server": 0x2}
_NO_COOKIES = {"client": 0x5, "server": 0x202}


def _exactly(connection: socket.socket, size: int) -> bytes:
    octets = b""
    while len(octets) < size:
        piece = connection.recv(size - len(octets))
        if not piece:
            raise ConnectionError(f"closed after {len(octets)} of {size} octets")
        octets += piece
    return octets


def _answer_digests(connection: socket.socket) -> None:
    """Reads blocks, each with two octets of length in front of it, and answers each with the SHA-256 of what it read."""
    while True:
        connection.sendall(hashlib.sha256(_exactly(connection, int.from_bytes(_exactly(connection, 2), "big"))).digest())


def block(number: int, size: int) -> bytes:
    """`size` octets, of which two are the length of the others."""
    content = bytes((number * 31 + i * 7) % 256 for i in range(max(1, size - 2)))
    return len(content).to_bytes(2, "big") + content


def fails(connection: socket.socket, octets: bytes) -> str:
    """What is wrong with the server's answer to a block that was sent."""
    try:
        digest = _exactly(connection, 32)
    except OSError as error:
        return f"{len(octets)} octets: {type(error).__name__} {error}"
    return "" if digest == hashlib.sha256(octets[2:]).digest() else f"{len(octets)} octets: the server read something else"


def begin(space: Namespace, family: int) -> socket.socket:
    with space.entered():
        return socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_STREAM)


def open_with(connection: socket.socket, family: int, octets: bytes) -> None:
    """Sends with the SYN. The call returns when the handshake is over; on a non-blocking socket at once, if the SYN took all."""
    sent = connection.sendto(octets, socket.MSG_FASTOPEN, (plan.service(family), plan.ECHO_PORT))
    connection.settimeout(support.PATIENCE)
    if sent < len(octets):
        connection.sendall(octets[sent:])


def get_cookies(lab: Lab, family: int) -> None:
    """Each client's first connections ask each server for its cookie; one cookie a service address is kept."""
    for space in lab.topology.clients.values():
        connection = begin(space, family)
        octets = block(1, 100)
        open_with(connection, family, octets)
        problem = fails(connection, octets)
        if problem:
            raise RuntimeError(f"the first connection: {problem}")
        connection.close()


def syns_with_data(lab: Lab) -> int:
    """First packets with data in the capture, as they came from the clients."""
    return sum(1 for r in lab.capture.records("edge") if r.link.startswith("client") and r.arriving and r.packet.data_length
               and r.packet.flags & (SYN | ACK) == SYN)


def run(options: Options, expect: support.Expectations, settings: dict[str, int], away: bool = False) -> None:
    lab = support.cluster(replace(options, thorough=True), services(options), servers=1,
                          paths="ecmp" if options.forward == "full-nat" else "lasthop")
    with lab:
        lab.topology.build()
        for role, spaces in (("client", lab.topology.clients), ("server", lab.topology.servers)):
            for space in spaces.values():
                space.sysctl({"net.ipv4.tcp_fastopen": settings[role]})
        lab.balancer.start_holders()
        for number in sorted(lab.topology.nodes):
            lab.balancer.start_node(number)
        lab.topology.route_via(sorted(lab.topology.nodes))
        lab.capture.start()
        for space in lab.topology.servers.values():
            support.fast_open_server(space, plan.ECHO_PORT, _answer_digests)
        if settings is _COOKIES:
            get_cookies(lab, options.family)
        if away:
            lab.cluster.holders[1].kill()
        opened = []
        for number, size in enumerate(_SIZES * _EACH):
            connection = begin(lab.topology.clients[1 + number % 2], options.family)
            connection.setblocking(not away)
            octets = block(number, size)
            open_with(connection, options.family, octets)
            opened.append((connection, octets))
        if away:
            start = support.arrived(lab)
            wait_for("each SYN to be repeated", lambda: support.arrived(lab) >= start + 2 * len(opened))
            lab.cluster.start_holder(1)
        problems = [fails(connection, octets) for connection, octets in opened]
        expect.none_of(filter(None, problems), f"{len(opened)} connections: the server read what was sent with the SYN")
        if not away:
            lab.topology.flush_all()
            for connection, octets in opened:
                connection.sendall(octets)
            problems = [fails(connection, octets) for connection, octets in opened]
            expect.none_of(filter(None, problems), "after the loss of all tables every session goes on")
        lab.capture.stop()
        early = syns_with_data(lab)
        expect.that(early >= len(opened), f"{early} SYN of clients had data")
        expect.none_of(all_checks(lab.capture, options.family), "the capture is clean")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def variant(family: int, forward: str, settings: dict[str, int], away: bool = False) -> support.Case:
    return lambda options, expect: run(replace(options, family=family, forward=forward), expect, settings, away)


if __name__ == "__main__":
    support.main({
        "nat-4": variant(4, "nat", _COOKIES),
        "nat-6": variant(6, "nat", _COOKIES),
        "full-nat-4": variant(4, "full-nat", _COOKIES),
        "full-nat-6": variant(6, "full-nat", _COOKIES),
        "without-cookie-4": variant(4, "nat", _NO_COOKIES),
        "holder-away-full-nat-6": variant(6, "full-nat", _NO_COOKIES, away=True),
    })
