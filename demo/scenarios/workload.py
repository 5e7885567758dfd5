# SPDX-License-Identifier: BSD-3-Clause
"""The load of most scenarios: rate-limited downloads from nginx, and connections that idle through it all and speak at the end."""

from __future__ import annotations

from lab import plan
from lab.balancer import Service
from lab.waiting import wait_for
from scenarios.base import Lab, Options, Result
from screen.show import Show
from traffic.echo import EchoClient, EchoServer
from traffic.web import Content, Downloads, start_nginx

TRANSFER_LIMIT = 150.0
_SPEAK_LIMIT = 90
_STALL_LIMIT = 90
_LOST_LIMIT = 12  # where sessions are expected to be lost


def services(options: Options, push: str = "auto") -> list[Service]:
    """What the load needs of the balancer."""
    return [Service("web", plan.HTTP_PORT, forward=options.forward, push=push),
            Service("shell", plan.ECHO_PORT, forward=options.forward, push=push)]


class Workload:
    """Begun once, finished once."""

    def __init__(self, lab: Lab, show: Show) -> None:
        self.lab = lab
        self.show = show
        self.options = lab.options
        expects_losses = self.options.control or self.options.kernel_nat
        self.stall = _LOST_LIMIT if expects_losses else _STALL_LIMIT
        self.speak = _LOST_LIMIT if expects_losses else _SPEAK_LIMIT
        self.alive = 0
        self.complaints: list[str] = []
        self._echo_servers: list[EchoServer] = []
        self._echo_clients: list[EchoClient] = []

    def serve(self) -> None:
        """nginx and the echo server on every server."""
        lab, options = self.lab, self.options
        self.content = Content(lab.directory, options.transfers, options.octets)
        for space in lab.topology.servers.values():
            start_nginx(space, lab.directory, options.rate)
            self._echo_servers.append(EchoServer(space, plan.ECHO_PORT))

    def begin(self) -> None:
        """Opens the connections and starts the downloads."""
        lab, options = self.lab, self.options
        addresses = lab.topology.shape.ground.targets(len(lab.topology.servers), options.family)
        for number, space in lab.topology.clients.items():
            self._echo_clients.append(EchoClient(space, addresses[number % len(addresses)], plan.ECHO_PORT, options.idle))
        for client in self._echo_clients:
            client.send(f"open {_SPEAK_LIMIT}")
        for client in self._echo_clients:
            opened = client.answer()
            if opened.broken:
                raise RuntimeError(f"connections could not be opened: {opened.broken}")
        self.downloads = Downloads(self.content, lab.topology.clients, addresses, TRANSFER_LIMIT, self.stall)
        self.show.say(f"{options.transfers} downloads of {options.octets} octets run, {self.idle} connections idle")

    @property
    def idle(self) -> int:
        return self.options.idle * len(self.lab.topology.clients)

    @property
    def total(self) -> int:
        return self.idle + len(self.downloads.transfers)

    def until(self, share: float, what: str) -> None:
        """Waits for `share` of all octets, and until nearly all downloads have begun."""

        def reached() -> bool:
            there = self.downloads.has_reached(share)
            self.show.progress = self.downloads.progress
            return there

        wait_for(what, reached, limit=TRANSFER_LIMIT, every=0.05)

    def finish(self) -> None:
        """The downloads end, and the idle connections speak: on the first client the clients begin, on the others the servers."""
        self.until(2.0, "the end of the downloads")
        self.show.say(f"downloads done: {self.downloads.exact()} of {len(self.downloads.transfers)} byte-exact")
        speaker, *listeners = self._echo_clients
        heard = [speaker.command(f"speak {self.speak}")]
        for server in self._echo_servers:
            server.tick()
        for client in self._echo_clients:
            client.send(f"listen {self.speak}")
        heard[0] = speaker.answer()
        for client in listeners:
            client.answer()
            heard.append(client.command(f"speak {self.speak}"))
        self.alive = sum(len(result.alive) for result in heard)
        for result in heard:
            self.complaints += [f"idle connection of port {port}: {why}" for port, why in result.broken.items()]
        self.show.say(f"idle connections spoke: {self.alive} of {self.idle} alive")

    def close(self) -> None:
        """The idle connections end."""
        for client in self._echo_clients:
            client.close()
        self._echo_clients = []

    def tally(self, result: Result) -> None:
        """What became of transfers and sessions."""
        exact, count = self.downloads.exact(), len(self.downloads.transfers)
        result.transfers = {"total": count, "byte_exact": exact}
        result.sessions = {"total": self.total, "survived": exact + self.alive}
        result.problems += self.complaints
        result.problems += [f"transfer {t.number}: curl status {t.status} after {t.ended - t.started:.1f} s, SHA-256 differs"
                            for t in self.downloads.transfers if not t.byte_exact]
