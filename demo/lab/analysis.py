# SPDX-License-Identifier: BSD-3-Clause
"""What captures of both routers prove about sessions: which node carried them when, which moved, what restored them, how long it
took. Daemons are not asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Iterable, NamedTuple, Optional

from lab import plan
from lab.capture import Record
from lab.message import Message
from lab.packet import FIN, RST, SYN, Packet


class Session(NamedTuple):
    """As its client sees it."""

    protocol: int
    client: str
    port: int  # the client's
    server_port: int
    server: str  # the address that the client talks to

@dataclass
class Passage:
    """A session at one node."""

    arrivals: list[float] = field(default_factory=list)
    forwards: list[float] = field(default_factory=list)
    restored: list[float] = field(default_factory=list)  # when an RS or a PS for it arrived at the node
    pushed: list[float] = field(default_factory=list)  # the PS among these
    from_core: list[float] = field(default_factory=list)  # the arrivals of what servers sent


@dataclass(frozen=True)
class Move:
    """A session that a node carried for the first time after the event."""

    session: Session
    node: int
    latency_ms: float
    restored: bool  # an RS or a PS had arrived there before the node forwarded anything
    server_first: bool  # a server's packet came there before any of the client's


class Analysis:
    """Reads the records once."""

    def __init__(self, records: Iterable[Record], family: int, single: Iterable[int] = ()) -> None:
        """`single`: ports of services with one request and one answer. A request that is repeated there begins anew wherever it comes:
        such a session has nothing to survive, and is not counted as one that lives."""
        self.family = family
        self._single = set(single)
        self.passages: dict[tuple[Session, int], Passage] = {}
        self.opened: dict[Session, float] = {}
        self.closed: dict[Session, float] = {}
        self.messages: Counter[str] = Counter()
        self.carriages: Counter[str] = Counter()
        self.unreadable = 0
        self.probes = 0  # QS and RX among the messages that only ask whether a holder is there
        self._servers: dict[Session, set[int]] = {}
        self._service = plan.service(family)
        self._server_side: dict[tuple[str, int, str, int, int], Session] = {}
        kept = list(records)
        # A mapping that a holder refused is nobody's; its NC has the cookie of the NS.
        self._refused = {r.packet.message.cookie for r in kept if r.packet.message is not None and r.packet.message.type == "NC"}
        for record in kept:
            self._learn(record)
        for record in kept:
            self._follow(record)

    # --- results ----------------------------------------------------------------------------------------------------

    def live_at(self, moment: float) -> set[Session]:
        """Sessions that were established and had not ended at `moment`: a connection's first segment without SYN had passed."""
        return {s for s, time in self.opened.items()
                if time < moment and self.closed.get(s, moment + 1) > moment and s.server_port not in self._single}

    def moves(self, moment: float, emptied: Iterable[int] = (), gone: float = 0.0) -> list[Move]:
        """Pairs of session and node that are new after `moment`, for the sessions that lived then. What nodes that lost their table
        then, the `emptied`, had carried until they were `gone` does not count."""
        found = []
        live = self.live_at(moment)
        for (session, node), passage in self.passages.items():
            begin = gone if node in emptied else 0.0
            forwards = [time for time in passage.forwards if time >= begin]
            if session not in live or not forwards or forwards[0] < moment:
                continue
            first = forwards[0]
            arrivals = [time for time in passage.arrivals if max(moment, begin) <= time <= first]
            latency = (first - arrivals[0]) * 1000 if arrivals else 0.0
            restored = any(begin <= time <= first for time in passage.restored)
            found.append(Move(session, node, latency, restored, bool(arrivals) and arrivals[0] in passage.from_core))
        return found

    def rebuilt(self, moment: float, settled: float) -> tuple[set[Session], set[Session], list[float]]:
        """After all tables were emptied between `moment` and `settled`: the sessions that were carried on, those of them for
        which an RS or a PS came, and how long each one's first packet after `settled` took at its node, in milliseconds."""
        carried: set[Session] = set()
        restored: set[Session] = set()
        latencies = []
        live = self.live_at(moment)
        for (session, _), passage in self.passages.items():
            forwards = [time for time in passage.forwards if time > settled]
            if session not in live or not forwards:
                continue
            carried.add(session)
            if any(time > moment for time in passage.restored):
                restored.add(session)
                arrivals = [time for time in passage.arrivals if settled < time <= forwards[0]]
                latencies += [(forwards[0] - arrivals[0]) * 1000] if arrivals else []
        return carried, restored, latencies

    def servers_of(self, session: Session) -> set[int]:
        """Servers to which packets of the session were sent."""
        return self._servers.get(session, set())

    def pushed(self, session: Session, node: int) -> bool:
        """Whether the node knew the session by PS before it forwarded anything of it."""
        passage = self.passages.get((session, node), Passage())
        return any(time <= min(passage.forwards, default=0.0) for time in passage.pushed)

    # --- reading ----------------------------------------------------------------------------------------------------

    def _learn(self, record: Record) -> None:
        """Messages: their number by type, and which server-side tuple belongs to which session."""
        packet = record.packet
        if not packet.marked or not record.arriving:
            return
        if packet.message is None:
            self.unreadable += 1
            return
        self.messages[packet.message.type] += 1
        self.probes += packet.message.is_probe
        self.carriages[str(packet.carriage)] += 1
        session = _session_of(packet.message)
        if session is not None and packet.message.st2 is not None and packet.message.cookie not in self._refused:
            st2 = packet.message.st2
            self._server_side[st2.src, st2.sport, st2.dst, st2.dport, packet.message.protocol] = session

    def _follow(self, record: Record) -> None:
        node, packet = record.node, record.packet
        if record.link.startswith("server") and not record.arriving and packet.carriage != "standalone":
            taken = self.session(record)
            if taken is not None:
                self._servers.setdefault(taken, set()).add(int(record.link[6:]))
        if not node:
            return
        if packet.message is not None and packet.message.type in ("RS", "PS") and not record.arriving:
            restored = _session_of(packet.message)
            if restored is not None:
                passage = self._passage(restored, node)
                passage.restored.append(record.time)
                if packet.message.type == "PS":
                    passage.pushed.append(record.time)
        if packet.carriage in ("standalone", "separate-tcp", "separate-udp"):
            return
        session = self.session(record)
        if session is None:
            return
        passage = self._passage(session, node)
        (passage.forwards if record.arriving else passage.arrivals).append(record.time)
        if record.router == "core" and not record.arriving:
            passage.from_core.append(record.time)
        if not packet.flags & SYN:
            self.opened.setdefault(session, record.time)
        if packet.flags & (FIN | RST) and not packet.flags & SYN:
            self.closed.setdefault(session, record.time)

    def session(self, record: Record) -> Optional[Session]:
        """The session whose packet this is, on a node's link."""
        packet = record.packet
        if record.router == "edge":
            if packet.dst == self._service:
                return Session(packet.protocol, packet.src, packet.sport, packet.dport, packet.dst)
            if packet.src == self._service:
                return Session(packet.protocol, packet.dst, packet.dport, packet.sport, packet.src)
            return None
        return self._at_core(packet, packet.src, packet.sport, packet.dst, packet.dport) or self._at_core(
            packet, packet.dst, packet.dport, packet.src, packet.sport)

    def _at_core(self, packet: Packet, src: str, sport: int, dst: str, dport: int) -> Optional[Session]:
        """The session with these addresses of its server's side."""
        known = self._server_side.get((src, sport, dst, dport, packet.protocol))
        if known is not None:
            return known
        if plan.role_number(src, "client") and plan.role_number(dst, "server"):
            return Session(packet.protocol, src, sport, dport, self._service)
        return None

    def _passage(self, session: Session, node: int) -> Passage:
        return self.passages.setdefault((session, node), Passage())


def _session_of(message: Message) -> Optional[Session]:
    if message.st1 is None or message.st2 is None:
        return None
    return Session(message.protocol, message.st1.src, message.st1.sport, message.st1.dport, message.st1.dst)


class OfficeAnalysis(Analysis):
    """The same of sessions through gateways. What a session is on the world's side is known by messages alone."""

    def session(self, record: Record) -> Optional[Session]:
        packet = record.packet
        if record.router != "edge":
            return super().session(record)
        if plan.role_number(packet.src, "staff"):
            return Session(packet.protocol, packet.src, packet.sport, packet.dport, packet.dst)
        if plan.role_number(packet.dst, "staff"):
            return Session(packet.protocol, packet.dst, packet.dport, packet.sport, packet.src)
        return None


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least `share` of all don't exceed; 0 of nothing."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered) - 1, -(-int(len(ordered) * share * 1000) // 1000) - 1))]
