# SPDX-License-Identifier: BSD-3-Clause
"""IPv4, IPv6, TCP and UDP as far as the laboratory's checks need them, and where an ASRP message sits in a packet."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Optional

from lab import message
from lab.message import Malformed, Message
from lab.plan import ASRP_PORT

TCP, UDP = 6, 17
_FRAGMENT = 3  # UDP option: what follows belongs to a fragment
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


@dataclass(slots=True)
class Packet:
    """A TCP segment or a UDP datagram. `data_length` counts what an application gets: without a message, without options."""

    protocol: int
    src: str
    sport: int
    dst: str
    dport: int
    flags: int = 0
    seq: int = 0
    ack: int = 0
    data_length: int = 0
    carriage: Optional[str] = None  # inline-tcp, separate-tcp, inline-udp, separate-udp, standalone
    message: Optional[Message] = None
    malformed: Optional[str] = None  # marked as ASRP, yet no valid message

    @property
    def marked(self) -> bool:
        return self.carriage is not None


def parse(octets: bytes) -> Optional[Packet]:
    """From the IP header on. None for what is neither TCP nor UDP, for later fragments, and for what the capture cut in a header."""
    try:
        version = octets[0] >> 4
        if version == 4:
            return _ipv4(octets)
        if version == 6:
            return _ipv6(octets)
    except (struct.error, IndexError):
        pass
    return None


@lru_cache(maxsize=4096)
def _address(octets: bytes) -> str:
    return str(ipaddress.ip_address(octets))


def _ipv4(octets: bytes) -> Optional[Packet]:
    total, fragment, protocol = struct.unpack_from("!2xH2xHxB", octets)
    if fragment & 0x1FFF:
        return None
    start = (octets[0] & 15) * 4
    return _transport(octets, start, total - start, protocol, _address(octets[12:16]), _address(octets[16:20]))


def _ipv6(octets: bytes) -> Optional[Packet]:
    payload, protocol = struct.unpack_from("!HB", octets, 4)
    start = 40
    while protocol in (0, 43, 44, 51, 60):
        if protocol == 44 and struct.unpack_from("!H", octets, start + 2)[0] & 0xFFF8:
            return None
        units = {44: 8, 51: (octets[start + 1] + 2) * 4}
        size = units.get(protocol, (octets[start + 1] + 1) * 8)
        protocol = octets[start]
        start += size
    length = payload + 40 - start
    return _transport(octets, start, length, protocol, _address(octets[8:24]), _address(octets[24:40]))


def _transport(octets: bytes, start: int, length: int, protocol: int, src: str, dst: str) -> Optional[Packet]:
    if protocol == TCP:
        return _tcp(octets, start, length, src, dst)
    if protocol == UDP:
        return _udp(octets, start, length, src, dst)
    return None


def _tcp(octets: bytes, start: int, length: int, src: str, dst: str) -> Packet:
    sport, dport, seq, ack, offset, flags = struct.unpack_from("!HHIIBB", octets, start)
    header = (offset >> 4) * 4
    data_length = length - header
    base = (TCP, src, sport, dst, dport, flags, seq, ack)
    if header == 20 or not _tcp_marked(octets[start + 20:start + header]):
        return Packet(*base, data_length)
    data = octets[start + header:start + length]
    try:
        size = message.message_length(data)
        found = message.decode(data[:size])
    except Malformed as error:
        return Packet(*base, data_length, "inline-tcp", None, str(error))
    rest = data_length - size
    separate = rest == 0 and not flags & (SYN | FIN | RST)
    return Packet(*base, rest, "separate-tcp" if separate else "inline-tcp", found)


def _tcp_marked(options: bytes) -> bool:
    at = 0
    while at < len(options):
        kind = options[at]
        if kind == 0:
            return False
        if kind == 1:
            at += 1
            continue
        if at + 1 >= len(options) or options[at + 1] < 2:
            return False
        if kind == message.TCP_KIND and options[at + 1] == 4 and options[at + 2:at + 4] == struct.pack("!H", message.EXID):
            return True
        at += options[at + 1]
    return False


def _udp(octets: bytes, start: int, length: int, src: str, dst: str) -> Packet:
    sport, dport, size, checksum = struct.unpack_from("!HHHH", octets, start)
    base = (UDP, src, sport, dst, dport, 0, 0, 0)
    if dport == ASRP_PORT:
        return _decoded(base, size - 8, "standalone", octets[start + 8:start + size])
    if 8 <= size < length:
        option = _udp_option(octets[start + size:start + length], size % 2 == 1, checksum == 0)
        if option is not None:
            return _decoded(base, size - 8, "inline-udp" if size > 8 else "separate-udp", option)
    return Packet(*base, size - 8)


def _decoded(base: tuple[int, str, int, str, int, int, int, int], rest: int, carriage: str, octets: bytes) -> Packet:
    try:
        return Packet(*base, rest, carriage, message.decode(octets))
    except Malformed as error:
        return Packet(*base, rest, carriage, None, str(error))


def _udp_option(surplus: bytes, odd: bool, unchecked: bool) -> Optional[bytes]:
    """The message in the surplus area (RFC 9868) behind a pad octet if the datagram's length is odd, and the checksum OCS, which
    may be 0 where the datagram has no checksum either. An area that is damaged behind the message is not held against it: a
    mark that should not be there is seen the better."""
    aligned = surplus[1:] if odd else surplus
    if len(aligned) < 2 or (odd and surplus[0] != 0):
        return None
    if _folded(aligned, len(surplus)) != 0xFFFF and not (unchecked and aligned[:2] == b"\0\0"):
        return None
    at = 2
    while at < len(aligned):
        kind = aligned[at]
        if kind == 0:
            return None
        if kind == 1:
            at += 1
            continue
        if at + 1 >= len(aligned) or kind == _FRAGMENT:
            return None
        size, body = aligned[at + 1], at + 2
        if size == 255:
            if at + 4 > len(aligned):
                return None
            size, body = int(struct.unpack_from("!H", aligned, at + 2)[0]), at + 4
        if size < 2 or at + size > len(aligned):
            return None
        if kind == message.UDP_KIND and aligned[body:body + 2] == struct.pack("!H", message.EXID):
            return aligned[body + 2:at + size]
        at += size
    return None


def _folded(octets: bytes, extra: int) -> int:
    padded = octets + b"\0" * (len(octets) % 2)
    total = sum(struct.unpack(f"!{len(padded) // 2}H", padded)) + extra
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total
