# SPDX-License-Identifier: BSD-3-Clause
"""An ASRP decoder written from the draft (sections 3.4, 4.1 and 4.3.1) for the laboratory's checks. It shares no code with libasrp,
so what it says about a capture is independent of what the daemons believe."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass
from typing import Optional

TYPES = ("NS", "NA", "QS", "RS", "RX", "HS", "PS", "NC")
F_LIP6, F_CC, F_NA = 1, 2, 4
HEADER = 12
EXID = 0x4153
TCP_KIND = 253
UDP_KIND = 127

_SINGLE = {5: (4,), 6: (16,)}
_PAIR = {1: (4, 4), 2: (16, 16), 3: (4, 16), 4: (16, 4)}


@dataclass(frozen=True)
class Tuple5:
    """Addresses and ports of a flow; the protocol stands in the message."""

    src: str
    sport: int
    dst: str
    dport: int

    def reversed(self) -> "Tuple5":
        return Tuple5(self.dst, self.dport, self.src, self.sport)


@dataclass(frozen=True)
class Message:
    """A valid message."""

    type: str
    flags: int
    protocol: int
    cookie: int
    tuples: tuple[Tuple5, ...]
    session_data: bytes
    node_local_ip: Optional[str]
    length: int

    @property
    def st1(self) -> Optional[Tuple5]:
        return self.tuples[0] if self.tuples else None

    @property
    def st2(self) -> Optional[Tuple5]:
        return self.tuples[1] if len(self.tuples) > 1 else None

    @property
    def is_probe(self) -> bool:
        """A QS for a tuple of zeros asks only whether a holder is there; RX answers it."""
        return len(self.tuples) == 1 and self.tuples[0].sport == 0 and self.tuples[0].dport == 0


class Malformed(ValueError):
    """The octets are no valid message; the text says why."""


def message_length(octets: bytes) -> int:
    """What the Length field says; Malformed if the header is cut."""
    if len(octets) < HEADER:
        raise Malformed("shorter than a header")
    return int(struct.unpack_from("!H", octets, 4)[0])


def decode(octets: bytes) -> Message:
    """Exactly one message; anything before, behind or amiss is Malformed."""
    if len(octets) < HEADER:
        raise Malformed("shorter than a header")
    version, number, layout, flags, length, _, protocol, cookie = struct.unpack_from("!BBBBHBBI", octets)
    if version != 0:
        raise Malformed(f"version {version}")
    if number >= len(TYPES):
        raise Malformed(f"type {number}")
    if length != len(octets):
        raise Malformed(f"length {length}, present {len(octets)}")
    name = TYPES[number]
    sizes = _layout(name, layout)
    at = HEADER
    tuples = []
    for size in sizes:
        if at + 2 * size + 4 > length:
            raise Malformed("a tuple is cut")
        tuples.append(_tuple(octets, at, size))
        at += 2 * size + 4
    end = length
    local_ip = None
    if name == "NS":
        size = 16 if flags & F_LIP6 else 4
        end = length - size
        if end < at:
            raise Malformed("no room for Node-Local-IP")
        local_ip = str(ipaddress.ip_address(octets[end:length]))
    if name == "HS":
        if length != HEADER + 4:
            raise Malformed("HS is a header and four reserved octets")
        at = HEADER + 4
    return Message(name, flags, protocol, cookie, tuple(tuples), octets[at:end], local_ip, length)


def _layout(name: str, layout: int) -> tuple[int, ...]:
    if name == "HS":
        allowed: dict[int, tuple[int, ...]] = {0: ()}
    else:
        allowed = _SINGLE if name in ("QS", "RX") else _PAIR
    if layout not in allowed:
        raise Malformed(f"tuple layout {layout} in {name}")
    return allowed[layout]


def _tuple(octets: bytes, at: int, size: int) -> Tuple5:
    src = str(ipaddress.ip_address(octets[at:at + size]))
    dst = str(ipaddress.ip_address(octets[at + size:at + 2 * size]))
    sport, dport = struct.unpack_from("!HH", octets, at + 2 * size)
    return Tuple5(src, sport, dst, dport)
