# SPDX-License-Identifier: BSD-3-Clause
# limit: 240
# cases: failover-4 failover-6 control asymmetric-4 asymmetric-6 unknown holder burst
"""Gateways in ACT mode with clients that hold backups: sessions outlive a gateway by the next packet of either side, byte for byte
and with the same outside port; those of a client without a holder are lost, and no more. Nothing of ASRP is ever seen outside."""

from __future__ import annotations

import signal
import socket
import time

import support
from lab.waiting import wait_for
from office import SERVER, Office
from scenarios.base import Options
from talks import TCP_PORT, Server, Talk, Transfers, made, turns

_EACH = 4
_HELD = (1, 2)  # clients with a holder
_BARE = 3


def opened(server: Server, client: int) -> list[Talk]:
    """Sessions of both protocols; each of the holder's has its backup."""
    before = server.office.backups(client) if client in _HELD else 0
    talks = [server.tcp(client) for _ in range(_EACH)] + [server.udp(client) for _ in range(_EACH)]
    if client in _HELD:
        server.office.wait_backups(client, before + len(talks))
    return talks


def lost(office: Office, gateway: int, talks: list[Talk]) -> list[str]:
    """Sessions that go on although nobody has them: neither the server's next packet arrives, nor is the client's for it."""
    held = []

    def dropped() -> int:
        counters = office.ask(gateway, "counters")["counters"]
        return sum(int(counters[f"drops.{why}"]) for why in ("no_holder", "silence", "no_session"))

    for talk in talks:
        before = dropped()
        talk.say(from_client=False)
        wait_for("the server's packet to be dropped", lambda: dropped() > before)
    for talk in talks:
        try:
            octets = talk.say(from_client=True)
            if talk.protocol == "udp":
                problem = talk.hear(octets, from_client=True)
            else:  # the server gets it from an endpoint that it does not know
                problem = "" if talk.client.recv(1) else "closed"
        except OSError as error:
            problem = str(error)
        if not problem:
            held.append(talk.name)
    return held


def repeats(talks: list[Talk]) -> int:
    return sum(talk.repeats for talk in talks)


def failover(family: int) -> support.Case:
    def case(options: Options, expect: support.Expectations) -> None:
        with Office(options, clients=3, gateways=3) as office:
            for number in office.gateways:
                office.start(number)
            for client in _HELD:
                office.start_holder(client)
            office.begin_capture()
            server = Server(office, family)
            silent = [talk for client in _HELD for talk in opened(server, client)]  # their servers speak next
            spoken = [talk for client in _HELD for talk in opened(server, client)]  # their clients do
            bare = opened(server, _BARE)
            transfers = Transfers()
            for client in _HELD:
                for _ in range(2):
                    transfers.add(*server.connection(client), 1_000_000)
            expect.none_of(transfers.play(0.3), f"{len(silent + spoken)} sessions with a backup, and {transfers.size} octets on their way")
            office.kill(1)
            office.out_by(2)
            office.back_by(2)
            expect.none_of(transfers.play(0.7), "a gateway is gone: what is on its way goes on by another")
            expect.none_of(turns(silent, from_client=False), "a packet of the server alone arrives at the client")
            expect.that(repeats(silent) <= office.counter(2, "drops.outside_rate"), f"{repeats(silent)} datagrams were over the rate")
            expect.none_of(turns(spoken, from_client=True), "one of the client arrives at the server, from the same port")
            expect.that(repeats(spoken) == 0, "and at once")
            expect.none_of(lost(office, 2, bare), "sessions of the client without a holder are lost")
            office.kill(2)
            office.out_by(3)
            office.back_by(3)
            expect.none_of(transfers.play(), "the next gateway is gone: the transfers end, and are exact")
            expect.none_of(turns(spoken, from_client=False), "a packet of the server alone arrives at the client")
            expect.none_of(turns(silent, from_client=True), "one of the client arrives at the server, from the same port")
            expect.none_of(turns(spoken + silent, from_client=True), "and so it stays")
            expect.none_of(turns(spoken + silent, from_client=False), "in both directions")
            fresh = opened(server, 1) + opened(server, _BARE)
            expect.none_of(turns(fresh, from_client=True), "new sessions begin at the third gateway")
            office.end_capture()
            expect.none_of(office.leaks(), "no inner address, no ASRP, no octet behind a datagram outside")
            expect.none_of(office.problems(), "no daemon failed")

    return case


def control(options: Options, expect: support.Expectations) -> None:
    """The same without holders at the moment of the kill: all is lost, so it is they who hold it."""
    with Office(options, clients=2, gateways=2) as office:
        for number in office.gateways:
            office.start(number)
        for client in _HELD:
            office.start_holder(client)
        server = Server(office, 4)
        talks = [talk for client in _HELD for talk in opened(server, client)]
        for holder in office.holders.values():
            holder.kill()
        expect.none_of(turns(talks, from_client=True) + turns(talks, from_client=False), "without holders all goes on")
        office.kill(1)
        office.out_by(2)
        office.back_by(2)
        expect.none_of(lost(office, 2, talks), "until the gateway is gone: all sessions are lost")
        expect.none_of(office.problems(), "no daemon failed")


def asymmetric(family: int) -> support.Case:
    """Out by one gateway and in by another, from the first packet on, and the other way round at the end."""
    def case(options: Options, expect: support.Expectations) -> None:
        with Office(options, clients=1, gateways=2) as office:
            for number in office.gateways:
                office.start(number)
            office.start_holder(1)
            office.back_by(2)
            office.begin_capture()
            server = Server(office, family)
            talks = opened(server, 1)
            expect.none_of(turns(talks, from_client=True) + turns(talks, from_client=False), f"{len(talks)} sessions go round")
            transfers = Transfers()
            for _ in range(4):
                transfers.add(*server.connection(1), 3_000_000)
            expect.none_of(transfers.play(0.1), "so do transfers")
            before = [support.queued(gateway) for gateway in office.gateways.values()]
            expect.none_of(transfers.play(), f"{transfers.size} octets come over exactly")
            for _ in range(5):
                expect.none_of(turns(talks, from_client=True) + turns(talks, from_client=False), "the sessions go on")
            after = [support.queued(gateway) for gateway in office.gateways.values()]
            expect.that(before == after, f"packets queued: {before} before, {after} after")
            office.out_by(2)
            office.back_by(1)
            expect.none_of(turns(talks, from_client=True) + turns(talks, from_client=False), "and the other way round")
            office.kill(1)
            office.back_by(2)
            expect.none_of(turns(talks, from_client=True) + turns(talks, from_client=False), "one that is left is enough for both")
            office.end_capture()
            expect.none_of(office.leaks(), "no inner address, no ASRP, no octet behind a datagram outside")
            expect.none_of(office.problems(), "no daemon failed")

    return case


def unknown(options: Options, expect: support.Expectations) -> None:
    """Sessions that got no NS ask in mid-stream, of a gateway that does not know them any more."""
    with Office(options, clients=1, gateways=2) as office:
        for number in office.gateways:
            office.start(number)
        office.start_holder(1)
        office.begin_capture()
        for family in (4, 6):
            server = Server(office, family)
            proof = server.tcp(1)  # there are gateways on this way
            own = f":{proof.client.getsockname()[1]}"
            wait_for("its backup", lambda own=own: any(line["client"].endswith(own) for line in office.ask_holder(1, "backups")["lines"]))
            answers = ("iptables" if family == 4 else "ip6tables", "-t", "raw", "{}", "PREROUTING", "-p", "udp", "--dport", "51200",
                       "-j", "DROP")
            office.clients[1].run(*(word.format("-I") for word in answers))
            for gateway, before in ((2, 1), (1, 2)):
                office.out_by(before)
                office.back_by(before)
                asking = {"tcp": server.tcp(1), "udp": server.udp(1)}
                office.out_by(gateway)
                office.back_by(gateway)
                office.gateways[gateway].flush_sessions()
                counts = {"tcp": "hellos.no_session", "udp": "messages_received.hs"}
                seen = {protocol: office.counter(gateway, name) for protocol, name in counts.items()}
                time.sleep(1.1)  # between two HS of a session there is a second; a silent connection asks by itself then
                for protocol, talk in asking.items():
                    talk.say(from_client=True)
                    office.wait_counter(gateway, counts[protocol], seen[protocol])
                    expect.that(True, f"gateway {gateway} gets an HS for a session that it does not know: IPv{family} {talk.name}")
            office.clients[1].run(*(word.format("-D") for word in answers))
            for gateway in (2, 1):
                office.out_by(gateway)
                office.back_by(gateway)
                expect.that(not proof.turn(from_client=False) and not proof.turn(from_client=True), "a session with a backup goes on")
        office.end_capture()
        expect.none_of(office.leaks(), "no inner address, no ASRP, no octet behind a datagram outside")
        expect.none_of(office.problems(), "no daemon failed")


def holder(options: Options, expect: support.Expectations) -> None:
    """Killed and started again: each backup is answered for. Without a daemon there are sessions as without ASRP."""
    with Office(options, clients=1, gateways=2) as office:
        for number in office.gateways:
            office.start(number)
        daemon = office.start_holder(1)
        office.begin_capture()
        servers = {family: Server(office, family) for family in (4, 6)}
        talks = [talk for server in servers.values() for talk in opened(server, 1)]
        daemon.kill()
        expect.none_of(turns(talks, from_client=True) + turns(talks, from_client=False), "the holder is gone: the sessions go on")
        hellos = office.counter(1, "messages_received.hs")
        bare = [talk for server in servers.values() for talk in (server.tcp(1), server.udp(1))]
        expect.none_of(turns(bare, from_client=True) + turns(bare, from_client=False), "new ones begin")
        expect.that(office.counter(1, "messages_received.hs") == hellos, "and ask for nothing")
        office.start_holder(1)
        expect.that(office.backups(1) == len(talks), f"started again it has {office.backups(1)} of {len(talks)} backups")
        office.kill(1)
        office.out_by(2)
        office.back_by(2)
        half = len(talks) // 2
        expect.none_of(turns(talks[:half], from_client=False) + turns(talks[half:], from_client=True),
                       "every session goes on at another gateway")
        answers = office.ask_holder(1, "counters")["counters"]["messages.sent.RS"]
        expect.that(answers >= len(talks), f"{answers} answers RS")
        for talk in talks:
            talk.abort()
        wait_for("the release of all TCP backups", lambda: not any(line["protocol"] == "tcp" for line in
                                                                   office.ask_holder(1, "backups")["lines"]))
        office.end_capture()
        expect.none_of(office.leaks(), "no inner address, no ASRP, no octet behind a datagram outside")
        expect.none_of(office.problems(), "no daemon failed")


def burst(options: Options, expect: support.Expectations) -> None:
    """Thirty connections begin at once on a way of which nothing is known: eight of them ask, and when a gateway has answered those
    the others ask in mid-stream."""
    with Office(options, clients=1, gateways=2) as office:
        for number in office.gateways:
            office.start(number)
        holder = office.start_holder(1)
        office.begin_capture()
        server = Server(office, 4)
        holder.signal(signal.SIGSTOP)
        nears = [made(office.clients[1], 4, socket.SOCK_STREAM) for _ in range(30)]
        for near in nears:
            near.setblocking(False)
            near.connect_ex((SERVER[4], TCP_PORT))
        holder.signal(signal.SIGCONT)
        fars = {}
        for _ in nears:
            far, (_, port) = server.listener.accept()
            fars[port] = far
            far.settimeout(support.PATIENCE)
        talks = []
        for near in nears:
            near.settimeout(support.PATIENCE)
            near.sendall(near.getsockname()[1].to_bytes(2, "big"))
        for far in fars.values():
            number = int.from_bytes(far.recv(2), "big")
            near = next(each for each in nears if each.getsockname()[1] == number)
            talks.append(Talk(f"port {number}", near, far, "tcp", (SERVER[4], TCP_PORT)))
        wrong = []

        def backed() -> bool:
            nonlocal wrong
            wrong += turns(talks, from_client=True) + turns(talks, from_client=False)
            return office.backups(1) == len(talks)

        wait_for(f"backups of all {len(talks)} sessions", backed, every=0.2)
        counters = office.ask_holder(1, "counters")["counters"]
        expect.that(counters["flows.back"] > 0, f"{counters['flows.back']} of them had left the queue without one")
        office.kill(1)
        office.out_by(2)
        office.back_by(2)
        wrong += turns(talks, from_client=True) + turns(talks, from_client=False)
        expect.none_of(wrong, "all go on at another gateway, and are exact")
        office.end_capture()
        expect.none_of(office.leaks(), "no inner address, no ASRP, no octet behind a datagram outside")
        expect.none_of(office.problems(), "no daemon failed")


if __name__ == "__main__":
    support.main({
        "failover-4": failover(4),
        "failover-6": failover(6),
        "control": control,
        "asymmetric-4": asymmetric(4),
        "asymmetric-6": asymmetric(6),
        "unknown": unknown,
        "holder": holder,
        "burst": burst,
    })
