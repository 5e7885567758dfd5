# SPDX-License-Identifier: BSD-3-Clause
"""What an office does: downloads, ssh, iperf3 in both directions, connections that idle, and a game in which both sides speak. Some
sessions are such that only their server speaks at the moment that a gateway dies."""

from __future__ import annotations

import time

from lab import plan
from lab.netns import Namespace
from lab.waiting import Timeout, wait_for
from scenarios.base import Lab, Result
from screen.show import Show
from traffic.echo import EchoClient, EchoServer
from traffic.game import Players, start_game_server
from traffic.rates import CONNECTIONS, Rate
from traffic.shell import Shell, make_keys, start_sshd
from traffic.web import Content, Downloads, start_nginx

_LIMIT = 120.0
_LOST_LIMIT = 2.0  # where sessions are expected to be lost: a hundred times what a recovery takes
_LOST_STALL = 4  # the same of downloads
_INTERVAL = 0.05  # of the game, both ways
_PLAYERS = 2  # of each client; every second one is quiet when a gateway dies
_MORE = 10  # of the game's datagrams that must come, each way, to see that it goes on


class OfficeWork:
    """Begun once, watched through each event, ended once."""

    def __init__(self, lab: Lab, show: Show) -> None:
        self.lab = lab
        self.show = show
        self.options = lab.options
        self.limit = _LOST_LIMIT if self.options.control else _LIMIT
        self.patience = _LIMIT + 3 * self.options.octets / self.options.rate  # for a download, with whatever happens to it
        self.lost: dict[str, str] = {}  # session -> why
        self._echo_servers: list[EchoServer] = []
        self._echo: list[EchoClient] = []
        self._shells: dict[str, Shell] = {}
        self._rates: list[Rate] = []
        self._players: dict[int, Players] = {}

    # --- beginning --------------------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Everything that the sites offer."""
        lab, options = self.lab, self.options
        self.content = Content(lab.directory, options.transfers, options.octets)
        make_keys(lab.directory)
        for space in lab.topology.servers.values():
            start_nginx(space, lab.directory, options.rate)
            start_sshd(space, lab.directory, plan.SSH_PORT)
            start_game_server(space, plan.GAME_PORT, _INTERVAL)
            self._echo_servers.append(EchoServer(space, plan.ECHO_PORT))

    def begin(self) -> None:
        """Opens all sessions; returns when each of them is at work."""
        clients = self.lab.topology.clients
        self._first_contact()
        for number, space in clients.items():
            address, directory = self._site(number), self.lab.directory
            self._echo.append(EchoClient(space, address, plan.ECHO_PORT, self.options.idle))
            told = f"{directory}/told{number}" if number % 2 == 0 else ""
            self._shells[f"ssh of client{number}"] = Shell(space, directory, address, plan.SSH_PORT, told)
            self._players[number] = Players(space, address, plan.GAME_PORT, _PLAYERS, _INTERVAL)
        for group in self._echo:
            group.send(f"open {_LIMIT}")
        for group in self._echo:
            opened = group.answer()
            if opened.broken:
                raise RuntimeError(f"connections could not be opened: {opened.broken}")
        self._hear_shells(_LIMIT)
        self._goes_on(_LIMIT)
        for number, space in clients.items():
            server = self.lab.topology.servers[self._server(number)]
            self._rates.append(Rate(server, space, self._site(number), plan.RATE_PORT + number, self.options.octets, self.options.rate,
                                    reverse=number % 2 == 0))
        sites = [self._site(number) for number in self.lab.topology.servers]
        self.downloads = Downloads(self.content, clients, sites, self.patience, _LOST_STALL if self.options.control else int(_LIMIT))
        for rate in self._rates:
            wait_for(f"{rate.name} to be connected", rate.is_connected, limit=_LIMIT)
        if self.lost:
            raise RuntimeError(f"not everything could be begun: {self.lost}")
        self.show.say(f"{self.total} sessions: {len(self.downloads.transfers)} downloads, {len(self._shells)} ssh, {len(self._rates)} iperf3, "
                      f"{self.idle} idle connections, {self.players} players")

    def _first_contact(self) -> None:
        """Every client has been to the world before, so that its holder knows of the gateways."""
        for number, space in self.lab.topology.clients.items():
            command = ("curl", "-s", "-I", "-H", "Connection: close", "--max-time", "30", f"http://{plan.bracketed(self._site(number))}:{plan.HTTP_PORT}/")

            def known(number: int = number, space: Namespace = space, command: tuple[str, ...] = command) -> bool:
                space.run(*command, check=False)
                return self.options.control or self.lab.gateways.knows_gateways(number)

            wait_for(f"client{number} to meet a gateway", known, limit=_LIMIT)

    @property
    def idle(self) -> int:
        return self.options.idle * len(self._echo)

    @property
    def players(self) -> int:
        return sum(each.count for each in self._players.values())

    @property
    def total(self) -> int:
        return len(self.downloads.transfers) + len(self._shells) + CONNECTIONS * len(self._rates) + self.idle + self.players

    def until(self, share: float, what: str) -> None:
        """Waits for `share` of the downloads' octets, and until nearly all of them have begun."""

        def reached() -> bool:
            there = self.downloads.has_reached(share)
            self.show.progress = self.downloads.progress
            return there

        wait_for(what, reached, limit=self.patience + _LIMIT, every=0.05)

    def chat(self) -> None:
        """Everybody says something, and hears what is said."""
        for group in self._echo:
            group.send(f"speak {_LIMIT}")
        self._hear_shells(_LIMIT)
        self._note_echo()

    # --- events -----------------------------------------------------------------------------------------------------

    def hush(self) -> None:
        """Before a gateway dies: from now on some sessions' servers alone speak."""
        for players in self._players.values():
            players.quiet()

    def servers_speak(self) -> None:
        """Behind the death of a gateway: in each session that is silent the server is the first to speak."""
        for server in self._echo_servers:
            server.tick()
        for shell in self._shells.values():
            if shell.server_speaks:
                shell.say()

    def go_on(self) -> None:
        """Every session must: those whose server has spoken first, then all."""
        for group in self._echo:
            group.send(f"listen {self.limit}")
        self._hear_shells(self.limit, anew=False)
        self._goes_on(self.limit)
        self._note_echo()
        for players in self._players.values():
            players.talk()
        for group in self._echo:
            group.send(f"speak {self.limit}")
        self._hear_shells(self.limit)
        self._goes_on(self.limit)
        self._note_echo()

    def _note_echo(self) -> None:
        for number, group in enumerate(self._echo, 1):
            for port, why in group.answer().broken.items():
                self.lost.setdefault(f"idle connection {port} of client{number}", why)

    def _hear_shells(self, limit: float, anew: bool = True) -> None:
        """With `anew` each session's speaker says something; else only what the servers have said is waited for."""
        heard = {name: shell for name, shell in self._shells.items() if anew or shell.server_speaks}
        for shell in heard.values() if anew else ():
            shell.say()
        end = time.monotonic() + limit
        for name, shell in heard.items():
            wrong = "" if name in self.lost else shell.hear(max(0.0, end - time.monotonic()))
            if wrong:
                self.lost[name] = wrong

    def _goes_on(self, limit: float) -> None:
        """All players hear some more, and those that talk are heard."""
        before = {number: players.report() for number, players in self._players.items()}

        def waiting() -> dict[str, str]:
            found = {}
            for number, players in self._players.items():
                for port, now in players.report().items():
                    name, old = f"player {port} of client{number}", before[number].get(port, {"heard": 0, "sent": 0})
                    if name in self.lost:
                        continue
                    if now["heard"] < old["heard"] + _MORE:
                        found[name] = "hears nothing"
                    elif not now["is_quiet"] and now["said"] < old["sent"] + _MORE:
                        found[name] = "is not heard"
            return found

        try:
            wait_for("the game to go on", lambda: not waiting(), limit=limit, every=0.1)
        except Timeout:
            self.lost |= waiting()

    # --- end --------------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Downloads and runs of iperf3 come to their end."""
        self.until(2.0, "the end of the downloads")
        end = time.monotonic() + self.limit
        for rate in self._rates:
            wrong = rate.end(max(0.0, end - time.monotonic()))
            if wrong:
                self.lost[rate.name] = wrong
        for number, players in self._players.items():
            for port, player in players.report().items():
                if len(player["places"]) != 1 or player["wrong"]:
                    self.lost[f"player {port} of client{number}"] = f"is seen as {player['places']}, {player['wrong']} wrong updates"
        self.show.say(f"downloads done: {self.downloads.exact()} of {len(self.downloads.transfers)} byte-exact; "
                      f"{len(self.lost)} other sessions lost")

    def tally(self, result: Result) -> None:
        """What became of transfers and sessions."""
        exact, count = self.downloads.exact(), len(self.downloads.transfers)
        broken = sum(CONNECTIONS if name.startswith("iperf3") else 1 for name in self.lost)
        result.transfers = {"total": count, "byte_exact": exact}
        result.sessions = {"total": self.total, "survived": self.total - broken - (count - exact)}
        result.problems += [f"{name}: {why}" for name, why in sorted(self.lost.items())]
        result.problems += [f"transfer {t.number}: curl status {t.status} after {t.ended - t.started:.1f} s, SHA-256 differs"
                            for t in self.downloads.transfers if not t.byte_exact]

    def _server(self, client: int) -> int:
        """The server that a client talks to most."""
        return (client - 1) % len(self.lab.topology.servers) + 1

    def _site(self, number: int) -> str:
        return self.lab.topology.shape.ground.server(self._server(number), self.options.family)
