# SPDX-License-Identifier: BSD-3-Clause
# limit: 180
# cases: programs-4 programs-6 echo ports exhausted-icmp exhausted-drop reuse beyond one-direction
"""Clients without a holder work through a gateway in ACT mode as through any NAT: ordinary programs, two clients with one source
port, a client that runs out of ports alone, ports used again at once, clients of no network, packets of one direction alone."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import select
import socket
import subprocess
import sys
from typing import Callable

import support
from lab.netns import Namespace
from lab.waiting import wait_for
from office import SERVER, Office, client_address, echo_request
from scenarios.base import Options
from sockets import connected, listener, tcp, udp

_PORT = 7000
_PLACE = "slices = 16\n"
_FEW = "ports_per_client = 64\n"  # four of them in each slice


def connection(client: socket.socket, server: socket.socket, family: int = 4, port: int = _PORT) -> socket.socket:
    """The server's end of a new connection."""
    return connected(client, server, (SERVER[family], port))


def ports_of(client: int, slice_number: int = 1, each: int = 1024) -> range:
    """What a client may have of the first outside address."""
    first = 1024 + client * each
    return range(first + each * slice_number // 16, first + each * (slice_number + 1) // 16)


def seen(end: socket.socket) -> tuple[str, int]:
    """Whom the server thinks that it talks to."""
    address, port = end.getpeername()[:2]
    return address, port


# --- ordinary programs --------------------------------------------------------------------------------------------------


def programs(family: int) -> Callable[[Options, support.Expectations], None]:
    def case(options: Options, expect: support.Expectations) -> None:
        with Office(options) as office:
            office.start(1)
            transfers(office, expect, family)
            rates(office, expect, family)
            names(office, expect, family)
            expect.that(office.counter(1, "clients.no_holder") == 1 and office.counter(1, "recoveries.silence") == 0,
                        "client 1 has said by ICMP that it has no holder, client 2 was never asked")
            expect.that(office.ask(1, "status")["mode"] == "ACT", "status says the mode")
            expect.none_of(office.problems(), "no daemon failed, and each ends when asked to")

    return case


def host(family: int) -> str:
    return SERVER[4] if family == 4 else f"[{SERVER[6]}]"


def transfers(office: Office, expect: support.Expectations, family: int) -> None:
    directory = office.claim.directory
    octets = random.Random(1).randbytes(5_000_000)
    with open(f"{directory}/content", "wb") as file:
        file.write(octets)
    served = office.server.start(sys.executable, "-m", "http.server", "--bind", "::" if family == 6 else "0.0.0.0", "--directory",
                                 directory, "8080", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://{host(family)}:8080/content"
    curl = ["curl", "-s", "-S", "-g", "--max-time", str(support.PATIENCE), "--retry", "20", "--retry-connrefused", "--retry-delay", "1"]
    for number, client in office.clients.items():
        client.run(*curl, "-o", f"{directory}/got{number}", url, limit=2 * support.PATIENCE)
        with open(f"{directory}/got{number}", "rb") as file:
            same = hashlib.sha256(file.read()).digest() == hashlib.sha256(octets).digest()
        expect.that(same, f"client {number}: curl's copy is the same, octet for octet")
    served.kill()
    served.wait()


def rates(office: Office, expect: support.Expectations, family: int) -> None:
    for options in ([], ["-R"], ["-u", "-b", "5M"], ["-u", "-R", "-b", "5M"]):
        server = office.server.start("iperf3", "-s", "-1", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        wait_for("iperf3 to listen", lambda: "5201" in office.server.run("ss", "-Hltn", "sport", "=", ":5201"))
        argv = ["iperf3", f"-{family}", "-c", SERVER[family], "-n", "2M", *options]
        done = subprocess.run(office.clients[1].command(*argv), capture_output=True, text=True, timeout=support.PATIENCE, check=False)
        expect.that(done.returncode == 0, f"{' '.join(argv)}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
        server.kill()
        server.communicate()


def names(office: Office, expect: support.Expectations, family: int) -> None:
    server = office.server.start("dnsmasq", "--no-daemon", "--no-resolv", "--no-hosts", "--conf-file=/dev/null", "--user=root",
                                 "--address=/asrp.test/203.0.113.7", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for("dnsmasq to listen", lambda: ":53" in office.server.run("ss", "-Hlun", "sport", "=", ":53"))
    for more in ([], ["+tcp"]):
        answer = office.clients[2].run("dig", "+short", "+tries=5", f"@{SERVER[family]}", "asrp.test", *more, limit=support.PATIENCE)
        expect.that(answer.strip() == "203.0.113.7", f"dig {' '.join(more)}: {answer.strip()}")
    server.kill()
    server.wait()


# --- ICMP echo (RFC 5508) -----------------------------------------------------------------------------------------------


def pings(client: Namespace, target: str, identifier: int = 77, patience: int = support.PATIENCE) -> bool:
    """Whether one of the requests is answered."""
    argv = client.command("ping", "-n", "-c", "1", "-w", str(patience), "-e", str(identifier), target)
    return subprocess.run(argv, stdout=subprocess.DEVNULL, check=False).returncode == 0


def requests(office: Office) -> set[tuple[str, int, int]]:
    """Echo requests of the capture: the gateway that they come from, family and identifier."""
    found = set()
    for link, arriving, octets in office.octets():
        four = octets[0] >> 4 == 4
        at = 20 if four else 40
        if arriving and link.startswith("gateway") and octets[9 if four else 6] == (1 if four else 58) and octets[at] == (8 if four else 128):
            found.add((link, 4 if four else 6, int.from_bytes(octets[at + 4:at + 6], "big")))
    return found


def echo(options: Options, expect: support.Expectations) -> None:
    """Both clients ask with one identifier, through either gateway: outside each has one of its own. An answer at the other gateway is
    lost, and one who asks for an outside address gets none, but no packet goes round."""
    with Office(options, gateways=2) as office:
        for number in office.gateways:
            office.start(number)
        office.begin_capture()
        for gateway in office.gateways:
            office.out_by(gateway)
            office.back_by(gateway)
            for family in (4, 6):
                for number, client in office.clients.items():
                    expect.that(pings(client, SERVER[family]), f"client {number} is answered by {SERVER[family]} through gateway {gateway}")
        office.end_capture()
        seen = requests(office)
        for gateway in office.gateways:
            for family in (4, 6):
                for number in office.clients:
                    own = [i for link, f, i in seen if (link, f) == (f"gateway{gateway}", family) and i in ports_of(number, gateway)]
                    expect.that(len(own) == 1, f"IPv{family}: client {number} at gateway {gateway}: identifiers {own}, of {ports_of(number, gateway)}")
        expect.that(len(seen) == 8, f"there are no others: {sorted(seen)}")

        for number, gateway in office.gateways.items():
            for name in ("icmp", "icmpv6"):
                value = gateway.read(f"/proc/sys/net/netfilter/nf_conntrack_{name}_timeout").strip()
                expect.that(value == "60", f"gateway {number}: nf_conntrack_{name}_timeout is {value} (RFC 5508 REQ-2)")
        office.back_by(1)
        expect.that(not pings(office.clients[1], SERVER[4], 78, patience=1), "an answer that comes by the other gateway is nobody's")
        office.begin_capture()
        before = office.counter(2, "drops.no_range")
        expect.that(not pings(office.clients[1], "192.0.2.1", patience=1), "an outside address that clients share does not answer")
        office.wait_counter(2, "drops.no_range", before)
        office.end_capture()
        expect.that(not requests(office), f"nothing of that went out: {requests(office)}")
        expect.none_of(office.problems(), "no daemon failed")


# --- ports --------------------------------------------------------------------------------------------------------------


def ports(options: Options, expect: support.Expectations) -> None:
    """Each client has its own, also where both have chosen the same themselves."""
    with Office(options) as office:
        office.start(1)
        server = listener(office.server, port=_PORT)
        ends = {n: connection(tcp(client, port=40000), server) for n, client in office.clients.items()}
        for number, end in ends.items():
            address, port = seen(end)
            expect.that(address == "192.0.2.0" and port in ports_of(number),
                        f"client {number} is seen as {address}:{port}, of {ports_of(number)}")
        answering = udp(office.server, port=_PORT)
        places = {}
        for number, client in office.clients.items():
            flow = udp(client, port=40001)
            for _ in range(3):
                flow.sendto(b"question", (SERVER[4], _PORT))
                _, places[number] = answering.recvfrom(64)
                answering.sendto(b"answer", places[number])
                expect.that(flow.recv(64) == b"answer", f"client {number}: UDP is answered through {places[number]}")
            expect.that(places[number][0] == "192.0.2.0" and places[number][1] in ports_of(number), f"of {ports_of(number)}")
        stranger = udp(office.server, port=_PORT + 1)
        before = office.counter(1, "packets.stray")
        stranger.sendto(b"unasked", places[1])
        office.wait_counter(1, "packets.stray", before)
        expect.that(office.counter(1, "sessions.created") == 4, "a packet of somebody else makes no session")
        expect.none_of(office.problems(), "no daemon failed")


def exhausted(how: str) -> Callable[[Options, support.Expectations], None]:
    def case(options: Options, expect: support.Expectations) -> None:
        with Office(options) as office:
            office.start(1, nat=f'{_PLACE}on_exhausted = "{how}"\n', networks=_FEW)
            server, other = listener(office.server, port=_PORT), listener(office.server, port=_PORT + 1)
            held = []
            for _ in range(4):
                client = tcp(office.clients[1])
                held.append((client, connection(client, server)))
            places = [seen(end) for _, end in held]
            expect.that(len(set(places)) == 4 and all(p in ports_of(1, each=64) for _, p in places), f"four ports: {places}")
            fifth = tcp(office.clients[1])
            fifth.setblocking(False)
            result = fifth.connect_ex((SERVER[4], _PORT))
            office.wait_counter(1, "drops.exhausted", 0)
            if how == "icmp":
                select.select([], [fifth], [], support.PATIENCE)
                result = fifth.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                expect.that(result in (errno.EHOSTUNREACH, errno.ECONNREFUSED, errno.EACCES), f"the fifth is told: {os.strerror(result)}")
            else:
                expect.that(result == errno.EINPROGRESS and not select.select([], [fifth], [], 0)[1], "the fifth waits")
            fifth.close()
            for client, end in held:
                client.sendall(b"on")
                expect.that(end.recv(64) == b"on", f"{seen(end)} goes on")
            held.append((tcp(office.clients[2]), None))
            connection(held[-1][0], server)
            expect.that(True, "the other client notices nothing")
            held.append((tcp(office.clients[1]), None))
            connection(held[-1][0], other, port=_PORT + 1)
            expect.that(True, "at another server's port the same client's ports are free")
            held[0][0].close()
            held[0][1].close()
            wait_for("a port whose connection has ended to be used again", lambda: connects(office.clients[1]))
            expect.none_of(office.problems(), "no daemon failed")

    return case


def connects(space: Namespace) -> bool:
    """For a second after a refusal the gateway doesn't look again."""
    try:
        tcp(space).connect((SERVER[4], _PORT))
    except OSError:
        return False
    return True


def reuse(options: Options, expect: support.Expectations) -> None:
    """Four ports, forty connections one after the other, ended by either side: TIME-WAIT is no reason to refuse."""
    with Office(options) as office:
        office.start(1, nat=_PLACE, networks=_FEW)
        server = listener(office.server, port=_PORT)
        used = []
        for number in range(40):
            client = tcp(office.clients[1])
            end = connection(client, server)
            used.append(seen(end)[1])
            first, second = (client, end) if number % 2 == 0 else (end, client)
            first.shutdown(socket.SHUT_WR)
            expect_end(second)
            second.close()
            expect_end(first)
            first.close()
        expect.that(set(used) <= set(ports_of(1, each=64)), f"ports {sorted(set(used))}")
        expect.that(len(set(used[:4])) == 4, f"a port whose connection has just ended rests while others are free: {used}")
        expect.that(office.counter(1, "sessions.port_reused") > 0, "those that had ended were replaced")
        expect.none_of(office.problems(), "no daemon failed")


def expect_end(end: socket.socket) -> None:
    assert end.recv(64) == b""


# --- clients of no network ----------------------------------------------------------------------------------------------


def beyond(options: Options, expect: support.Expectations) -> None:
    with Office(options) as office:
        office.start(1, nat='interfaces = ["inside"]\n')
        office.clients[1].ip("addr add 10.1.7.7/24 dev eth0")
        office.begin_capture()
        attempt = tcp(office.clients[1], source="10.1.7.7")
        attempt.setblocking(False)
        attempt.connect_ex((SERVER[4], _PORT))
        refused = office.wait_counter(1, "drops.no_range", 0)
        udp(office.clients[1], source="10.1.7.7").sendto(b"question", (SERVER[4], _PORT))
        office.wait_counter(1, "drops.no_range", refused)
        echo_request(office.clients[1], SERVER[4], "10.1.7.7")
        server = listener(office.server, port=_PORT)
        connection(tcp(office.clients[1], source=client_address(1, 4)), server)
        office.end_capture()
        leaked = [octets[:40].hex() for link, arriving, octets in office.octets() if link == "gateway1" and arriving
                  and octets[12:16] == bytes([10, 1, 7, 7])]
        expect.that(not leaked, f"nothing of it goes out: {leaked}")
        expect.none_of(office.problems(), "no daemon failed")


# --- packets of one direction -------------------------------------------------------------------------------------------


def one_direction(options: Options, expect: support.Expectations) -> None:
    """Out by one gateway, back by the other, both having the session as a recovery leaves it: nothing comes to a queue. The second
    one has the first one's slice here, so that it chooses the same port for what it doesn't know."""
    with Office(options, gateways=2) as office:
        for number in office.gateways:
            office.start(number, slice_number=1)
        server = listener(office.server, port=_PORT)
        client = tcp(office.clients[1], port=40000)
        end = connection(client, server)
        office.out_by(2)
        client.sendall(b"by the other")
        expect.that(end.recv(64) == b"by the other", "the session goes on by the second gateway")
        office.out_by(1)
        office.back_by(2)
        before = [support.queued(gateway) for gateway in office.gateways.values()]
        octets = random.Random(2).randbytes(20_000_000)
        got = carry(end, client, octets)
        expect.that(got == hashlib.sha256(octets).digest(), "20 MB come over exactly")
        after = [support.queued(gateway) for gateway in office.gateways.values()]
        expect.that(before == after, f"packets queued: {before} before, {after} after")
        expect.none_of(office.problems(), "no daemon failed")


def carry(source: socket.socket, sink: socket.socket, octets: bytes) -> bytes:
    """Sends all of it from one end to the other; the digest of what has come."""
    source.setblocking(False)
    got, sent, received = hashlib.sha256(), 0, 0
    while received < len(octets):
        readable, writable, _ = select.select([sink], [source] if sent < len(octets) else [], [], support.PATIENCE)
        if not readable and not writable:
            raise RuntimeError(f"nothing moves at {received} of {len(octets)}")
        if writable:
            sent += source.send(octets[sent:sent + 65536])
        if readable:
            piece = sink.recv(65536)
            got.update(piece)
            received += len(piece)
    return got.digest()


if __name__ == "__main__":
    support.main({
        "programs-4": programs(4),
        "programs-6": programs(6),
        "echo": echo,
        "ports": ports,
        "exhausted-icmp": exhausted("icmp"),
        "exhausted-drop": exhausted("drop"),
        "reuse": reuse,
        "beyond": beyond,
        "one-direction": one_direction,
    })
