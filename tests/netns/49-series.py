# SPDX-License-Identifier: BSD-3-Clause
# limit: 120
# cases: both-die holder-restarts
"""Gateways in ACT mode and load balancers in PSV mode in series. One host is a client behind the gateways and the backend of the
balancers, also of its own sessions: what the gateway makes of these is what the balancer gets (decision 21). One holder keeps both
kinds of backups.

    host -- inner -- gateway1, gateway2 -- outer -- server
      |                                      |
      +----------- balancer1, balancer2 -- front         198.18.0.1: the balancers' service
"""

from __future__ import annotations

import socket

import support
from lab.daemon import Daemon
from lab.waiting import wait_for
from office import SERVER, Office, client_address
from scenarios.base import Options
from talks import TCP_PORT, Server, Talk, made, turns

_SERVICE = "198.18.0.1"
_LOCAL_PORT = 8080
_FULL_NAT = "10.1.2.1"
_EACH = 4


class Series(Office):
    """Made when entered. The host is client 1."""

    def __init__(self, options: Options) -> None:
        super().__init__(options, clients=1, gateways=2)
        self.host = self.clients[1]
        self.front = self.claim.namespace("front")
        self.balancers = {number: self.claim.namespace(f"balancer{number}") for number in (1, 2)}

    def _build(self) -> None:
        super()._build()
        for space in (self.front, *self.balancers.values()):
            space.create()
            space.sysctl({"net.ipv4.ip_forward": 1, "net.ipv4.conf.all.rp_filter": 0, "net.ipv4.conf.default.rp_filter": 0})
        self.outer.ip(f"link add name front type veth peer name outer netns {self.front.name}", "addr add 10.98.0.1/30 dev front",
                      "link set front up", f"route add {_SERVICE}/32 via 10.98.0.2")
        self.front.ip("addr add 10.98.0.2/30 dev outer", "link set outer up", "route add default via 10.98.0.1")
        for number, space in self.balancers.items():
            self.front.ip(f"link add name balancer{number} type veth peer name front netns {space.name}",
                          f"addr add 10.99.{number}.1/24 dev balancer{number}", f"link set balancer{number} up")
            self.inner.ip(f"link add name balancer{number} type veth peer name inside netns {space.name}",
                          f"link set balancer{number} master br0 up")
            space.ip(f"addr add 10.99.{number}.2/24 dev front", "link set front up", f"addr add {self.balancer(number)}/24 dev inside",
                     "link set inside up", f"route add default via 10.99.{number}.1")
        self.balance_by(1)

    @staticmethod
    def balancer(number: int) -> str:
        return f"10.1.0.{240 + number}"

    def balance_by(self, number: int) -> None:
        self.front.ip(f"route replace {_SERVICE}/32 via 10.99.{number}.2")
        self.host.ip(f"route replace {_FULL_NAT}/32 via {self.balancer(number)}")

    def begin(self) -> None:
        for number in self.gateways:
            self.start(number)
        for number, space in self.balancers.items():
            self.daemons[10 + number] = Daemon(f"balancer{number}", space, [self.program("asrpd-node"), "--config",
                                                                            self._balancer_file(number)], self.claim.directory)
            self.daemons[10 + number].start()
        services = "".join(f'[[services]]\nprotocol = "{protocol}"\nport = {_LOCAL_PORT}\n' for protocol in ("tcp", "udp"))
        self.start_holder(1, more=services, nodes="10.1.0.240/28")

    def _balancer_file(self, number: int) -> str:
        text = (f'[node]\nlocal_ips = ["{self.balancer(number)}"]\nstate_dir = "{self.claim.directory}/balancer{number}"\n'
                f'control_socket = "{self.socket(10 + number)}"\n'
                '[keys]\nplacement_key = "000102030405060708090a0b0c0d0e0f"\n'
                'cookie_keys = [{ key = "101112131415161718191a1b1c1d1e1f", use = "sign" }]\n'
                f'[[pools]]\nname = "host"\n[[pools.servers]]\nid = "host"\naddress = "{client_address(1, 4)}:{_LOCAL_PORT}"\n')
        for protocol in ("tcp", "udp"):
            text += (f'[[services]]\nname = "{protocol}"\naddress = "{_SERVICE}:{TCP_PORT}"\nprotocol = "{protocol}"\n'
                     f'forward = "full-nat"\npool = "host"\n[services.full_nat]\naddresses = ["{_FULL_NAT}"]\nports = "10000-40000"\n')
        path = f"{self.claim.directory}/balancer{number}.toml"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def kill_first_of_both(self) -> None:
        self.kill(1)
        self.daemons[11].kill()
        self.balancers[1].ip("link set front down", "link set inside down")
        self.balancers[1].flush_sessions()
        self.out_by(2)
        self.back_by(2)
        self.balance_by(2)

    def books(self) -> tuple[int, int]:
        """Backups as a server, and as a client."""
        gauges = self.ask_holder(1, "status")["gauges"]
        return gauges["backups"] - gauges["act_backups"], gauges["act_backups"]


class Served:
    """The host's application behind the balancers."""

    def __init__(self, series: Series) -> None:
        self.series = series
        self._listener = made(series.host, 4, socket.SOCK_STREAM, _LOCAL_PORT)
        self._listener.listen(64)
        self._datagrams = made(series.host, 4, socket.SOCK_DGRAM, _LOCAL_PORT)

    def tcp(self, name: str, near: socket.socket) -> Talk:
        near.connect((_SERVICE, TCP_PORT))
        far, _ = self._listener.accept()
        far.settimeout(support.PATIENCE)
        return Talk(f"{name}, port {near.getsockname()[1]}", near, far, "tcp", (_SERVICE, TCP_PORT))

    def udp(self, name: str, near: socket.socket) -> Talk:
        """All share the application's socket, so that they have to take turns one after the other."""
        near.connect((_SERVICE, TCP_PORT))
        return Talk(f"{name}, port {near.getsockname()[1]}", near, self._datagrams, "udp", (_SERVICE, TCP_PORT))


def begun(series: Series, expect: support.Expectations) -> tuple[list[Talk], list[Talk]]:
    """Sessions that go through gateways, balancers, or both: those that can speak at once, and those that share a socket."""
    series.begin()
    server, served = Server(series, 4), Served(series)
    talks = [server.tcp(1) for _ in range(_EACH)] + [server.udp(1) for _ in range(_EACH)]
    shared = []
    for name, space in (("of the server outside", series.server), ("of the host with itself", series.host)):
        talks += [served.tcp(name, made(space, 4, socket.SOCK_STREAM)) for _ in range(_EACH)]
        shared += [served.udp(name, made(space, 4, socket.SOCK_DGRAM)) for _ in range(_EACH)]
    wanted = (4 * _EACH, 4 * _EACH)
    wait_for(f"{wanted} backups", lambda: series.books() == wanted)
    expect.that(True, f"{wanted[0]} backups as a server and {wanted[1]} as a client, {2 * _EACH} sessions in both books")
    return talks, shared


def one_by_one(talks: list[Talk], from_client: bool) -> list[str]:
    return list(filter(None, (talk.turn(from_client) for talk in talks)))


def both_die(options: Options, expect: support.Expectations) -> None:
    with Series(options) as series:
        talks, shared = begun(series, expect)
        series.kill_first_of_both()
        for first, then in ((talks[::2], talks[1::2]), (talks[1::2], talks[::2])):
            expect.none_of(turns(first, from_client=True) + turns(then, from_client=False), "a gateway and a balancer are gone, all goes on")
        expect.none_of(one_by_one(shared, True) + one_by_one(shared, False), "so do datagrams")
        counters = series.ask_holder(1, "counters")["counters"]
        refused = sum(counters[f"conflicts.{why}"] for why in ("client_side", "server_side", "unknown_session"))
        expect.that(refused == 0, "no session stood in another one's way")
        expect.that(series.books() == (4 * _EACH, 4 * _EACH), f"the books are as before: {series.books()}")
        expect.none_of(series.problems(), "no daemon failed")


def holder_restarts(options: Options, expect: support.Expectations) -> None:
    """SIGKILL and a start: both books are there."""
    with Series(options) as series:
        talks, shared = begun(series, expect)
        series.holders[1].kill()
        expect.none_of(turns(talks, from_client=True) + turns(talks, from_client=False), "without a holder all goes on")
        series.start_holder(1)
        expect.that(series.books() == (4 * _EACH, 4 * _EACH), f"the books are as before: {series.books()}")
        series.kill_first_of_both()
        expect.none_of(turns(talks, from_client=False) + one_by_one(shared, True), "each session goes on elsewhere")
        expect.none_of(series.problems(), "no daemon failed")


if __name__ == "__main__":
    support.main({"both-die": both_die, "holder-restarts": holder_restarts})
