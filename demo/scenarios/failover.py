# SPDX-License-Identifier: BSD-3-Clause
"""A node dies outright in mid-transfer while the pool changes; later it comes back empty."""

from __future__ import annotations

import time
from dataclasses import replace

from lab import plan
from lab.analysis import Analysis, percentile
from lab.balancer import Member, Service
from lab.checks import all_checks
from lab.monitor import sessions_on
from lab.topology import Shape
from lab.waiting import wait_for
from scenarios.base import Lab, Options, Result
from screen.show import Show
from traffic.echo import EchoClient, EchoServer
from traffic.web import Content, Downloads, start_nginx

ABOUT = "one of three nodes is killed in mid-transfer while a server joins; later it comes back empty"

_LEAST_MOVED = 0.3
_TRANSFER_LIMIT = 150.0
_SPEAK_LIMIT = 45
_STALL_LIMIT = 60
_LOST_LIMIT = 12  # where sessions are expected to be lost


class Failover:
    """One run. Sessions: the downloads, and connections that idle through it all and speak at the end."""

    def __init__(self, options: Options, show: Show) -> None:
        self.options = options
        self.show = show
        servers = 4
        nodes = max(3, 2 * options.kill)
        services = [Service("web", plan.HTTP_PORT, forward=options.forward), Service("shell", plan.ECHO_PORT, forward=options.forward)]
        # The joining server has double weight: it takes a third of the hash, from which no established session may suffer.
        members = [Member(n) for n in range(1, servers + 1)] + [Member(servers + 1, weight=2, state="joining")]
        paths = "ecmp" if options.forward == "full-nat" else "lasthop"
        shape = Shape(clients=2, nodes=nodes, servers=servers + 1, paths=paths, loss_percent=options.loss)
        self.joining = members[-1]
        self.lab = Lab(options, shape, services, members)
        self.result = Result("failover")
        self.echo_servers: list[EchoServer] = []
        self.echo_clients: list[EchoClient] = []
        self.event = 0.0
        self.settled = 0.0
        self.survived_echo = 0
        expects_losses = options.control or options.kernel_nat
        self.stall = _LOST_LIMIT if expects_losses else _STALL_LIMIT
        self.speak = _LOST_LIMIT if expects_losses else _SPEAK_LIMIT

    def run(self) -> Result:
        started = time.monotonic()
        with self.lab:
            self._prepare()
            downloads = self._begin()
            self._strike()
            self._aftermath(downloads)
            self.lab.unwatch(self.show)
            self.lab.capture.stop()
            self._judge(downloads)
            self.result.duration_s = round(time.monotonic() - started, 1)
            self.show.summary(self.lab.monitor)
            if self.options.keep:
                self.show.say(self.lab.kept_message(), always=True)
        return self.result

    def _prepare(self) -> None:
        lab, options = self.lab, self.options
        lab.start()
        self.content = Content(lab.directory, options.transfers, options.octets)
        for space in lab.topology.servers.values():
            start_nginx(space, lab.directory, options.rate)
            self.echo_servers.append(EchoServer(space, plan.ECHO_PORT))
        self.show.say(f"{len(lab.topology.nodes)} nodes with {lab.balancer.name}, {len(self.echo_servers) - 1} servers with nginx"
                      + ("" if options.kernel_nat else " and the holder"))

    def _begin(self) -> Downloads:
        lab, options = self.lab, self.options
        lab.watch(self.show)
        address = plan.service(options.family)
        for space in lab.topology.clients.values():
            self.echo_clients.append(EchoClient(space, address, plan.ECHO_PORT, options.idle))
        for client in self.echo_clients:
            client.send(f"open {_SPEAK_LIMIT}")
        for client in self.echo_clients:
            opened = client.answer()
            if opened.broken:
                raise RuntimeError(f"connections could not be opened: {opened.broken}")
        downloads = Downloads(self.content, lab.topology.clients, address, _TRANSFER_LIMIT, self.stall)
        self.show.say(f"{options.transfers} downloads of {options.octets} octets run, "
                      f"{options.idle * len(self.echo_clients)} connections idle")
        self._until(downloads, 0.25, "a quarter of the downloads' octets")
        return downloads

    def _until(self, downloads: Downloads, share: float, what: str) -> None:
        """Waits for `share` of all octets; a download that has not begun is waited for as well."""

        def reached() -> bool:
            running = downloads.poll()
            octets = downloads.octets()
            self.show.progress = f"downloads: {len(octets) - running} of {len(octets)} done, {100 * sum(octets) // _goal(downloads)} %"
            return sum(octets) >= share * _goal(downloads) and min(octets) > 0 or running == 0

        wait_for(what, reached, limit=_TRANSFER_LIMIT, every=0.05)

    def _strike(self) -> None:
        lab, options = self.lab, self.options
        if options.control:
            lab.topology.block_messages()
            self.show.say("control: datagrams of ASRP are dropped at core, so nothing can be recovered")
        if options.flush_all:
            self.event = time.time()
            lab.topology.flush_all()
            self.settled = time.time()
            lab.balancer.join(self.joining.server, self.joining.weight)
            self.show.say("all nodes' tables are flushed, and a server joins the pool")
            return
        carried = {n: sessions_on(node, options.family) for n, node in lab.topology.nodes.items()}
        victims = sorted(carried, key=lambda n: -carried[n])[:options.kill]
        for number in victims:
            self.show.dead[number] = "killed"
        self.event = time.time()
        lab.topology.kill_nodes(victims)
        lab.balancer.join(self.joining.server, self.joining.weight)
        self.settled = time.time()
        names = " and ".join(f"node{n} ({carried[n]} sessions)" for n in victims)
        self.show.say(f"{names} killed, and server{self.joining.server} joins the pool")
        self._victims = victims

    def _aftermath(self, downloads: Downloads) -> None:
        lab = self.lab
        if not self.options.flush_all:
            self._until(downloads, 0.6 if not self.options.control else 0.45, "the downloads to go on")
            for number in self._victims:
                lab.topology.add_node(number)
                lab.balancer.start_node(number)
                self.show.dead.pop(number, None)
            lab.topology.route_via(sorted(lab.topology.nodes))
            self.show.say(f"{' and '.join(f'node{n}' for n in self._victims)} back, with empty tables")
        self._until(downloads, 2.0, "the end of the downloads")
        self.show.say(f"downloads done: {downloads.exact()} of {len(downloads.transfers)} byte-exact")
        self._wake_up()

    def _wake_up(self) -> None:
        """The idle connections speak: on the first client the clients begin, on the others the servers do."""
        speaker, *listeners = self.echo_clients
        speaker.command(f"speak {self.speak}")
        for server in self.echo_servers:
            server.tick()
        for client in self.echo_clients:
            client.send(f"listen {self.speak}")
        heard = [client.answer() for client in self.echo_clients]
        for client in listeners:
            client.send(f"speak {self.speak}")
        heard = heard[:1] + [client.answer() for client in listeners]
        self.survived_echo = sum(len(result.alive) for result in heard)
        for result in heard:
            self.result.problems += [f"idle connection of port {port}: {why}" for port, why in result.broken.items()]
        total = self.options.idle * len(self.echo_clients)
        self.show.say(f"idle connections spoke: {self.survived_echo} of {total} alive")

    def _judge(self, downloads: Downloads) -> None:
        options, result, lab = self.options, self.result, self.lab
        exact, total = downloads.exact(), len(downloads.transfers)
        idle = options.idle * len(self.echo_clients)
        result.transfers = {"total": total, "byte_exact": exact}
        result.sessions = {"total": total + idle, "survived": exact + self.survived_echo}
        for transfer in downloads.transfers:
            if not transfer.byte_exact:
                result.problems.append(f"transfer {transfer.number}: curl status {transfer.status}, SHA-256 differs")
        analysis = Analysis(lab.capture.all_records(), options.family)
        result.messages = dict(sorted(analysis.messages.items()))
        if options.flush_all:
            moved, restored, latencies = analysis.rebuilt(self.event, self.settled)
        else:
            moves = analysis.moves(self.event)
            moved, restored = {m.session for m in moves}, {m.session for m in moves if m.restored}
            latencies = [m.latency_ms for m in moves]
            result.more["moves"] = len(moves)
            if not options.kernel_nat:
                result.problems += [f"node{m.node} forwarded {m.session} without an RS or PS" for m in moves if not m.restored]
        result.recovery_ms = {"p50": round(percentile(latencies, 0.5), 3), "p99": round(percentile(latencies, 0.99), 3),
                              "max": round(max(latencies, default=0.0), 3)}
        result.more |= {"balancer": lab.balancer.name, "family": options.family, "forward": options.forward, "loss_percent": options.loss,
                        "moved": len(moved), "restored": len(restored), "capture_missed": lab.capture.dropped}
        if options.thorough:
            result.problems += all_checks(lab.capture, options.family)
        result.problems += lab.balancer.problems()
        self._verdict(len(moved), len(restored))

    def _verdict(self, moved: int, restored: int) -> None:
        result, total = self.result, self.result.sessions["total"]
        answers = result.messages.get("RS", 0) + result.messages.get("PS", 0)
        lost = total - result.sessions["survived"]
        if self.options.control:
            result.held = lost >= _LEAST_MOVED * total
            return
        if self.options.kernel_nat:
            result.held = True
            return
        if moved < _LEAST_MOVED * total:
            result.problems.append(f"only {moved} of {total} sessions moved, which proves nothing")
        if answers < moved or restored < moved:
            result.problems.append(f"{moved} sessions moved, but the capture shows {answers} RS and PS for {restored} of them")
        result.held = lost == 0 and moved >= _LEAST_MOVED * total and answers >= moved and not result.problems


def _goal(downloads: Downloads) -> int:
    return downloads.content.size * len(downloads.transfers)


def run(options: Options, show: Show) -> Result:
    if options.loss > 0 and options.octets == Options.octets:
        options = replace(options, octets=200_000, rate=20_000)
    return Failover(options, show).run()
