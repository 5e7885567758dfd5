# SPDX-License-Identifier: BSD-3-Clause
"""An office behind gateways: clients, a router on their side (inner), gateways in ACT mode, a router outside (outer), a server.

    client1, client2, ... -- inner -- gateway1, gateway2, ... -- outer -- server

Clients are 10.1.0.N and fd00:1::N, outside addresses 192.0.2.0/28 and 2001:db8:ff::/124, the server 203.0.113.1 and
2001:db8:2::1. What a capture at outer shows is what the world sees."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from types import TracebackType
from typing import Any, Iterator, Optional

from lab.capture import Record, read_pcap, record_of
from lab.claim import Claim
from lab.cluster import ask, find_program
from lab.daemon import Daemon
from lab.netns import Namespace
from lab.plan import ASRP_PORT
from lab.waiting import wait_for
from scenarios.base import Options

CLIENTS = {4: "10.1.0.0/24", 6: "fd00:1::/120"}
_GATEWAYS = ("10.8.0.0/16", "fd08::/16")  # their addresses towards the clients
OUTSIDE = {4: "192.0.2.0/28", 6: "2001:db8:ff::/124"}
SERVER = {4: "203.0.113.1", 6: "2001:db8:2::1"}
_FAMILIES = (4, 6)
_ROUTER = {
    "net.ipv4.ip_forward": 1,
    "net.ipv6.conf.all.forwarding": 1,
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
    "net.ipv4.conf.all.send_redirects": 0,
    "net.ipv4.conf.default.send_redirects": 0,
}


def client_address(number: int, family: int) -> str:
    return f"10.1.0.{number}" if family == 4 else f"fd00:1::{number:x}"


def _inner_link(gateway: int, family: int) -> tuple[str, str, int]:
    """Addresses of inner and of the gateway, and the prefix length."""
    if family == 4:
        return f"10.8.{gateway}.1", f"10.8.{gateway}.2", 30
    return f"fd08:{gateway}::1", f"fd08:{gateway}::2", 64


def _outer_link(gateway: int, family: int) -> tuple[str, str, int]:
    if family == 4:
        return f"198.51.100.{4 * gateway + 1}", f"198.51.100.{4 * gateway + 2}", 30
    return f"2001:db8:9:{gateway}::1", f"2001:db8:9:{gateway}::2", 64


class Office:
    """Made when entered, gone when left. Packets go out by gateway 1 and come back by it until out_by() or back_by()."""

    def __init__(self, options: Options, clients: int = 2, gateways: int = 1, outside: Optional[dict[int, str]] = None) -> None:
        self.options = options
        self.outside = outside or OUTSIDE
        self.claim = Claim()
        self.inner = self.claim.namespace("inner")
        self.outer = self.claim.namespace("outer")
        self.server = self.claim.namespace("server")
        self.clients = {n: self.claim.namespace(f"client{n}") for n in range(1, clients + 1)}
        self.gateways = {n: self.claim.namespace(f"gateway{n}") for n in range(1, gateways + 1)}
        self.daemons: dict[int, Daemon] = {}
        self.holders: dict[int, Daemon] = {}
        self.links: dict[int, str] = {}  # of outer: interface index -> gateway1, server
        self._capture: Optional[subprocess.Popen[str]] = None

    def __enter__(self) -> "Office":
        try:
            self._build()
        except BaseException:
            self.claim.release()
            raise
        return self

    def __exit__(self, _kind: Optional[type[BaseException]], _error: Optional[BaseException], _trace: Optional[TracebackType]) -> None:
        for daemon in (*self.daemons.values(), *self.holders.values()):
            if daemon.running:
                daemon.kill()
        self.claim.release()

    # --- the network ------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        for space in (self.inner, self.outer, *self.gateways.values()):
            space.create()
            space.sysctl(_ROUTER)
        for space in (self.server, *self.clients.values()):
            space.create()
        self.inner.ip("link add br0 type bridge", "addr add 10.1.0.254/24 dev br0", "addr add fd00:1::fe/120 dev br0 nodad",
                      "link set br0 up")
        for number, client in self.clients.items():
            self.inner.ip(f"link add name client{number} type veth peer name eth0 netns {client.name}",
                          f"link set client{number} master br0 up")
            client.ip(f"addr add {client_address(number, 4)}/24 dev eth0", f"addr add {client_address(number, 6)}/120 dev eth0 nodad",
                      "link set eth0 up", "route add default via 10.1.0.254", "route add default via fd00:1::fe")
            _plain(self.inner, f"client{number}", client, "eth0")
        self.outer.ip(f"link add name server type veth peer name eth0 netns {self.server.name}", "addr add 203.0.113.254/24 dev server",
                      "addr add 2001:db8:2::fe/64 dev server nodad", "link set server up")
        self.server.ip(f"addr add {SERVER[4]}/24 dev eth0", f"addr add {SERVER[6]}/64 dev eth0 nodad", "link set eth0 up",
                       "route add default via 203.0.113.254", "route add default via 2001:db8:2::fe")
        _plain(self.outer, "server", self.server, "eth0")
        self.links[self.outer.interface_index("server")] = "server"
        for number, gateway in self.gateways.items():
            self._add_gateway(number, gateway)
        self.out_by(1)
        self.back_by(1)

    def _add_gateway(self, number: int, gateway: Namespace) -> None:
        for router, link, device, addresses in ((self.inner, f"gateway{number}", "inside", _inner_link),
                                                (self.outer, f"gateway{number}", "outside", _outer_link)):
            router.ip(f"link add name {link} type veth peer name {device} netns {gateway.name}")
            for family in _FAMILIES:
                theirs, ours, length = addresses(number, family)
                nodad = " nodad" if family == 6 else ""
                router.ip(f"addr add {theirs}/{length} dev {link}{nodad}")
                gateway.ip(f"addr add {ours}/{length} dev {device}{nodad}")
            router.ip(f"link set {link} up")
            gateway.ip(f"link set {device} up")
            _plain(router, link, gateway, device)
        self.links[self.outer.interface_index(f"gateway{number}")] = f"gateway{number}"
        for family in _FAMILIES:
            # The last one is for a gateway whose link to the office is down, which would send what is for clients back by its default
            # route.
            gateway.ip(f"route add default via {_outer_link(number, family)[0]}",
                       f"route add {CLIENTS[family]} via {_inner_link(number, family)[0]}",
                       f"route add blackhole {CLIENTS[family]} metric 9999", family=family)

    def out_by(self, number: int) -> None:
        """The clients' packets go out by this gateway."""
        for family in _FAMILIES:
            self.inner.ip(f"route replace default via {_inner_link(number, family)[1]}", family=family)

    def back_by(self, number: int) -> None:
        """What is for outside addresses comes in by this gateway."""
        for family in _FAMILIES:
            self.outer.ip(f"route replace {self.outside[family]} via {_outer_link(number, family)[1]}", family=family)

    # --- daemons ----------------------------------------------------------------------------------------------------

    def program(self, name: str) -> str:
        return find_program(self.options.programs, name)

    def configuration(self, number: int, nat: str = "", networks: str = "", slice_number: int = 0) -> str:
        """`nat` and `networks` are more lines of [nat] and of both [[networks]]. The slice is the gateway's number if none is given."""
        directory = self.claim.directory
        own = ", ".join(f'"{_inner_link(number, family)[1]}"' for family in _FAMILIES)
        text = (f'[node]\nlocal_ips = [{own}]\nslice = {slice_number or number}\nstate_dir = "{directory}/state{number}"\n'
                f'control_socket = "{self.socket(number)}"\n'
                '[keys]\nplacement_key = "000102030405060708090a0b0c0d0e0f"\n'
                'cookie_keys = [{ key = "101112131415161718191a1b1c1d1e1f", use = "sign" }]\n'
                f'[nat]\n{nat}')
        for family in _FAMILIES:
            text += f'[[networks]]\nname = "v{family}"\nclients = ["{CLIENTS[family]}"]\noutside = ["{self.outside[family]}"]\n{networks}'
        path = f"{directory}/gateway{number}.toml"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def socket(self, number: int) -> str:
        return f"{self.claim.directory}/gateway{number}.sock"

    def start(self, number: int, nat: str = "", networks: str = "", slice_number: int = 0) -> Daemon:
        path = self.configuration(number, nat, networks, slice_number)
        daemon = Daemon(f"gateway{number}", self.gateways[number], [self.program("asrpd-node"), "--config", path], self.claim.directory)
        daemon.start()
        self.daemons[number] = daemon
        return daemon

    def kill(self, number: int) -> None:
        """The gateway is gone, with its links, its daemon and its table; packets still go its way."""
        gateway = self.gateways[number]
        gateway.ip("link set inside down", "link set outside down")
        self.daemons[number].kill()
        gateway.flush_sessions()

    def ask(self, number: int, command: str, **arguments: Any) -> dict[str, Any]:
        """One request to a gateway's control socket."""
        return ask(self.socket(number), command, **arguments)

    def holder_socket(self, client: int) -> str:
        return f"{self.claim.directory}/holder{client}.sock"

    def start_holder(self, client: int, more: str = "", nodes: str = "") -> Daemon:
        """`more` are lines behind those of [act]. With `nodes` it is a server's holder, too. Starts it again if it has run before."""
        if client not in self.holders:
            directory = self.claim.directory
            path = f"{directory}/holder{client}.toml"
            gateways = ", ".join(f'"{prefix}"' for prefix in _GATEWAYS)
            quoted_nodes = f'"{nodes}"' if nodes else ""
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'[holder]\nstate_dir = "{directory}/holder{client}"\ncontrol_socket = "{self.holder_socket(client)}"\n'
                           f'reconcile_interval = "1s"\nnodes = [{quoted_nodes}]\n[act]\nenabled = true\ngateways = [{gateways}]\n{more}')
            self.holders[client] = Daemon(f"holder{client}", self.clients[client],
                                          [self.program("asrpd-holder"), "--config", path], directory)
        self.holders[client].start()
        return self.holders[client]

    def ask_holder(self, client: int, command: str, **arguments: Any) -> dict[str, Any]:
        return ask(self.holder_socket(client), command, **arguments)

    def backups(self, client: int) -> int:
        """Of sessions in which it is the client."""
        return int(self.ask_holder(client, "status")["gauges"]["act_backups"])

    def wait_backups(self, client: int, count: int) -> None:
        wait_for(f"{count} backups of client {client}", lambda: self.backups(client) == count)

    def counter(self, number: int, name: str) -> int:
        return int(self.ask(number, "counters")["counters"][name])

    def wait_counter(self, number: int, name: str, above: int) -> int:
        """Waits until it is more than `above`."""
        return wait_for(f"{name} above {above}", lambda: value if (value := self.counter(number, name)) > above else None)

    def problems(self) -> list[str]:
        """Daemons that ended by themselves, or not as they were told."""
        wrong = []
        for daemon in (*self.daemons.values(), *self.holders.values()):
            if daemon.running and daemon.stop() != 0:
                wrong.append(f"{daemon.name}: SIGTERM did not end it with status 0: {daemon.tail(5)}")
            elif daemon.process is not None and daemon.process.returncode not in (0, -signal.SIGKILL):
                wrong.append(f"{daemon.name} ended with status {daemon.process.returncode}: {daemon.tail(5)}")
        return wrong

    # --- what the world sees ----------------------------------------------------------------------------------------

    @property
    def _capture_path(self) -> str:
        return os.path.join(self.claim.directory, "outer.pcap")

    def begin_capture(self) -> None:
        argv = ["tcpdump", "-i", "any", "-y", "LINUX_SLL2", "-n", "-B", "65536", "-s", "2048", "-Z", "root", "--nano", "--immediate-mode",
                "-U", "-w", self._capture_path, "ip or ip6"]
        with open(self._capture_path + ".log", "w", encoding="utf-8") as log:
            self._capture = self.outer.start(*argv, stdout=log, stderr=log, text=True)
        wait_for("tcpdump at outer", lambda: "listening on" in self._capture_log())

    def end_capture(self) -> None:
        """Everything that was sent before is in the file."""
        assert self._capture is not None
        mark = os.urandom(16)
        with self.outer.entered():
            sender = _udp_socket()
        with sender:
            sender.sendto(mark, (SERVER[4], 9))

        def written() -> bool:
            with open(self._capture_path, "rb") as file:
                file.seek(max(0, os.path.getsize(self._capture_path) - 65536))
                return mark in file.read()

        wait_for("the capture at outer to be complete", written, limit=60)
        self._capture.send_signal(signal.SIGINT)
        self._capture.wait(timeout=30)

    def octets(self) -> Iterator[tuple[str, bool, bytes]]:
        """Of each packet the link (gateway1, server), whether it came in by it, and its octets from the IP header on."""
        with open(self._capture_path, "rb") as file:
            for _, octets in read_pcap(file):
                link = self.links.get(int.from_bytes(octets[4:8], "big"))
                if link is not None:
                    yield link, octets[10] != 4, octets[20:]

    def records(self) -> Iterator[Record]:
        """TCP and UDP packets of the capture."""
        with open(self._capture_path, "rb") as file:
            for when, octets in read_pcap(file):
                record = record_of(when, octets, "outer", self.links)
                if record is not None:
                    yield record

    def leaks(self, links: str = "") -> list[str]:
        """Packets outside with a client's address, whatever their protocol, and ASRP in any form; only at links whose names begin
        so. Nobody here sends a datagram with options of its own."""
        found = []
        for link, arriving, octets in self.octets():
            if not link.startswith(links):
                continue
            inner4 = octets[0] >> 4 == 4 and bytes([10, 1, 0]) in (octets[12:15], octets[16:19])
            if inner4 or (octets[0] >> 4 == 6 and bytes.fromhex("fd000001") in octets[8:40]):
                found.append(f"{link} {'in' if arriving else 'out'}: an inner address: {octets[:60].hex()}")
            if _has_surplus(octets):
                found.append(f"{link} {'in' if arriving else 'out'}: octets behind a datagram: {octets[:100].hex()}")
        for record in self.records():
            packet = record.packet
            is_asrp = packet.marked or ASRP_PORT in (packet.sport, packet.dport)
            if is_asrp and record.link.startswith(links):
                found.append(f"{record.link}: ASRP: {packet}")
        return found

    def _capture_log(self) -> str:
        with open(self._capture_path + ".log", encoding="utf-8") as file:
            return file.read()


def _has_surplus(octets: bytes) -> bool:
    """Whether more than a UDP datagram is in its IP packet (RFC 9868)."""
    if octets[0] >> 4 == 4:
        start, end, protocol = 4 * (octets[0] & 15), int.from_bytes(octets[2:4], "big"), octets[9]
        if int.from_bytes(octets[6:8], "big") & 0x3FFF:
            return False
    else:
        start, end, protocol = 40, 40 + int.from_bytes(octets[4:6], "big"), octets[6]
    return protocol == socket.IPPROTO_UDP and start + int.from_bytes(octets[start + 4:start + 6], "big") < end


def echo_request(space: Namespace, target: str, source: str = "") -> None:
    """Sends one ICMP echo request, and waits for nothing."""
    six = ":" in target
    with space.entered():
        raw = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMPV6 if six else socket.IPPROTO_ICMP)
    with raw:
        if source:
            raw.bind((source, 0))
        # 0xf7ff - 1 - 1: the checksum over type 8, identifier 1 and sequence number 1; that of ICMPv6 the kernel fills in.
        head = bytes([128, 0, 0, 0]) if six else bytes([8, 0, 0xF7, 0xFD])
        raw.sendto(head + bytes([0, 1, 0, 1]), (target, 0))


def _plain(one: Namespace, device: str, other: Namespace, peer: str) -> None:
    """What a capture shows is what goes over the wire."""
    for space, interface in ((one, device), (other, peer)):
        space.run("ethtool", "-K", interface, "tx", "off", "rx", "off", "gso", "off", "gro", "off", "tso", "off")


def _udp_socket() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
