# SPDX-License-Identifier: BSD-3-Clause
# limit: 180
# cases: daemon messages unused-ports inside-down
"""What a capture outside of a gateway in ACT mode never shows: a client's own address, an ASRP message, the ASRP port; also while
the daemon is down, or the link to the clients, and for packets that carry messages with and without a session. What comes for outside
ports that are nobody's does not go round between the gateway and its router."""

from __future__ import annotations

import hashlib
import random
import select
import socket
import struct

import sockets
import support
from lab.waiting import wait_for
from office import SERVER, Office, client_address, echo_request
from scenarios.base import Options
from talks import Server

_PORT = 7000
_HELLO = struct.pack("!BBBBHBBI", 0, 5, 0, 0, 16, 0, 6, 0x11223344) + bytes(4)  # draft 4.3.1: HS, 16 octets
_MARK = bytes([253, 4, 0x41, 0x53])


# --- the daemon -----------------------------------------------------------------------------------------------------------


def daemon(options: Options, expect: support.Expectations) -> None:
    """Killed in the middle of transfers, which go on; then without its table, too; then it is back."""
    with Office(options) as office:
        node = office.start(1)
        office.begin_capture()
        server = sockets.tcp(office.server, port=_PORT)
        server.listen()
        client = sockets.tcp(office.clients[1])
        client.connect((SERVER[4], _PORT))
        end, _ = server.accept()
        octets = random.Random(3).randbytes(6_000_000)
        got = _Got()
        sent = pump(end, client, octets, 0, 2_000_000, got)
        node.kill()
        sent = pump(end, client, octets, sent, 4_000_000, got)
        expect.that(got.count >= 4_000_000, "a known session goes on without the daemon")

        office.gateways[1].flush_sessions()
        flow = sockets.udp(office.clients[1])
        fresh = sockets.tcp(office.clients[1])
        fresh.setblocking(False)
        fresh.connect_ex((SERVER[4], _PORT))
        place = end.getpeername()
        for _ in range(20):
            client.send(b"x")
            flow.sendto(b"question", (SERVER[4], _PORT))
            end.send(octets[sent:sent + 1])
            sent += 1
            for family in (4, 6):
                echo_request(office.clients[1], SERVER[family])
        expect.that(True, f"what has no session waits, {place} too")

        node.start()
        sent = pump(end, client, octets, sent, len(octets), got)
        expect.that(got.digest() == hashlib.sha256(octets).hexdigest(), "it ends exactly when the daemon is back: the same port is chosen again")
        wait_for("the connection that was tried meanwhile", lambda: select.select([server], [], [], 1)[0])
        expect.that(True, "a new connection succeeds by a SYN repeated")
        office.end_capture()
        expect.none_of(office.leaks(), "no untranslated packet, and no ASRP, outside")
        expect.none_of(office.problems(), "no daemon failed")


class _Got:
    def __init__(self) -> None:
        self.count = 0
        self._hash = hashlib.sha256()

    def add(self, octets: bytes) -> None:
        self.count += len(octets)
        self._hash.update(octets)

    def digest(self) -> str:
        return self._hash.hexdigest()


def pump(end: socket.socket, client: socket.socket, octets: bytes, sent: int, target: int, got: _Got) -> int:
    """Sends up to `target` and receives all of it; returns what has been sent."""
    end.setblocking(False)
    while got.count < target:
        writers = [end] if sent < target else []
        readable, writable, _ = select.select([client], writers, [], support.PATIENCE)
        if not readable and not writable:
            raise RuntimeError(f"nothing moves at {got.count} of {target}")
        if writable:
            sent += end.send(octets[sent:min(target, sent + 65536)])
        if readable:
            got.add(client.recv(65536))
    return sent


# --- messages -------------------------------------------------------------------------------------------------------------


def total(octets: bytes) -> int:
    octets += bytes(len(octets) % 2)
    value = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while value >> 16:
        value = (value & 0xFFFF) + (value >> 16)
    return value


def packet(protocol: int, payload: bytes) -> bytes:
    """IPv4 from client 1 to the server; the kernel fills in length, identification and checksum."""
    addresses = socket.inet_aton(client_address(1, 4)) + socket.inet_aton(SERVER[4])
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0) + addresses + payload


def pseudo(protocol: int, size: int) -> bytes:
    return socket.inet_aton(client_address(1, 4)) + socket.inet_aton(SERVER[4]) + struct.pack("!HH", protocol, size)


def segment(port: int, flags: int, sequence: int, acknowledged: int, data: bytes) -> bytes:
    """TCP with the mark, and HS in front of the data."""
    header = struct.pack("!HHIIBBHHH", port, _PORT, sequence, acknowledged, 6 << 4, flags, 64000, 0, 0) + _MARK
    octets = header + _HELLO + data
    checksum = ~total(pseudo(6, len(octets)) + octets) & 0xFFFF
    return packet(6, octets[:16] + struct.pack("!H", checksum) + octets[18:])


def datagram(port: int, data: bytes) -> bytes:
    """UDP with HS as an option in the surplus area (RFC 9868), with its checksum."""
    assert len(data) % 2 == 0
    hello = _HELLO[:7] + bytes([17]) + _HELLO[8:]
    option = bytes([127, 4 + len(hello), 0x41, 0x53]) + hello
    surplus = bytes(2) + option
    surplus = struct.pack("!H", ~total(surplus + struct.pack("!H", len(surplus))) & 0xFFFF) + option
    size = 8 + len(data)
    header = struct.pack("!HHHH", port, _PORT, size, 0)
    checksum = ~total(pseudo(17, size) + header + data) & 0xFFFF
    return packet(17, header[:6] + struct.pack("!H", checksum) + data + surplus)


def messages_taken(office: Office) -> int:
    """Packets without their message, or that were nothing but one."""
    return office.counter(1, "packets.stripped") + office.counter(1, "packets.consumed")


def messages(options: Options, expect: support.Expectations) -> None:
    """HS in a SYN, in mid-stream, in datagrams: with a session and without one. What follows is the application's alone."""
    with Office(options) as office:
        office.start(1)
        office.begin_capture()
        with office.clients[1].entered():
            raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        answering = sockets.udp(office.server, port=_PORT)
        for number in range(3):  # the first makes the session
            raw.sendto(datagram(41000, b"data"), (SERVER[4], 0))
            octets, _ = answering.recvfrom(2048)
            expect.that(octets == b"data", f"UDP datagram {number} arrives as the application sent it: {octets!r}")
        server = sockets.tcp(office.server, port=_PORT)
        server.listen()
        client = sockets.tcp(office.clients[1])
        client.connect((SERVER[4], _PORT))
        server.accept()
        taken = messages_taken(office)
        for flags, sequence in ((2, 1000), (16, 2000), (24, 3000), (4, 4000)):  # of no session, and as far as is known of one
            for port in (41001, client.getsockname()[1]):
                raw.sendto(segment(port, flags, sequence, 5000, b""), (SERVER[4], 0))
                taken = wait_for("the message to be taken out", lambda: now if (now := messages_taken(office)) > taken else None)
        office.end_capture()
        expect.none_of(office.leaks(), "no message outside")
        received = office.counter(1, "messages_received.hs")
        expect.that(received > 0, f"{received} HS were understood")
        expect.none_of(office.problems(), "no daemon failed")


# --- the link to the clients ----------------------------------------------------------------------------------------------


def inside_down(options: Options, expect: support.Expectations) -> None:
    """Without it what is for clients has no way but the blackhole route that docs/act-mode.md asks for."""
    with Office(options) as office:
        office.start(1)
        office.begin_capture()
        talks = [talk for family in (4, 6) for server in (Server(office, family),) for talk in (server.tcp(1), server.udp(1))]
        office.gateways[1].ip("link set inside down")
        for talk in talks:
            for _ in range(5):
                talk.say(from_client=False)
        office.end_capture()
        spoken = [octets for link, arriving, octets in office.octets() if link == "gateway1" and not arriving]
        expect.that(len(spoken) >= 5 * len(talks), f"{len(spoken)} packets of servers came to the gateway")
        expect.none_of(office.leaks(), "and none of them went back, to a client's address")
        expect.none_of(office.problems(), "no daemon failed")


# --- outside ports that are nobody's --------------------------------------------------------------------------------------


def unused_ports(options: Options, expect: support.Expectations) -> None:
    """Each packet comes to the gateway once, and ends there; with the daemon and without."""
    with Office(options) as office:
        node = office.start(1)
        office.begin_capture()
        sent = 0
        for _ in range(2):
            for port in (80, 1500, 3000, 60000):
                for place in ("192.0.2.0", "192.0.2.15"):
                    flow = sockets.udp(office.server)
                    flow.sendto(b"unasked", (place, port))
                    attempt = sockets.tcp(office.server)
                    attempt.setblocking(False)
                    attempt.connect_ex((place, port))
                    attempt.close()
                    sent += 2
            echo_request(office.server, "192.0.2.3")
            if node.running:
                node.kill()
        office.end_capture()
        to_gateway = [p for link, arriving, p in office.octets() if link == "gateway1" and not arriving and p[16:19] == bytes([192, 0, 2])]
        returned = [p for link, arriving, p in office.octets() if link == "gateway1" and arriving and p[16:19] == bytes([192, 0, 2])]
        expect.that(len(to_gateway) >= sent, f"{len(to_gateway)} packets came to the gateway")
        expect.that(not returned, f"none came back: {[p[:28].hex() for p in returned]}")
        expect.none_of(office.leaks(), "nothing of the inside is seen")


if __name__ == "__main__":
    support.main({"daemon": daemon, "messages": messages, "unused-ports": unused_ports, "inside-down": inside_down})
