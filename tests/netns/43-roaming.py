# SPDX-License-Identifier: BSD-3-Clause
# limit: 240
# cases: plain-1 plain-3 moving-4 moving-6 asking
"""A client with a holder that roams (decision 23): behind a router with plain kernel SNAT, behind gateways that speak ASRP, and
from one to the other while transfers are on their way. Both give the client the same outside address and leave its ports alone, so
its connections outlive the move; every octet of them has to arrive, no other one, and where there is no gateway a few copies of SYN
are all that it costs."""

from __future__ import annotations

import resource
import time

import support
from lab.packet import ACK, SYN
from lab.waiting import wait_for
from office import Office, client_address
from scenarios.base import Options
from talks import Server, Transfers, turns

_OUTSIDE = {4: "192.0.2.0/24", 6: "2001:db8:ff::/120"}
_AT_OUTSIDE = {4: "192.0.2.1", 6: "2001:db8:ff::1"}
_PLAIN_INSIDE = {4: "10.1.0.253", 6: "fd00:1::fd"}
_GATEWAYS_INSIDE = {4: "10.1.0.254", 6: "fd00:1::fe"}
_PLAIN_OUTSIDE = {4: "198.51.100.254", 6: "2001:db8:9:ff::2"}
_TRANSFERS = 1000
_AT_ONCE = 250
_AT_A_VISIT = 20
_VISITS = (0.2, 0.4, 0.6, 0.8, 1.0)  # until this part of the octets has come
_HELLOS = 8  # in a network where nobody answers


class Roaming(Office):
    """An office whose client has a second router beside it, with plain SNAT to the outside address that the gateways give it."""

    def __init__(self, options: Options) -> None:
        super().__init__(options, clients=1, gateways=1, outside=_OUTSIDE)
        self.plain = self.claim.namespace("plain")
        self.client = self.clients[1]

    def _build(self) -> None:
        super()._build()
        self.plain.create()
        self.plain.sysctl({"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})
        self.inner.ip(f"link add name plain type veth peer name inside netns {self.plain.name}", "link set plain master br0 up")
        self.outer.ip(f"link add name plain type veth peer name outside netns {self.plain.name}", "addr add 198.51.100.253/30 dev plain",
                      "addr add 2001:db8:9:ff::1/64 dev plain nodad", "link set plain up")
        self.plain.ip("addr add 10.1.0.253/24 dev inside", "addr add fd00:1::fd/120 dev inside nodad", "link set inside up",
                      "addr add 198.51.100.254/30 dev outside", "addr add 2001:db8:9:ff::2/64 dev outside nodad", "link set outside up",
                      "route add default via 198.51.100.253", "route add default via 2001:db8:9:ff::1")
        for family, program in ((4, "iptables"), (6, "ip6tables")):
            own = client_address(1, family)
            self.plain.run(program, "-t", "nat", "-A", "POSTROUTING", "-s", own, "-o", "outside", "-j", "SNAT", "--to-source",
                           _AT_OUTSIDE[family])
            self.plain.run(program, "-t", "nat", "-A", "PREROUTING", "-d", _AT_OUTSIDE[family], "-i", "outside", "-j", "DNAT",
                           "--to-destination", own)
        self.links[self.outer.interface_index("plain")] = "plain"

    def begin(self) -> None:
        self.start(1, networks='mapping = "prefix"\n')
        self.start_holder(1)
        self.begin_capture()

    def move(self, to_plain: bool) -> None:
        """The plain router knows nothing of the client's connections when they come to it."""
        if to_plain:
            self.plain.flush_sessions()
        for family in (4, 6):
            router = (_PLAIN_INSIDE if to_plain else _GATEWAYS_INSIDE)[family]
            self.client.ip(f"route replace default via {router}", family=family)
            if to_plain:
                self.outer.ip(f"route replace {_OUTSIDE[family]} via {_PLAIN_OUTSIDE[family]}", family=family)
        if not to_plain:
            self.back_by(1)

    def hellos(self) -> int:
        return int(self.ask_holder(1, "counters")["counters"]["messages.sent.HS"])

    def misplaced(self) -> list[str]:
        """Messages in the plain network that are in any TCP segment but a copy of a SYN behind it."""
        seen = set()
        wrong = []
        for record in self.records():
            packet = record.packet
            if record.link != "plain" or not record.arriving or packet.protocol != 6:
                continue
            is_syn = packet.flags & (SYN | ACK) == SYN
            key = (packet.src, packet.sport, packet.seq)
            if packet.marked and (not is_syn or key not in seen):
                wrong.append(f"{packet.carriage} from port {packet.sport}, flags {packet.flags:#x}")
            elif is_syn:
                seen.add(key)
        return wrong

    def end(self, expect: support.Expectations) -> None:
        self.end_capture()
        expect.none_of(self.misplaced(), "in the plain network no message was anywhere but in a copy of a SYN behind it")
        expect.none_of(self.leaks("gateway"), "from the gateway nothing of ASRP came out")
        expect.none_of(self.problems(), "no daemon failed")


def connect(server: Server, transfers: Transfers, numbers: range) -> None:
    """Of all sizes up to some thousand octets each way."""
    for number in numbers:
        transfers.add(*server.connection(1), 1 + number * 37 % 16 * 1450)


def plain(fast_open: int) -> support.Case:
    def case(options: Options, expect: support.Expectations) -> None:
        with Roaming(options) as office:
            office.server.sysctl({"net.ipv4.tcp_fastopen": fast_open})
            office.move(to_plain=True)
            office.begin()
            server = Server(office, 4)
            wrong = []
            for wave in range(_TRANSFERS // _AT_ONCE):
                transfers = Transfers()
                connect(server, transfers, range(wave, wave + _AT_ONCE))
                wrong += transfers.play()
                transfers.close()
            expect.none_of(wrong, f"tcp_fastopen {fast_open}: {_TRANSFERS} transfers both ways are exact")
            expect.that(0 < office.hellos() <= _HELLOS, f"they have cost {office.hellos()} packets")
            expect.that(office.backups(1) == 0, "and there are no backups")
            office.end(expect)

    return case


def moving(family: int) -> support.Case:
    def case(options: Options, expect: support.Expectations) -> None:
        with Roaming(options) as office:
            office.begin()
            server = Server(office, family)
            wrong = []
            talks = [talk for _ in range(5) for talk in (server.tcp(1), server.udp(1))]
            visits = 0
            for wave in range(_TRANSFERS // _AT_ONCE):
                transfers = Transfers()
                connect(server, transfers, range(wave, wave + _AT_ONCE - len(_VISITS) * _AT_A_VISIT))
                for until in _VISITS:
                    visits += 1
                    office.move(to_plain=visits % 2 == 1)
                    connect(server, transfers, range(visits, visits + _AT_A_VISIT))
                    wrong += transfers.play(until)
                    wrong += turns(talks, from_client=True) + turns(talks, from_client=False)
                transfers.close()
            expect.none_of(wrong, f"{_TRANSFERS} transfers both ways are exact, moved {visits} times")
            proofs = office.ask_holder(1, "counters")["counters"]["hello.route_proven"]
            expect.that(proofs > 0, f"the gateway's route was proven {proofs} times")
            office.end(expect)

    return case


def asking(options: Options, expect: support.Expectations) -> None:
    """Sessions that ask in mid-stream where there is a gateway ask no more when they come to where there is none."""
    with Roaming(options) as office:
        office.begin()
        server = Server(office, 4)
        proof = server.tcp(1)
        office.wait_backups(1, 1)
        answers = ["iptables", "-t", "raw", "-I", "PREROUTING", "-p", "udp", "--dport", "51200", "-j", "DROP"]
        office.client.run(*answers)
        talks = [server.tcp(1), server.udp(1), server.tcp(1)]  # fewer than make the route one without a gateway
        asked = office.hellos()
        time.sleep(1.1)  # between two HS of a session there is a second
        wrong = turns(talks, from_client=True)
        expect.that(office.hellos() >= asked + len(talks), f"{office.hellos() - asked} HS in mid-stream")
        asked = office.hellos()
        office.move(to_plain=True)
        time.sleep(1.1)
        for _ in range(3):
            wrong += turns(talks, from_client=True) + turns(talks, from_client=False)
        expect.that(office.hellos() <= asked + 1, "none where there is no gateway, but for a datagram's option area")
        office.move(to_plain=False)
        answers[3] = "-D"
        office.client.run(*answers)
        begun = [server.tcp(1)]  # proves the route anew
        everything = [proof, *talks, *begun]

        def backed() -> bool:
            nonlocal wrong
            wrong += turns(everything, from_client=True) + turns(everything, from_client=False)
            return office.backups(1) == len(everything)

        wait_for("a backup of each session, whenever it began", backed, every=0.2)
        expect.that(int(office.ask_holder(1, "counters")["counters"]["flows.back"]) > 0, "those without one came back to the queue")
        expect.none_of(wrong, "all streams are exact")
        office.end(expect)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    support.main({
        "plain-1": plain(1),
        "plain-3": plain(3),
        "moving-4": moving(4),
        "moving-6": moving(6),
        "asking": asking,
    })
