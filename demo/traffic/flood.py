# SPDX-License-Identifier: BSD-3-Clause
"""SYNs with forged sources, and a conntrack table filled with entries of nobody."""

from __future__ import annotations

import ipaddress
import random
import socket
import struct

from lab import plan
from lab.netns import Namespace, run


def syn_flood(space: Namespace, family: int, address: str, port: int, count: int) -> None:
    """Sends `count` SYNs from addresses near the client's, as fast as a raw socket takes them."""
    chance = random.Random(1)
    near = ipaddress.ip_address(plan.client(2, family))
    target = ipaddress.ip_address(address).packed
    with space.entered():
        kind = socket.AF_INET if family == 4 else socket.AF_INET6
        sender = socket.socket(kind, socket.SOCK_RAW, socket.IPPROTO_RAW)
    with sender:
        for _ in range(count):
            source = (near + chance.randrange(8, 240)).packed
            segment = _syn(source, target, chance.randrange(1024, 65536), port, chance.randrange(1 << 32))
            sender.sendto(_header(family, source, target, len(segment)) + segment, (address, 0))


def _syn(source: bytes, target: bytes, sport: int, dport: int, seq: int) -> bytes:
    segment = struct.pack("!HHIIBBHHHBBH", sport, dport, seq, 0, 6 << 4, 2, 64240, 0, 0, 2, 4, 1460)
    pseudo = source + target + struct.pack("!II", len(segment), 6)
    total = sum(struct.unpack(f"!{(len(pseudo) + len(segment)) // 2}H", pseudo + segment))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return segment[:16] + struct.pack("!H", ~total & 0xFFFF) + segment[18:]


def _header(family: int, source: bytes, target: bytes, length: int) -> bytes:
    if family == 4:  # the kernel fills the checksum
        return struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, 0, 0, 64, 6, 0) + source + target
    return struct.pack("!IHBB", 6 << 28, length, 6, 64) + source + target


def fill_table(space: Namespace, count: int, server: str = "") -> None:
    """`count` assured UDP entries that have nothing to do with any service; translated to `server`, if one is given."""
    lines = []
    translation = f" --dst-nat {server}" if server else ""
    for number in range(count):
        source = ipaddress.IPv4Address(0x64400000 + number // 50_000)  # of 100.64.0.0/10
        sport = 1024 + number % 50_000
        lines.append(f"-I -s {source} -d 100.127.0.1 -p udp --sport {sport} --dport 9 -t 600 -u SEEN_REPLY,ASSURED{translation}")
    run(space.command("conntrack", "--load-file", "-"), stdin="\n".join(lines) + "\n", limit=120)
