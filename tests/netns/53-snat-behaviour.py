# SPDX-License-Identifier: BSD-3-Clause
# limit: 120
# cases: fragments path-mtu errors unsolicited simultaneous dns
"""What the RFCs about NAT ask for and the kernel does behind a gateway's rules: fragments in any order, path MTU discovery, ICMP
errors that end nothing, silence to who was not asked for, connections that both ends begin, ports of answered questions that are free
again. docs/act-mode.md names each."""

from __future__ import annotations

import errno
import random
import select
import socket
import struct
from typing import Optional

import sockets
import support
from lab.waiting import wait_for
from office import SERVER, Office, client_address
from scenarios.base import Options

_PORT = 7000
_QUESTION = struct.pack("!HHHHHH", 1, 0x100, 1, 0, 0, 0) + b"\1a\0\0\1\0\1"  # the address of "a", RFC 1035 4.1
_IP_MTU_DISCOVER, _IP_PMTUDISC_DO, _IP_MTU = 10, 2, 14
_IPV6_MTU_DISCOVER, _IPV6_MTU = 23, 24


def exchange(client: socket.socket, server: socket.socket, octets: bytes, family: int = 4) -> tuple[str, int]:
    """There and back, octet for octet. Whom the server saw."""
    client.sendto(octets, (SERVER[family], _PORT))
    got, peer = server.recvfrom(65536)
    assert got == octets
    server.sendto(octets[::-1], peer)
    assert client.recv(65536) == octets[::-1]
    return peer[0], peer[1]


# --- fragments (RFC 4787 REQ-13, REQ-14) ------------------------------------------------------------------------------


def fragments(options: Options, expect: support.Expectations) -> None:
    with Office(options) as office:
        office.start(1)
        office.begin_capture()
        octets = random.Random(5).randbytes(8000)
        for family in (4, 6):
            server = sockets.udp(office.server, family, port=_PORT)
            client = sockets.udp(office.clients[1], family)
            peers = {exchange(client, server, octets, family), exchange(client, server, octets, family)}
            expect.that(len(peers) == 1, f"IPv{family}: datagrams of 8000 octets in fragments, both ways: {peers}")
            server.close()
        server = sockets.udp(office.server, port=_PORT)
        for begins, port in ((True, 4001), (False, 4001)):
            send_backwards(office, port, octets)
            got, peer = server.recvfrom(65536)
            expect.that(got == octets and peer[0].startswith("192.0.2."), f"fragments in reverse order {'begin' if begins else 'go on in'} a session")
        office.end_capture()
        sizes = [len(o) for link, arriving, o in office.octets() if arriving]
        expect.that(max(sizes) <= 1500, f"outside they are fragments, too: at most {max(sizes)} octets")
        expect.none_of(office.problems(), "no daemon failed")


def send_backwards(office: Office, port: int, octets: bytes) -> None:
    """A datagram of client 1 whose fragments come last one first."""
    datagram = struct.pack("!HHHH", port, _PORT, 8 + len(octets), 0) + octets
    number = random.randrange(1, 65536)
    with office.clients[1].entered():
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    with raw:
        for start in reversed(range(0, len(datagram), 1400)):
            part = datagram[start:start + 1400]
            more = 0x2000 if start + len(part) < len(datagram) else 0
            head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(part), number, more | start // 8, 64, 17, 0,
                               socket.inet_aton(client_address(1, 4)), socket.inet_aton(SERVER[4]))
            raw.sendto(head + part, (SERVER[4], 0))


# --- path MTU (RFC 4787 REQ-13, RFC 5508 REQ-4) -----------------------------------------------------------------------


def path_mtu(options: Options, expect: support.Expectations) -> None:
    """The narrow link is behind the gateway, as seen by each end: errors come from a router outside, and from the gateway itself."""
    with Office(options) as office:
        office.start(1)
        for family in (4, 6):
            server = sockets.udp(office.server, family, port=_PORT)
            client = sockets.udp(office.clients[1], family)
            exchange(client, server, b"begins", family)
            office.outer.ip(f"route replace {SERVER[family]} dev server mtu 1380", family=family)
            expect.that(learns(client, SERVER[family], family) == 1380, f"IPv{family}: the client learns the MTU of a link outside")
            gateway_link = "198.51.100.5" if family == 4 else "2001:db8:9:1::1"
            office.gateways[1].ip(f"route replace default via {gateway_link} mtu 1340", family=family)
            expect.that(learns(client, SERVER[family], family) == 1340, f"IPv{family}: and that of the gateway's own route")
            server.close()
        expect.none_of(office.problems(), "no daemon failed")


def learns(client: socket.socket, target: str, family: int) -> Optional[int]:
    """The MTU that the kernel holds for the path, after datagrams that may not be fragmented."""
    level = socket.IPPROTO_IP if family == 4 else socket.IPPROTO_IPV6
    client.connect((target, _PORT))
    client.setsockopt(level, _IP_MTU_DISCOVER if family == 4 else _IPV6_MTU_DISCOVER, _IP_PMTUDISC_DO)
    before = client.getsockopt(level, _IP_MTU if family == 4 else _IPV6_MTU)

    def learnt() -> Optional[int]:
        try:
            client.send(bytes(before - (28 if family == 4 else 48)))
        except OSError as error:
            if error.errno not in (errno.EMSGSIZE, errno.ECONNREFUSED):
                raise
        now = int(client.getsockopt(level, _IP_MTU if family == 4 else _IPV6_MTU))
        return now if now != before else None

    return wait_for("an error about the MTU", learnt)


# --- ICMP errors end nothing (RFC 4787 REQ-12, RFC 5382 REQ-10) ---------------------------------------------------------


def errors(options: Options, expect: support.Expectations) -> None:
    """Routers outside call the server unreachable while a flow and a connection are open: both hear of it, and keep their ports."""
    with Office(options) as office:
        office.start(1)
        server = sockets.udp(office.server, port=_PORT)
        client = sockets.udp(office.clients[1])
        peer = exchange(client, server, b"before")
        listening = sockets.listener(office.server, port=_PORT)
        stream = sockets.tcp(office.clients[1])
        stream.connect((SERVER[4], _PORT))
        end, place = listening.accept()
        client.connect((SERVER[4], _PORT))
        office.outer.ip(f"route add unreachable {SERVER[4]}")

        def refused() -> bool:
            client.send(b"nobody there")
            return client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) in (errno.EHOSTUNREACH, errno.ECONNREFUSED)

        client.setsockopt(socket.IPPROTO_IP, 11, 1)  # IP_RECVERR: errors of any kind
        wait_for("the error to come through to the client", refused)
        stream.sendall(b"waits for better times")
        office.outer.ip(f"route del unreachable {SERVER[4]}")
        expect.that(exchange(client, server, b"after") == peer, f"the flow has its port still: {peer}")
        end.settimeout(support.PATIENCE)
        expect.that(end.recv(64) == b"waits for better times", f"the connection of {place} went on")
        expect.none_of(office.problems(), "no daemon failed")


# --- who was not asked for (RFC 5382 REQ-4) -----------------------------------------------------------------------------


def unsolicited(options: Options, expect: support.Expectations) -> None:
    """A SYN from outside to a port of a client's gets no answer of any kind: no reset, no ICMP; from whomever, to whatever port."""
    with Office(options) as office:
        office.start(1)
        listening = sockets.listener(office.server, port=_PORT)
        stream = sockets.tcp(office.clients[1])
        stream.connect((SERVER[4], _PORT))
        _, (outside, port) = listening.accept()
        office.begin_capture()
        knocks = [sockets.tcp(office.server, port=p) for p in (0, 0)]
        for knock, target in zip(knocks, (port, port + 1)):
            knock.setblocking(False)
            knock.connect_ex((outside, target))
        before = office.counter(1, "drops.outside_syn")
        expect.that(not select.select([], knocks, [], 3)[1], "two SYNs, repeated, are not answered")
        office.end_capture()
        answers = [o for link, arriving, o in office.octets() if link == "gateway1" and arriving and o[0] >> 4 == 4]
        expect.that(not answers, f"nothing at all comes back: {[o.hex() for o in answers]}")
        expect.that(office.counter(1, "drops.outside_syn") == before, "the rules drop them, and the daemon is not woken")
        expect.none_of(office.problems(), "no daemon failed")


# --- both ends begin (RFC 5382 REQ-2) -----------------------------------------------------------------------------------


def simultaneous(options: Options, expect: support.Expectations) -> None:
    """Two SYNs cross: the server's comes to the client's outside endpoint after the client's SYN has left, whose way is blocked."""
    with Office(options) as office:
        office.start(1)
        blocked = ["-p", "tcp", "--tcp-flags", "SYN,ACK", "SYN", "-j", "DROP"]
        office.server.run("iptables", "-I", "INPUT", *blocked)
        office.begin_capture()
        stream = sockets.tcp(office.clients[1])
        stream.setblocking(False)
        stream.connect_ex((SERVER[4], _PORT))

        def left() -> Optional[tuple[str, int]]:
            office.end_capture()
            for record in office.records():
                if record.link == "gateway1" and record.arriving:
                    return record.packet.src, record.packet.sport
            office.begin_capture()
            return None

        outside = wait_for("the client's SYN to be outside", left)
        end = sockets.tcp(office.server, port=_PORT)
        end.setblocking(False)
        end.connect_ex(outside)
        office.server.run("iptables", "-D", "INPUT", *blocked)
        wait_for("both to be connected", lambda: select.select([], [end], [], 0.2)[1] and select.select([], [stream], [], 0.2)[1])
        stream.send(b"from both")
        end.settimeout(support.PATIENCE)
        expect.that(end.recv(64) == b"from both", f"a connection that both ends have begun: {outside}")
        expect.none_of(office.problems(), "no daemon failed")


# --- questions and answers (RFC 4787 REQ-5a) ----------------------------------------------------------------------------


def dns(options: Options, expect: support.Expectations) -> None:
    """A client with four ports asks eight times, each time from another port of its own. A flow to another port keeps its mapping."""
    with Office(options) as office:
        office.start(1, nat='[timeouts]\ndns = "2s"\n', networks="ports_per_client = 64\n")
        flow = sockets.udp(office.server, port=_PORT)
        client = sockets.udp(office.clients[1])
        peer = exchange(client, flow, b"before")
        resolver = sockets.udp(office.server, port=53)
        for number in range(8):
            asker = sockets.udp(office.clients[1])
            asker.settimeout(1)

            def answered() -> bool:
                asker.sendto(_QUESTION, (SERVER[4], 53))
                resolver.settimeout(1)
                try:
                    _, place = resolver.recvfrom(512)
                    resolver.sendto(b"answer", place)
                    return asker.recv(512) == b"answer"
                except TimeoutError:
                    return False

            wait_for(f"question {number} to be answered", answered)
        ended = office.wait_counter(1, "sessions.dns_ended", above=4)
        expect.that(True, f"eight questions from eight ports are answered, by three outside ports; {ended} sessions ended early")
        expect.that(exchange(client, flow, b"after") == peer, "the flow to another port has its own still")
        expect.none_of(office.problems(), "no daemon failed")


if __name__ == "__main__":
    support.main({"fragments": fragments, "path-mtu": path_mtu, "errors": errors, "unsolicited": unsolicited, "simultaneous": simultaneous,
                  "dns": dns})
