# SPDX-License-Identifier: BSD-3-Clause
# limit: 240
# cases: bars bad rules full-table moved removed privileges
"""A gateway in ACT mode under load is reloaded, stopped, started, killed, has its rules flushed and its table filled: sessions go on,
nothing leaves untranslated. A reload that moves the clients' ranges moves no session: those of before go on, and are recovered by the
other gateway and after a restart; new ones are in the new ranges."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import time

import sockets
import support
from lab.waiting import wait_for
from office import CLIENTS, OUTSIDE, SERVER, Office, client_address
from scenarios.base import Options
from talks import TCP_PORT, Server, Talk, Transfers, turns
from traffic.flood import fill_table

_MOVED = 'ports = "8192-65535"\n'
_COUNT = "/proc/sys/net/netfilter/nf_conntrack_count"
_MAXIMUM = "/proc/sys/net/netfilter/nf_conntrack_max"


def replace(office: Office, gateway: int, *changes: tuple[str, str]) -> str:
    """Changes a gateway's file; the text that was there."""
    path = f"{office.claim.directory}/gateway{gateway}.toml"
    with open(path, encoding="utf-8") as file:
        before = file.read()
    after = before
    for old, new in changes:
        assert old in after, old
        after = after.replace(old, new)
    with open(path, "w", encoding="utf-8") as file:
        file.write(after)
    return before


def move(office: Office) -> None:
    """Other ports for all clients, at all gateways."""
    for number, daemon in office.daemons.items():
        office.configuration(number, networks=_MOVED)
        daemon.reload()


def port_of(talk: Talk) -> int:
    assert talk.outside is not None
    return talk.outside[1]


def queue_losses(office: Office, gateway: int) -> int:
    """Packets that a queue could not take, or that the program did not get."""
    lines = office.gateways[gateway].read("/proc/thread-self/net/netfilter/nfnetlink_queue").splitlines()
    return sum(int(line.split()[5]) + int(line.split()[6]) for line in lines)


# --- daemon death, stop, restart, reload --------------------------------------------------------------------------------


def bars(options: Options, expect: support.Expectations) -> None:
    with Office(options) as office:
        daemon = office.start(1)
        office.begin_capture()
        server = Server(office, 4)
        transfers = Transfers()
        for client in office.clients:
            for _ in range(4):
                transfers.add(*server.connection(client), 1_500_000)
        talks = [server.udp(client) for client in office.clients]
        expect.none_of(transfers.play(0.1), "transfers in both directions, with datagrams beside them")
        for number in range(5):
            daemon.begin_reload()
            opened = server.connection(1 + number % 2)
            daemon.end_reload()
            expect.none_of(transfers.play(0.1 + 0.05 * (number + 1)), f"reload {number + 1}: transfers go on, {opened[1].getpeername()} is new")
        expect.that(queue_losses(office, 1) == 0, "no packet was lost in a queue")
        before = {family: support.rules(office.gateways[1], family) for family in (4, 6)}
        expect.that(daemon.stop() == 0, "it stops")
        expect.that({family: support.rules(office.gateways[1], family) for family in (4, 6)} == before, "its rules stay")
        expect.none_of(transfers.play(0.5), "transfers go on without it")
        expect.none_of(turns(talks, from_client=False), "datagrams too")
        waiting = sockets.tcp(office.clients[1])
        waiting.setblocking(False)
        expect.that(waiting.connect_ex((SERVER[4], TCP_PORT)) == errno.EINPROGRESS, "a new connection waits")
        daemon.start()
        server.listener.settimeout(support.PATIENCE)
        expect.that(server.listener.accept()[1][0].startswith("192.0.2."), "and succeeds by a SYN repeated when the daemon is back")
        expect.none_of(transfers.play(0.7), "transfers go on")
        daemon.kill()
        expect.none_of(transfers.play(0.85), "they do so when it is killed")
        daemon.start()
        new = server.tcp(2)
        expect.that(new.outside is not None and new.outside[0].startswith("192.0.2."), f"{new.name}: works at once after it")
        expect.none_of(transfers.play(), "all octets have come, as they were sent")
        expect.none_of(turns(talks, from_client=True), "datagrams go on from the same ports")
        office.end_capture()
        expect.none_of(office.leaks(), "no untranslated packet, and no ASRP, outside")
        expect.none_of(office.problems(), "no daemon failed")


def bad(options: Options, expect: support.Expectations) -> None:
    """All errors at once, with their lines, and nothing changes."""
    with Office(options) as office:
        daemon = office.start(1)
        server = Server(office, 4)
        talks = [server.tcp(1), server.udp(2)]
        rules = {family: support.rules(office.gateways[1], family) for family in (4, 6)}
        digest = office.ask(1, "status")["placement_digest"]
        good = replace(office, 1, ("slice = 1", "slice = 99"), (f'outside = ["{OUTSIDE[4]}"]', 'outside = ["192.0.2.0/32"]'),
                       (f'clients = ["{CLIENTS[6]}"]', 'clients = ["fd00:1::/129"]'), ("[nat]\n", '[nat]\non_exhausted = "perhaps"\n'))
        before = len(daemon.log())
        daemon.begin_reload()
        wait_for("the file to be refused", lambda: "the running configuration stays" in daemon.log()[before:])
        said = daemon.log()[before:]
        keys = [r"node\.slice", r"networks\[0\]\.outside", r"networks\[1\]\.clients", r"nat\.on_exhausted"]
        missing = [key for key in keys if not re.search(rf"gateway1\.toml:\d+:{key}: ", said)]
        expect.that(not missing, f"every error is named with its line; missing: {missing}")
        expect.that({family: support.rules(office.gateways[1], family) for family in (4, 6)} == rules, "the rules are as they were")
        expect.that(office.ask(1, "status")["placement_digest"] == digest, "and so are the ranges")
        with open(f"{office.claim.directory}/gateway1.toml", "w", encoding="utf-8") as file:
            file.write(good)
        expect.none_of(turns(talks, from_client=True) + turns(talks, from_client=False), "sessions go on")
        old = office.ask(1, "counters")["counters"]["sessions.created"]
        server.tcp(2)
        expect.that(office.counter(1, "sessions.created") == int(old) + 1, "new ones are made as before")
        daemon.reload()
        expect.none_of(office.problems(), "no daemon failed")


# --- others' doings -----------------------------------------------------------------------------------------------------


def rules(options: Options, expect: support.Expectations) -> None:
    with Office(options) as office:
        office.start(1)
        server = Server(office, 6)
        talks = [server.tcp(1), server.udp(2)]
        gateway = office.gateways[1]
        before = {family: support.rules(gateway, family) for family in (4, 6)}
        office.begin_capture()
        for attack in (["iptables", "-t", "mangle", "-F"], ["ip6tables", "-t", "raw", "-F"], ["nft", "flush", "ruleset"]):
            gateway.run(*attack)
            support.rules_back(gateway, before)
            expect.none_of(turns(talks, from_client=True) + turns(talks, from_client=False), f"rules are back after {' '.join(attack)}, sessions go on")
        server.tcp(2)
        expect.that(True, "a new connection is made")
        office.end_capture()
        expect.none_of(office.leaks(), "no untranslated packet outside")
        expect.none_of(office.problems(), "no daemon failed")


def full_table(options: Options, expect: support.Expectations) -> None:
    """Degraded: sessions that are there go on, nothing new is begun, and that is counted."""
    with Office(options) as office:
        daemon = office.start(1)
        server = Server(office, 4)
        talks = [talk for client in office.clients for talk in (server.tcp(client), server.udp(client))]
        gateway = office.gateways[1]
        maximum, present = int(gateway.read(_MAXIMUM)), int(gateway.read(_COUNT))
        if maximum > 600_000:
            print(f"a table of {maximum} entries takes too long to fill")
            return
        office.begin_capture()
        fill_table(gateway, maximum - present - maximum // 32)
        wait_for("the daemon to see it", lambda: begins_nothing(office), every=0.2)
        refused = office.counter(1, "drops.refused")
        attempt = sockets.tcp(office.clients[1])
        attempt.setblocking(False)
        attempt.connect_ex((SERVER[4], TCP_PORT))
        office.wait_counter(1, "drops.refused", refused)
        expect.none_of(turns(talks, from_client=True) + turns(talks, from_client=False), "a full table: what is there goes on, what is new is refused and counted")
        expect.that(daemon.running, "the daemon lives")
        gateway.run("conntrack", "-D", "-d", "100.127.0.1", check=False)
        server.listener.settimeout(support.PATIENCE)
        server.listener.accept()
        expect.that(True, "when there is room again the connection succeeds")
        office.end_capture()
        expect.none_of(office.leaks(), "no untranslated packet outside")
        expect.none_of(office.problems(), "no daemon failed")


def begins_nothing(office: Office) -> bool:
    """Whether a datagram that would begin a session has been refused; the daemon looks once a second how full the table is."""
    sockets.udp(office.clients[2]).sendto(b"question", (SERVER[4], 9))
    return office.counter(1, "drops.refused") > 0


def privileges(options: Options, expect: support.Expectations) -> None:
    """Without the capabilities it needs it ends at once, in one line that says which, and leaves no rule behind."""
    with Office(options) as office:
        path = office.configuration(1)
        argv = office.gateways[1].command("capsh", "--drop=cap_net_admin", "--", "-c", f"exec '{office.program('asrpd-node')}' --config '{path}'")
        done = subprocess.run(argv, capture_output=True, text=True, timeout=support.PATIENCE, check=False)
        lines = done.stderr.splitlines()
        expect.that(done.returncode == 1 and len(lines) == 1 and "CAP_NET_ADMIN" in done.stderr, f"it says what it lacks: {lines}")
        expect.that(all("ASRP" not in support.rules(office.gateways[1], family) for family in (4, 6)), "no rule is left")


# --- ranges that move ---------------------------------------------------------------------------------------------------


def moved(options: Options, expect: support.Expectations) -> None:
    with Office(options, gateways=2) as office:
        for number in office.gateways:
            office.start(number)
        office.start_holder(1)
        office.begin_capture()
        server = Server(office, 4)
        held = [server.tcp(1), server.udp(1), server.tcp(1), server.udp(1)]
        office.wait_backups(1, len(held))
        bare = server.tcp(2)
        digest = office.ask(1, "status")["placement_digest"]
        old = port_of(held[0])
        since = time.time()
        move(office)
        expect.none_of(turns([*held, bare], from_client=True) + turns([*held, bare], from_client=False), "ranges move: sessions go on")
        new = server.tcp(1)
        expect.that(port_of(new) in range(8192 + 1024, 8192 + 2048), f"a new one is in today's range: {port_of(new)}")
        expect.that(port_of(server.tcp(2)) in range(8192 + 2048, 8192 + 3072), "the other client's, too")
        office.wait_backups(1, len(held) + 1)
        expect.that(office.ask(1, "status")["former_ranges"] == 1 and office.ask(1, "status")["placement_digest"] != digest,
                    "status says that there are former ranges; the digest is of today's")
        answer = office.ask(1, "nat_lookup", address="192.0.2.0", port=old)
        was = answer.get("former", [])
        expect.that([each["client"] for each in was] == [client_address(1, 4)] and abs(was[0]["ended"] / 1000 - since) < support.PATIENCE,
                    f"whose a former port was is known, with the time: {answer}")

        office.kill(1)
        office.out_by(2)
        office.back_by(2)
        expect.none_of(turns(held[:2], from_client=False), "the other gateway recovers sessions of former ranges, from the server's packets")
        expect.none_of(turns(held[2:], from_client=True), "and from the client's")
        expect.none_of(turns([new], from_client=False), "as it does those of today's")

        office.daemons[2].stop()
        office.gateways[2].flush_sessions()
        office.daemons[2].start()
        expect.that(office.ask(2, "status")["former_ranges"] == 1, "they are known after a restart")
        expect.none_of(turns(held[:2], from_client=True) + turns(held[2:], from_client=False), "and sessions are recovered again")

        office.daemons[2].stop()  # a start is as good as a reload
        office.configuration(2, networks='ports = "16384-65535"\nports_per_client = 512\n')
        office.daemons[2].start()
        office.gateways[2].flush_sessions()
        expect.that(office.ask(2, "status")["former_ranges"] == 2, "a start with another configuration remembers the one before")
        expect.none_of(turns([*held, new], from_client=True), "sessions of both are recovered")
        office.end_capture()
        expect.none_of(office.leaks(), "no untranslated packet, and no ASRP, outside")
        expect.none_of(office.problems(), "no daemon failed")


def removed(options: Options, expect: support.Expectations) -> None:
    """Client 1 is none any more: its connection goes on, its datagrams end. Former ranges that nobody needs are forgotten."""
    with Office(options) as office:
        daemon = office.start(1, nat='keep_ranges = "0s"\n')
        server = Server(office, 4)
        connection, datagrams, other = server.tcp(1), server.udp(1), server.udp(2)
        replace(office, 1, (f'clients = ["{CLIENTS[4]}"]', 'clients = ["10.1.0.2"]'))
        daemon.reload()
        office.wait_counter(1, "conntrack.orphaned", 0)
        expect.none_of(turns([connection], from_client=True) + turns([connection], from_client=False), "its connection goes on")
        entries = office.gateways[1].run("conntrack", "-L", "-p", "udp")
        expect.that(f"src={client_address(1, 4)} " not in entries, "its UDP entry is gone")
        expect.that(office.ask(1, "status")["former_ranges"] == 1, "the former ranges are kept while there is a session of them")
        expect.that(datagrams.outside is not None and other.outside is not None, "the other client's datagrams went elsewhere")
        connection.abort()
        office.gateways[1].flush_sessions()
        daemon.reload()
        wait_for("the former ranges to be forgotten", lambda: office.ask(1, "status")["former_ranges"] == 0)
        wait_for("their rules, too", lambda: f"-s {client_address(1, 4)}/" not in support.rules(office.gateways[1], 4)
                 and "-s 10.1.0.0/24" not in support.rules(office.gateways[1], 4))
        expect.that(os.path.exists(f"{office.claim.directory}/state1/ranges.json"), "the state is written")
        expect.none_of(office.problems(), "no daemon failed")


if __name__ == "__main__":
    support.main({
        "bars": bars,
        "bad": bad,
        "rules": rules,
        "full-table": full_table,
        "moved": moved,
        "removed": removed,
        "privileges": privileges,
    })
