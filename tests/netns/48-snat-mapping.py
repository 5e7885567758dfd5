# SPDX-License-Identifier: BSD-3-Clause
# limit: 180
# cases: mapping connections filtering strangers hairpin restart failover reload
"""Endpoint-independent mapping behind a gateway (RFC 4787 REQ-1, 3, 4, 5, 8, 9; RFC 5382 REQ-1, 3, 7, 8): one outside port for all
that a client's port talks to, whom it lets in, clients that reach each other by it, and that it is known again after a restart, and
at another gateway."""

from __future__ import annotations

import socket

import support
from lab.daemon import Daemon
from lab.netns import Namespace
from lab.waiting import wait_for
from office import Office
from scenarios.base import Options
from sockets import connected, tcp, udp

_PORT = 7000
_FIRST, _SECOND = "203.0.113.1", "203.0.113.2"  # two hosts outside, in one namespace
_BOTH = 'endpoint_independent = ["udp", "tcp"]\n'
_FEW = "ports_per_client = 64\n"  # four of them in each slice
Place = tuple[str, int]


def office_of(options: Options, gateways: int = 1) -> Office:
    """The second host comes with begun()."""
    return Office(options, gateways=gateways)


def begun(office: Office, nat: str = "", networks: str = "") -> tuple[socket.socket, socket.socket]:
    """Starts the gateways; one answering socket at each of two hosts outside."""
    office.server.ip(f"addr add {_SECOND}/24 dev eth0")
    for number in office.gateways:
        office.start(number, nat=nat, networks=networks)
    return udp(office.server, source=_FIRST, port=_PORT), udp(office.server, source=_SECOND, port=_PORT)


def asks(client: socket.socket, far: socket.socket) -> Place:
    """One datagram there and one back. Whom the far end saw."""
    client.sendto(b"question", far.getsockname())
    got, place = far.recvfrom(64)
    assert got == b"question"
    answers(far, place, client)
    return place[0], place[1]


def answers(far: socket.socket, place: Place, client: socket.socket, octets: bytes = b"answer") -> None:
    """A datagram to a client's outside port, and nothing else, arrives."""
    far.sendto(octets, place)
    got, peer = client.recvfrom(64)
    assert (got, peer) == (octets, far.getsockname()), f"{got!r} of {peer}, not {octets!r} of {far.getsockname()}"


def drops(office: Office, gateway: int = 1) -> int:
    """Packets that were dropped for want of a session."""
    counters = office.ask(gateway, "counters")["counters"]
    return sum(int(counters[f"drops.{why}"]) for why in ("no_holder", "no_session", "silence", "outside_rate", "no_range"))


def refused(office: Office, far: socket.socket, place: Place, gateway: int = 1) -> None:
    """A datagram to a client's outside port is dropped."""
    before = drops(office, gateway)
    far.sendto(b"unasked", place)
    wait_for("a stranger's datagram to be dropped", lambda: drops(office, gateway) > before)


def shared(space: Namespace, port: int, listens: bool = False) -> socket.socket:
    """One of several sockets on a port of a client."""
    with space.entered():
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.settimeout(support.PATIENCE)
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        made.setsockopt(socket.SOL_SOCKET, option, 1)
    made.bind(("0.0.0.0", port))
    if listens:
        made.listen(8)
    return made


def connects(client: socket.socket, listening: socket.socket, to: Place) -> tuple[socket.socket, Place]:
    """The other end of a new connection, over which something went both ways, and whom it sees."""
    end = connected(client, listening, to)
    peer = end.getpeername()
    return end, (peer[0], peer[1])


# --- one port for all (REQ-1, 3, 4, 5) ----------------------------------------------------------------------------------


def mapping(options: Options, expect: support.Expectations) -> None:
    """With two workers, which share what they know."""
    with office_of(options) as office:
        first, second = begun(office, "port_parity = true\n[queue]\nworkers = 2\n", _FEW)
        places = {}
        for port in range(40000, 40004):
            client = udp(office.clients[1], port=port)
            places[port] = asks(client, first)
            expect.that(asks(client, second) == places[port], f"port {port}: two hosts see {places[port]}")
        expect.that(len(set(places.values())) == 4, "four endpoints, four ports in the slice: none is shared, though each would do for a server")
        expect.that(all(port % 2 == place[1] % 2 for port, place in places.items()), "even ports are even, odd ones odd")
        status = office.ask(1, "status")
        expect.that((status["mappings"], status["mapped_sessions"]) == (4, 8), f"{status['mappings']} mappings, {status['mapped_sessions']} sessions")
        fifth = udp(office.clients[1], port=40004)
        fifth.sendto(b"question", (_FIRST, _PORT))
        office.wait_counter(1, "drops.exhausted", 0)
        expect.that(asks(udp(office.clients[2], port=40000), first) not in places.values(), "a fifth finds none, and another client its own")
        for name in ("udp_timeout", "udp_timeout_stream"):
            value = int(office.gateways[1].read(f"/proc/sys/net/netfilter/nf_conntrack_{name}"))
            expect.that(value == 300, f"nf_conntrack_{name} is {value} s")
        left = [int(line.split()[2]) for line in office.gateways[1].run("conntrack", "-L", "-p", "udp", "-s", "10.1.0.1").splitlines()]
        expect.that(len(left) == 8 and min(left) > 120, f"entries live for {min(left)} s more at least")
        office.gateways[1].run("conntrack", "-D", "-p", "udp", "--orig-port-src", "40000", "-s", "10.1.0.1")
        wait_for("the mapping to end with its last entry", lambda: office.ask(1, "status")["mappings"] == 4)
        expect.that(True, "a mapping ends with its last session")
        expect.none_of(office.problems(), "no daemon failed")


def connections(options: Options, expect: support.Expectations) -> None:
    """TCP has a port for each session, unless it is to have one for each endpoint."""
    for nat, independent in (("", False), (_BOTH, True)):
        with office_of(options) as office:
            begun(office, nat)
            listening = {host: tcp(office.server, source=host, port=_PORT) for host in (_FIRST, _SECOND)}
            for each in listening.values():
                each.listen(16)
            ends, same = [], 0
            for port in range(40000, 40006):
                seen = set()
                for host, each in listening.items():
                    client = shared(office.clients[1], port)
                    end, place = connects(client, each, (host, _PORT))
                    ends += [client, end]
                    seen.add(place)
                same += len(seen) == 1
            expect.that((same == 6) == independent, f"{nat.strip() or 'by default'}: {same} of 6 ports are seen alike by two hosts")
            expect.none_of(office.problems(), "no daemon failed")


# --- who is let in (REQ-8, RFC 5382 REQ-3) ------------------------------------------------------------------------------


def filtering(options: Options, expect: support.Expectations) -> None:
    for kind, other_port, other_host in (("address-port", False, False), ("address", True, False), ("endpoint", True, True)):
        with office_of(options) as office:
            first, second = begun(office, f'filtering = "{kind}"\n')
            client = udp(office.clients[1], port=40000)
            place = asks(client, first)
            for far, admitted, who in ((udp(office.server, source=_FIRST, port=_PORT + 1), other_port, "another port of its host"),
                                       (second, other_host, "a host never sent to")):
                if admitted:
                    answers(far, place, client, b"unasked")
                    expect.that(asks(client, far) == place, f"{kind}: {who} gets through, and is answered by {place}")
                else:
                    refused(office, far, place)
                    expect.that(True, f"{kind}: {who} is kept out")
                answers(first, place, client)
            admitted = office.counter(1, "sessions.admitted")
            expect.that(admitted == other_port + other_host, f"{kind}: {admitted} sessions begun from outside")
            expect.none_of(office.problems(), "no daemon failed")


def strangers(options: Options, expect: support.Expectations) -> None:
    """Connections from outside to a port from which a client has one."""
    for kind in ("address-port", "endpoint"):
        with office_of(options) as office:
            begun(office, f'{_BOTH}filtering = "{kind}"\n')
            outside = tcp(office.server, source=_FIRST, port=_PORT)
            outside.listen(8)
            end, place = connects(shared(office.clients[1], 40000), outside, (_FIRST, _PORT))
            inside = shared(office.clients[1], 40000, listens=True)
            stranger = tcp(office.server, source=_SECOND)
            if kind == "endpoint":
                _, seen = connects(stranger, inside, place)
                expect.that(seen[0] == _SECOND, f"{kind}: {seen} connects to {place}")
            else:
                stranger.setblocking(False)
                stranger.connect_ex(place)
                wait_for("the SYN to meet its rule", lambda: dropped_syn(office) > 0)
                expect.that(support.queued(office.gateways[1]) > 0, f"{kind}: a stranger's SYN is dropped by a rule")
            end.sendall(b"goes on")
            expect.none_of(office.problems(), "no daemon failed")


def dropped_syn(office: Office) -> int:
    """By the rule for those from outside."""
    lines = office.gateways[1].run("iptables-save", "-c", "-t", "mangle").splitlines()
    return sum(int(line[1:].split(":")[0]) for line in lines if "-d 192.0.2.0/28" in line and "--tcp-flags" in line and "-j DROP" in line)


# --- clients by each other's outside ports (REQ-9, RFC 5382 REQ-8, RFC 5508 REQ-7) ----------------------------------------


def hairpin(options: Options, expect: support.Expectations) -> None:
    with office_of(options) as office:
        first, _ = begun(office, _BOTH)
        one, two, also_one = udp(office.clients[1], port=40000), udp(office.clients[2], port=40000), udp(office.clients[1], port=40001)
        for target, who in ((two, "another client"), (also_one, "another socket of its own"), (one, "itself")):
            place = asks(target, first)
            one.sendto(b"hello", place)
            got, seen = target.recvfrom(64)
            expect.that(got == b"hello" and seen == asks(one, first), f"UDP: {who} at {place} sees the outside: {seen}")
            target.sendto(b"hello back", seen)
            got, peer = one.recvfrom(64)
            expect.that((got, peer) == (b"hello back", place), f"UDP: and its answer comes from {peer}")
        place = asks(two, first)
        one.connect(place)
        two.close()
        one.send(b"hello")
        try:
            expect.that(one.recv(64) == b"", "an error")
        except ConnectionRefusedError:
            expect.that(True, "the ICMP error of a client whose port is closed comes back to the other one")
        outside = tcp(office.server, source=_FIRST, port=_PORT)
        outside.listen(8)
        made, place = connects(shared(office.clients[2], 41000), outside, (_FIRST, _PORT))
        inside = shared(office.clients[2], 41000, listens=True)
        for number in (1, 2):
            end, seen = connects(tcp(office.clients[number]), inside, place)
            expect.that(seen[0].startswith("192.0.2."), f"TCP: client {number} reaches client 2 at {place}, who sees {seen}")
        made.close()
        expect.none_of(office.problems(), "no daemon failed")
    with office_of(options) as office:
        first, _ = begun(office, "hairpin = false\n")
        one, two = udp(office.clients[1]), udp(office.clients[2])
        place = asks(two, first)
        before = office.counter(1, "drops.no_range")
        one.sendto(b"hello", place)
        office.wait_counter(1, "drops.no_range", before)
        answers(first, place, two)
        expect.that(True, "with hairpin = false nothing of it arrives")
        expect.none_of(office.problems(), "no daemon failed")


# --- restart, another gateway, reload -----------------------------------------------------------------------------------


def restart(options: Options, expect: support.Expectations) -> None:
    """All four ports of a slice in use: by hash alone some would come out as another one's."""
    with office_of(options) as office:
        first, second = begun(office, "", _FEW)
        clients = [udp(office.clients[1], port=port) for port in range(40000, 40004)]
        before = [asks(client, first) for client in clients]
        daemon = office.daemons[1]
        expect.that(daemon.stop() == 0, "the daemon stops")
        for client, place in zip(clients, before):
            answers(first, place, client)
        daemon.start()
        after = [asks(client, second) for client in clients]
        expect.that(before == after, f"after its restart each endpoint has its port: {after}")
        expect.that(len(set(after)) == 4, "and each one its own")
        expect.none_of(office.problems(), "no daemon failed")


def failover(options: Options, expect: support.Expectations) -> None:
    """A mapping is known at another gateway once it has a session of it, whoever sends first (decision 27)."""
    with office_of(options, gateways=2) as office:
        first, second = begun(office, 'filtering = "endpoint"\n')
        office.start_holder(1)
        clients = [udp(office.clients[1], port=port) for port in (40000, 40001)]
        places = [asks(client, first) for client in clients]
        office.wait_backups(1, 2)
        office.kill(1)
        office.out_by(2)
        office.back_by(2)
        refused(office, second, places[0], gateway=2)
        expect.that(True, "a stranger reaches the mapping no more")
        expect.that(asks(clients[0], first) == places[0], f"the client sends: {places[0]}")
        answers(first, places[1], clients[1])
        expect.that(True, f"a known peer sends: {places[1]}")
        for client, place in zip(clients, places):
            answers(second, place, client, b"unasked")
            expect.that(asks(client, second) == place, f"and {place} is the port for others, too, though another gateway's slice")
        expect.none_of(office.problems(), "no daemon failed")


def reload(options: Options, expect: support.Expectations) -> None:
    with office_of(options) as office:
        first, second = begun(office, "endpoint_independent = []\n", _FEW)
        clients = [udp(office.clients[1], port=port) for port in range(40000, 40003)]
        places = [asks(client, first) for client in clients]
        expect.that(office.ask(1, "status")["mappings"] == 0, "nothing is followed")
        changed(office, office.daemons[1], 'endpoint_independent = ["udp"]\n')
        wait_for("the mappings to be read", lambda: office.ask(1, "status")["mappings"] == 3)
        expect.that([asks(client, second) for client in clients] == places, "after a reload what was there before is known")
        stranger = udp(office.server, source=_SECOND, port=_PORT + 1)
        refused(office, stranger, places[0])
        changed(office, office.daemons[1], 'endpoint_independent = ["udp"]\nfiltering = "endpoint"\n')
        answers(stranger, places[0], clients[0], b"unasked")
        expect.that(True, "a stranger gets through after a reload that lets it")
        expect.none_of(office.problems(), "no daemon failed")


def changed(office: Office, daemon: Daemon, nat: str) -> None:
    office.configuration(1, nat=nat, networks=_FEW)
    daemon.reload()


if __name__ == "__main__":
    support.main({"mapping": mapping, "connections": connections, "filtering": filtering, "strangers": strangers, "hairpin": hairpin,
                  "restart": restart, "failover": failover, "reload": reload})
