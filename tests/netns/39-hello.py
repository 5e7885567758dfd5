# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: plain fast-open gateway killed roaming both real-node
"""asrpd-holder on a client in ACT mode (decision 23): behind a router with plain kernel SNAT its HS must cost next to nothing and never
an octet of a stream; behind a gateway that answers them its sessions get backups, which survive the daemon. The gateway is a program
of this test: it drops what carries a message and answers HS with NS. At last with a real one."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from typing import Optional

import support
from lab.claim import Claim
from lab.cluster import ask
from lab.daemon import Daemon
from lab.message import Message, decode
from lab.netns import Namespace
from lab.packet import ACK, SYN, Packet, parse
from lab.waiting import wait_for
from office import Office, client_address
from scenarios.base import Options
from talks import Server, Talk

_SERVER = "192.0.2.80"
_PORT = 7000
_ASRP = 51200
_ETH_P_ALL = 3
_OUTGOING = 4
_SIZES = (1, 17, 500, 1400, 20000)
_FAST_OPEN = 34
# Network to its own side of the client, and its outside.
_NETWORKS = {"plain": ("10.70.1", "10.70.11"), "asrp": ("10.70.2", "10.70.12")}


class Sniffer(threading.Thread):
    """IP packets at a device, in their order: (leaves, octets)."""

    def __init__(self, space: Namespace, device: str) -> None:
        super().__init__(daemon=True)
        with space.entered():
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_ALL))
        self._socket.bind((device, _ETH_P_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 20)
        self._socket.settimeout(0.1)
        self._enough = threading.Event()
        self.packets: list[tuple[bool, bytes]] = []
        self.start()

    def run(self) -> None:
        while True:
            try:
                octets, where = self._socket.recvfrom(65536)
            except TimeoutError:
                if self._enough.is_set():
                    return
                continue
            self.packets.append((where[2] == _OUTGOING, octets))
            self.on_packet(where[2] == _OUTGOING, octets)

    def on_packet(self, leaves: bool, octets: bytes) -> None:
        """For those who answer."""

    def end(self) -> None:
        self._enough.set()
        self.join()
        self._socket.close()


def tuple_octets(src: str, sport: int, dst: str, dport: int) -> bytes:
    return socket.inet_aton(src) + socket.inet_aton(dst) + struct.pack("!HH", sport, dport)


def message_octets(number: int, layout: int, protocol: int, cookie: int, body: bytes) -> bytes:
    return struct.pack("!BBBBHBBI", 0, number, layout, 0, 12 + len(body), 0, protocol, cookie) + body


class Gateway(Sniffer):
    """Answers each HS with an NS (decision 24), but for sessions from `deaf` ports. The kernel keeps ports when it translates."""

    def __init__(self, space: Namespace, inside: str, outside: str) -> None:
        self.inside, self.outside = inside, outside
        self.deaf: set[int] = set()
        self.hellos: list[Packet] = []
        self.answers: dict[int, Message] = {}
        with space.entered():
            self._messages = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._messages.bind((inside, _ASRP))
        self._messages.settimeout(0.2)
        threading.Thread(target=self._receive, daemon=True).start()
        super().__init__(space, "toclient")

    def on_packet(self, leaves: bool, octets: bytes) -> None:
        packet = parse(octets)
        if leaves or packet is None or packet.message is None or packet.message.type != "HS":
            return
        self.hellos.append(packet)
        if packet.sport in self.deaf:
            return
        body = (tuple_octets(packet.src, packet.sport, packet.dst, packet.dport) +
                tuple_octets(self.outside, packet.sport, packet.dst, packet.dport) + socket.inet_aton(self.inside))
        answer = message_octets(0, 1, packet.protocol, packet.message.cookie, body)
        self._messages.sendto(answer, (packet.src, _ASRP))

    def _receive(self) -> None:
        while True:
            try:
                message = decode(self._messages.recv(65536))
            except TimeoutError:
                continue
            except OSError:
                return
            self.answers[message.cookie] = message

    def query(self, client: str, port: int, cookie: int) -> Optional[Message]:
        """What the client's holder answers to a QS for the tuple of a server's packet."""
        asked = tuple_octets(_SERVER, _PORT, self.outside, port)
        self._messages.sendto(message_octets(2, 5, socket.IPPROTO_TCP, cookie, asked), (client, _ASRP))
        return wait_for("the answer to a QS", lambda: self.answers.get(cookie))

    def end(self) -> None:
        super().end()
        self._messages.close()


def _echo(connection: socket.socket) -> None:
    """Returns all that it reads, so that an octet too many or too few is seen at the client."""
    while octets := connection.recv(65536):
        connection.sendall(octets)


class Lab:
    """A client with holder that is in one of two networks, a router of each, and a server that knows the outside only."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.claim = Claim()
        self.client = self.claim.namespace("client")
        self.server = self.claim.namespace("server")
        self.routers = {name: self.claim.namespace(name) for name in _NETWORKS}
        self.gateway: Optional[Gateway] = None
        self.sniffers: dict[str, Sniffer] = {}
        self.daemon: Optional[Daemon] = None

    def __enter__(self) -> "Lab":
        for space in (self.client, self.server, *self.routers.values()):
            space.create()
        for name, (inside, outside) in _NETWORKS.items():
            router = self.routers[name]
            self.client.ip(f"link add {name} type veth peer name toclient netns {router.name}",
                           f"addr add {inside}.2/24 dev {name}", f"link set {name} up")
            router.ip(f"link add toserver type veth peer name {name} netns {self.server.name}",
                      f"addr add {inside}.1/24 dev toclient", f"addr add {outside}.1/24 dev toserver", "link set toclient up",
                      "link set toserver up", f"route add {_SERVER}/32 via {outside}.2")
            self.server.ip(f"addr add {outside}.2/24 dev {name}", f"link set {name} up")
            router.sysctl({"net.ipv4.ip_forward": 1})
            router.run("iptables", "-t", "nat", "-A", "POSTROUTING", "-o", "toserver", "-j", "SNAT", "--to-source", f"{outside}.1")
            self.sniffers[name] = Sniffer(self.client, name)
        self.server.ip(f"addr add {_SERVER}/32 dev lo")
        self.routers["asrp"].run("iptables", "-t", "raw", "-A", "PREROUTING", "-p", "tcp", "--tcp-option", "253", "-j", "DROP")
        self.gateway = Gateway(self.routers["asrp"], f"{_NETWORKS['asrp'][0]}.1", f"{_NETWORKS['asrp'][1]}.1")
        support.fast_open_server(self.server, _PORT, _echo)
        return self

    def __exit__(self, *_: object) -> None:
        for sniffer in self.sniffers.values():
            sniffer.end()
        if self.gateway is not None:
            self.gateway.end()
        if self.daemon is not None and self.daemon.running:
            self.daemon.kill()
        for space in (self.client, self.server, *self.routers.values()):
            space.remove()
        self.claim.release()

    def move(self, name: str) -> None:
        """The client is in this network now."""
        self.client.ip(f"route replace default via {_NETWORKS[name][0]}.1 dev {name} src {_NETWORKS[name][0]}.2")

    def start(self) -> None:
        path = f"{self.claim.directory}/holder.toml"
        self.socket = f"{self.claim.directory}/holder.sock"
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'[holder]\nstate_dir = "{self.claim.directory}/state"\ncontrol_socket = "{self.socket}"\n'
                       f'reconcile_interval = "1s"\n'
                       f'[act]\nenabled = true\ngateways = ["{_NETWORKS["asrp"][0]}.0/24"]\n')
        name = "asrpd-holder"
        program = os.path.join(self.options.programs, name)
        program = os.path.join(program, name) if os.path.isdir(program) else program
        self.daemon = self.daemon or Daemon("holder", self.client, [program, "--config", path], self.claim.directory)
        self.daemon.start()

    def counter(self, name: str) -> int:
        return int(ask(self.socket, "counters")["counters"][name])

    def gauge(self, name: str) -> int:
        return int(ask(self.socket, "status")["gauges"][name])

    def open(self, fast: bytes = b"") -> socket.socket:
        with self.client.entered():
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if fast:  # without a cookie this waits for the handshake
            sent = connection.sendto(fast, socket.MSG_FASTOPEN, (_SERVER, _PORT))
            connection.settimeout(support.PATIENCE)
            connection.sendall(fast[sent:])
        else:
            connection.settimeout(support.PATIENCE)
            connection.connect((_SERVER, _PORT))
        return connection

    def left(self, name: str) -> list[tuple[Packet, bytes]]:
        """TCP packets that have left the client by a device."""
        out = []
        for leaves, octets in list(self.sniffers[name].packets):
            packet = parse(octets) if leaves else None
            if packet is not None and packet.protocol == socket.IPPROTO_TCP:
                out.append((packet, octets))
        return out


def content(number: int, size: int) -> bytes:
    return bytes((number * 31 + i * 7) % 251 for i in range(size))


def echoes(connection: socket.socket, octets: bytes, has_sent: bool = False) -> str:
    """What is wrong with what comes back, or nothing."""
    try:
        if not has_sent:
            connection.sendall(octets)
        back = b""
        while len(back) < len(octets):
            piece = connection.recv(65536)
            if not piece:
                return f"closed after {len(back)} of {len(octets)} octets"
            back += piece
    except OSError as error:
        return f"{type(error).__name__} {error}"
    return "" if back == octets else f"{len(octets)} octets came back as others"


def abort(connection: socket.socket) -> None:
    """Ends it with a reset, so that no TIME-WAIT is left."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def transfers(lab: Lab, count: int) -> list[str]:
    """Connections one after the other: what went wrong with any."""
    wrong = []
    for number in range(count):
        with lab.open() as connection:
            problem = echoes(connection, content(number, _SIZES[number % len(_SIZES)]))
            connection.shutdown(socket.SHUT_WR)
            if not problem and connection.recv(1):
                problem = "an octet too many"
        if problem:
            wrong.append(f"transfer {number}: {problem}")
    return wrong


def hellos(packets: list[tuple[Packet, bytes]]) -> list[Packet]:
    return [packet for packet, _ in packets if packet.message is not None and packet.message.type == "HS"]


def misplaced(packets: list[tuple[Packet, bytes]]) -> list[str]:
    """Messages that are in anything but a copy of a SYN behind it."""
    seen = set()
    wrong = []
    for packet, _ in packets:
        key = (packet.src, packet.sport, packet.seq)
        is_syn = packet.flags & (SYN | ACK) == SYN
        if packet.marked and (not is_syn or key not in seen):
            wrong.append(f"{packet.carriage} from port {packet.sport}, flags {packet.flags:#x}")
        elif is_syn and not packet.marked:
            seen.add(key)
    return wrong


def has_fast_open(octets: bytes) -> bool:
    start = 4 * (octets[0] & 15)
    options = octets[start + 20:start + 4 * (octets[start + 12] >> 4)]
    at = 0
    while at < len(options) and options[at] != 0:
        if options[at] == _FAST_OPEN:
            return True
        at += 1 if options[at] == 1 else max(2, options[at + 1])
    return False


def plain(lab: Lab, expect: support.Expectations) -> None:
    lab.move("plain")
    lab.start()
    for setting in (1, 3, 0x203):
        lab.server.sysctl({"net.ipv4.tcp_fastopen": setting})
        expect.none_of(transfers(lab, 100), f"tcp_fastopen {setting:#x}: 100 transfers both ways are exact")
    wait_for("the route to count as one without a gateway", lambda: lab.gauge("routes_absent") == 1)
    expect.none_of(transfers(lab, 20), "and 20 afterwards")
    packets = lab.left("plain")
    count = len(hellos(packets))
    expect.that(0 < count <= 8, f"{count} HS left in 320 connections")
    expect.that(lab.counter("messages.sent.HS") == count, "the daemon counts as many")
    expect.none_of(misplaced(packets), "each in a copy of a SYN behind it, and nothing else carries a message")
    expect.that(lab.gauge("act_backups") == 0, "there are no backups")


def fast_open(lab: Lab, expect: support.Expectations) -> None:
    lab.client.sysctl({"net.ipv4.tcp_fastopen": 1})
    lab.server.sysctl({"net.ipv4.tcp_fastopen": 3})
    for name in _NETWORKS:
        lab.client.ip("tcp_metrics flush")  # a cookie is for an address, and this network has another one outside
        lab.move(name)
        if lab.daemon is None:
            lab.start()
        wrong = []
        for number in range(20):
            octets = content(number, 700)
            with lab.open(octets) as connection:
                wrong.append(echoes(connection, octets, has_sent=True))
        expect.none_of(filter(None, wrong), f"{name}: 20 transfers with TCP Fast Open are exact")
        fast: set[tuple[int, int]] = set()

        def all_seen() -> bool:
            fast.update((p.sport, p.seq) for p, o in lab.left(name) if p.flags & (SYN | ACK) == SYN and has_fast_open(o))
            return len(fast) >= 20

        wait_for("the capture of all SYN", all_seen)
        packets = lab.left(name)
        early = sum(1 for p, o in packets if p.flags & (SYN | ACK) == SYN and p.data_length and not p.marked)
        expect.that(early > 0, f"{name}: {early} SYN of {len(fast)} bring data")
        greeted = [f"port {p.sport}" for p in hellos(packets) if (p.sport, p.seq) in fast]
        expect.none_of(greeted, f"{name}: no HS follows any of them")


def gateway(lab: Lab, expect: support.Expectations) -> None:
    assert lab.gateway is not None
    lab.move("asrp")
    lab.start()
    assert lab.daemon is not None
    kept = [lab.open() for _ in range(20)]
    wait_for("a backup of each session", lambda: lab.gauge("act_backups") == len(kept))
    expect.that(lab.gauge("routes_proven") == 1, "the route is proven")
    expect.none_of(misplaced(lab.left("asrp")), "all HS were copies of SYN")
    count = len(lab.gateway.hellos)
    expect.none_of(filter(None, [echoes(each, content(n, 3000)) for n, each in enumerate(kept)]), "the sessions are exact")
    expect.that(len(lab.gateway.hellos) == count, "a session with a backup sends no more HS")
    client = f"{_NETWORKS['asrp'][0]}.2"
    lab.daemon.kill()
    expect.none_of(filter(None, [echoes(each, content(n, 3000)) for n, each in enumerate(kept)]),
                   "without a daemon the sessions go on")
    lab.start()
    answers = [lab.gateway.query(client, each.getsockname()[1], n + 1) for n, each in enumerate(kept)]
    expect.that(all(a is not None and a.type == "RS" for a in answers), "after SIGKILL and a start each backup is there")
    closed, kept = kept[:10], kept[10:]
    for each in closed:
        abort(each)
    wait_for("the release of those that ended", lambda: lab.gauge("act_backups") == len(kept))
    for each in kept:
        abort(each)

    # A refused connection leaves nothing behind.
    with lab.client.entered():
        refused = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        refused.connect((_SERVER, _PORT + 1))
    except ConnectionRefusedError:
        pass
    refused.close()
    datagrams(lab, expect)
    wait_for("the end of all TCP backups", lambda: lab.gauge("act_backups") == 1)


def datagrams(lab: Lab, expect: support.Expectations) -> None:
    """A UDP flow has its HS in the option area, and the receiver reads what was sent."""
    before = lab.gauge("act_backups")
    with lab.server.entered():
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind((_SERVER, 7001))
    receiver.settimeout(support.PATIENCE)
    with lab.client.entered():
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect((_SERVER, 7001))
    got = []
    for number in range(5):
        sender.send(content(number, 100 + number))
        got.append(receiver.recv(65536) == content(number, 100 + number))
    expect.that(all(got), "the datagrams of a flow with HS are read as they were sent")
    wait_for("the backup of a UDP flow", lambda: lab.gauge("act_backups") > before - 1 and
             any(line["protocol"] == "udp" for line in ask(lab.socket, "backups")["lines"]))
    sender.close()
    receiver.close()


def killed(lab: Lab, expect: support.Expectations) -> None:
    lab.move("plain")
    lab.start()
    assert lab.daemon is not None
    opened = [lab.open() for _ in range(4)]
    lab.daemon.kill()
    expect.none_of(filter(None, [echoes(each, content(n, 20000)) for n, each in enumerate(opened)]),
                   "with the daemon gone the connections go on")
    count = len(hellos(lab.left("plain")))
    expect.none_of(transfers(lab, 20), "and new ones open")
    expect.that(len(hellos(lab.left("plain"))) == count, "without any HS")
    lab.start()
    expect.none_of(filter(None, [echoes(each, content(n, 20000)) for n, each in enumerate(opened)]),
                   "the next daemon does not touch them either")
    expect.none_of(misplaced(lab.left("plain")), "no segment in mid-stream had a message")


def roaming(lab: Lab, expect: support.Expectations) -> None:
    """Back and forth between both networks; sessions without a backup ask in mid-stream in the one, and never in the other."""
    assert lab.gateway is not None
    lab.move("asrp")
    lab.start()
    expect.none_of(transfers(lab, 20), "with a gateway: transfers are exact")
    wait_for("the proof of the route", lambda: lab.gauge("routes_proven") == 1)
    # A session that the gateway does not answer asks in mid-stream.
    with lab.client.entered():
        asking = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    asking.bind((f"{_NETWORKS['asrp'][0]}.2", 0))
    asking.settimeout(support.PATIENCE)
    port = asking.getsockname()[1]
    lab.gateway.deaf.add(port)
    asking.connect((_SERVER, _PORT))
    number = 0

    def asks() -> bool:
        nonlocal number
        number += 1
        if echoes(asking, content(number, 600)):
            return True
        return any(p.sport == port and not p.flags & SYN for p in lab.gateway.hellos)  # type: ignore[union-attr]

    wait_for("an HS in mid-stream", asks, every=0.3)
    expect.that(not echoes(asking, content(number, 5000)), "its stream is exact all the same")
    for name in ("plain", "asrp", "plain"):
        before = {each: len(lab.left(each)) for each in _NETWORKS}
        proofs = lab.counter("hello.route_proven")
        lab.move(name)
        # The session goes on at first by its old way's addresses: what leaves by the new one must carry nothing.
        if name == "plain":
            asking.settimeout(0.5)
            echoes(asking, content(1, 600))
        expect.none_of(transfers(lab, 30), f"moved to {name}: 30 transfers are exact")
        packets = lab.left(name)[before[name]:]
        if name == "plain":
            expect.that(len(hellos(packets)) <= 8, f"{len(hellos(packets))} HS in the plain network")
            expect.none_of(misplaced(packets), "all of them copies of SYN")
        else:
            expect.that(lab.counter("hello.route_proven") == proofs + 1, "the route was proven anew")
    asking.close()


def both(lab: Lab, expect: support.Expectations) -> None:
    """In both networks at once: which one a packet takes its source address decides. What is known of one says nothing of the other."""
    lab.client.ip("rule add from 10.70.1.2 table 7", "route add default via 10.70.1.1 dev plain table 7")
    lab.move("asrp")
    lab.start()
    expect.none_of(transfers(lab, 5), "with a gateway: transfers are exact")
    wait_for("the proof of the route", lambda: lab.gauge("routes_proven") == 1)
    opened = []
    for _ in range(10):
        with lab.client.entered():
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        connection.bind(("10.70.1.2", 0))
        connection.settimeout(support.PATIENCE)
        connection.connect((_SERVER, _PORT))
        opened.append(connection)
    time.sleep(1.1)  # between two HS of a session there is a second
    for number in range(3):
        expect.none_of(filter(None, [echoes(each, content(number, 900)) for each in opened]), "without one: the others' streams are exact, too")
    packets = lab.left("plain")
    expect.that(len({packet.sport for packet, _ in packets}) == len(opened), "these left by the plain network")
    expect.none_of(misplaced(packets), "and none had a message but in a copy of a SYN")


def shown(office: Office) -> list[dict[str, str]]:
    """What `asrpctl backups` shows of client 1."""
    text = office.clients[1].run(office.program("asrpctl"), "--json", "--socket", office.holder_socket(1), "backups")
    found = [json.loads(line) for line in text.splitlines()]
    return [line for line in found if line.get("mode") == "act"]


def real_node(options: Options, expect: support.Expectations) -> None:
    """HS behind the SYN, or in the datagram; NS from the gateway's own address with the same cookie; the backup, as shown."""
    with Office(options, clients=1) as office:
        office.start(1)
        office.start_holder(1)
        sniffer = Sniffer(office.clients[1], "eth0")
        talks: list[Talk] = []
        for family in (4, 6):
            server = Server(office, family)
            talks += [server.tcp(1), server.udp(1)]
            office.wait_backups(1, len(talks))
        backups = shown(office)
        for talk in talks:
            assert talk.outside is not None
            own = endpoint((client_address(1, 6 if ":" in talk.address[0] else 4), talk.client.getsockname()[1]))
            outside = endpoint(talk.outside)
            line = next((each for each in backups if each["client"] == own and each["protocol"] == talk.protocol), {})
            expect.that(line.get("source") == outside and line.get("address") == endpoint(talk.address),
                        f"{talk.name}: asrpctl shows {line.get('client')} as {line.get('source')}, the server sees {outside}")
        packets = [(leaves, found) for leaves, octets in sniffer.packets if (found := parse(octets)) is not None]
        sniffer.end()
        sent = [packet for leaves, packet in packets if leaves and packet.message is not None and packet.message.type == "HS"]
        told = [packet for leaves, packet in packets if not leaves and packet.message is not None and packet.message.type == "NS"]
        kinds = sorted({(str(p.carriage), p.sport, p.message.cookie) for p in sent if p.message is not None})  # a SYN may be repeated
        expect.that([kind for kind, _, _ in kinds] == ["inline-tcp"] * 2 + ["inline-udp"] * 2, f"one HS a session: {kinds}")
        answers = {p.message.cookie for p in told if p.message is not None}
        expect.that(answers == {cookie for _, _, cookie in kinds}, "each is answered with its own cookie")
        expect.that({p.src for p in told} == {"10.8.1.2", "fd08:1::2"} and {p.dst for p in told} == {client_address(1, 4), client_address(1, 6)},
                    "by the gateway's own addresses")
        before = len(sent)
        expect.none_of(filter(None, (talk.turn(from_client=True) for talk in talks * 3)), "the sessions go on")
        expect.that(int(office.ask_holder(1, "counters")["counters"]["messages.sent.HS"]) == before, "and ask no more")
        expect.none_of(office.problems(), "no daemon failed")


def endpoint(place: tuple[str, int]) -> str:
    return f"[{place[0]}]:{place[1]}" if ":" in place[0] else f"{place[0]}:{place[1]}"


def case(play: "support.Callable[[Lab, support.Expectations], None]") -> support.Case:
    def run(options: Options, expect: support.Expectations) -> None:
        with Lab(options) as lab:
            play(lab, expect)
            assert lab.daemon is not None
            expect.that(lab.daemon.stop() == 0, f"the daemon ends when asked to: {lab.daemon.tail(2)}")
            expect.none_of([line for line in lab.daemon.log().splitlines() if "ERROR" in line or "Sanitizer" in line],
                           "it has logged no error")
    return run


if __name__ == "__main__":
    support.main({"plain": case(plain), "fast-open": case(fast_open), "gateway": case(gateway), "killed": case(killed),
                  "roaming": case(roaming), "both": case(both), "real-node": real_node})
