# SPDX-License-Identifier: BSD-3-Clause
"""A small capture out of the two large ones: the sessions that tell most, with all their packets in front of the nodes and behind."""

from __future__ import annotations

import struct
from collections import defaultdict
from typing import Iterator, NamedTuple, Optional

from lab.capture import Capture, Record, read_pcap, record_of
from lab.message import Message, Tuple5

MOST_PACKETS = 240
MOST_SESSIONS = 6
_LONG = 40  # packets of a session; of a longer one those are left out that are
_NEAR = 6  # so many packets away from a message
_KEPT = 200  # octets of each packet: all headers and any message
_SLL2 = 276
_CORE = 1000  # added to core's interface numbers, so that they differ from edge's
_MAGIC_NANO = 0xA1B23C4D

Flow = tuple[int, tuple[str, int], tuple[str, int]]  # protocol and both ends, sorted


class Kept(NamedTuple):
    """A packet on a node's link."""

    time: float
    octets: bytes  # cooked header and packet
    size: int  # before it was cut
    record: Record


def write_excerpt(capture: Capture, path: str) -> tuple[int, int]:
    """Writes a pcap of cooked packets; returns how many sessions and packets it has."""
    packets = sorted(_on_node_links(capture), key=lambda kept: kept.time)
    sessions = _sessions(packets)
    chosen = _choose(sessions)
    wanted = sorted((kept for session in chosen for kept in session), key=lambda kept: kept.time)
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", _MAGIC_NANO, 2, 4, 0, 0, 262144, _SLL2))
        for kept in wanted:
            nanoseconds = round(kept.time * 1_000_000_000)
            octets = kept.octets[:20 + _KEPT]
            file.write(struct.pack("<IIII", nanoseconds // 1_000_000_000, nanoseconds % 1_000_000_000, len(octets), kept.size) + octets)
    return len(chosen), len(wanted)


def _on_node_links(capture: Capture) -> Iterator[Kept]:
    """Each packet once on each side of a node: routers see it on two of their links."""
    for router, path in capture.paths.items():
        devices = {index: link for (name, index), link in capture.topology.devices.items() if name == router}
        with open(path, "rb") as file:
            for time, octets in read_pcap(file):
                record = record_of(time, octets, router, devices)
                if record is None or not record.node:
                    continue
                (index,) = struct.unpack_from("!I", octets, 4)
                renumbered = octets[:4] + struct.pack("!I", index + (_CORE if router == "core" else 0)) + octets[8:]
                yield Kept(time, renumbered, 20 + _ip_size(octets[20:]), record)


def _ip_size(octets: bytes) -> int:
    version6 = octets[0] >> 4 == 6
    return int(struct.unpack_from("!H", octets, 4 if version6 else 2)[0]) + (40 if version6 else 0)


def _flow(protocol: int, src: str, sport: int, dst: str, dport: int) -> Flow:
    first, second = sorted([(src, sport), (dst, dport)])
    return protocol, first, second


def _of_tuple(message: Message, part: Optional[Tuple5]) -> Optional[Flow]:
    return None if part is None else _flow(message.protocol, part.src, part.sport, part.dst, part.dport)


def _sessions(packets: list[Kept]) -> list[list[Kept]]:
    """Packets by session: a message with two tuples says which flows belong together."""
    joined: dict[Flow, Flow] = {}

    def root(flow: Flow) -> Flow:
        while joined.get(flow, flow) != flow:
            flow = joined[flow]
        return flow

    for kept in packets:
        message = kept.record.packet.message
        if message is not None and message.st1 is not None and message.st2 is not None:
            one, other = _of_tuple(message, message.st1), _of_tuple(message, message.st2)
            assert one is not None and other is not None
            joined[root(one)] = root(other)
    found: dict[Flow, list[Kept]] = defaultdict(list)
    for kept in packets:
        packet, message = kept.record.packet, kept.record.packet.message
        if message is not None and message.is_probe:
            continue
        flow = _of_tuple(message, message.st1) if message is not None and message.st1 is not None else None
        found[root(flow or _flow(packet.protocol, packet.src, packet.sport, packet.dst, packet.dport))].append(kept)
    return list(found.values())


def _short(session: list[Kept]) -> list[Kept]:
    """Of a long session what is near its messages, with each packet's sighting on the node's other side."""
    if len(session) <= _LONG:
        return session
    near: set[int] = set()
    for n, kept in enumerate(session):
        if kept.record.packet.message is not None:
            near.update(range(n - _NEAR, n + _NEAR + 1))
    identities = {_identity(kept) for n, kept in enumerate(session) if n in near}
    return [kept for kept in session if _identity(kept) in identities]


def _identity(kept: Kept) -> tuple[int, ...]:
    """The same on both sides of a node, another one for each repetition by its sender (IPv4) or at least for other data."""
    packet, ip = kept.record.packet, kept.octets[20:]
    (identification,) = struct.unpack_from("!H", ip, 4) if ip[0] >> 4 == 4 else (0,)
    return packet.protocol, packet.seq, packet.ack, packet.flags, packet.data_length, int(identification)


def _choose(sessions: list[list[Kept]]) -> list[list[Kept]]:
    """Those with most kinds of messages, of these the shorter ones, as many as there is room for."""

    def tells(session: list[Kept]) -> tuple[int, int]:
        types = {kept.record.packet.message.type for kept in session if kept.record.packet.message is not None}
        weight = {"RS": 4, "NC": 4, "PS": 3, "NA": 2, "NS": 2, "RX": 1, "QS": 1}
        return -sum(weight.get(kind, 0) for kind in types), len(session)

    chosen: list[list[Kept]] = []
    room = MOST_PACKETS
    for session in sorted(map(_short, sessions), key=tells):
        if len(chosen) == MOST_SESSIONS or tells(session)[0] == 0:
            break
        if len(session) > room:
            if chosen:
                continue
            session = session[:room]  # the only one that tells most is too long: its beginning
        chosen.append(session)
        room -= len(session)
    return chosen
