# SPDX-License-Identifier: BSD-3-Clause
"""IP, TCP and UDP octet by octet, in plain Python: what the captures of this folder are made of. Not written from libasrp."""

import ipaddress
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "scapy"))

from asrp import TCP, UDP  # noqa: E402
from carriage import Marker, ocs, ones  # noqa: E402

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
ASRP_PORT = 51200


def packed(address):
    return ipaddress.ip_address(address).packed


def is_v4(address):
    return len(packed(address)) == 4


# --- IP ----------------------------------------------------------------------------------------------------------------

IP_OPTIONS = bytes([7, 11, 4]) + bytes(8) + b"\x01"  # record route, NOP: 12 octets


def ipv4(src, dst, protocol, payload, options=b"", ident=0x1234, fragment=0x4000, ttl=61):
    head = struct.pack(
        "!BBHHHBBH", 0x40 | (20 + len(options)) // 4, 0, 20 + len(options) + len(payload), ident, fragment, ttl, protocol, 0
    )
    head += packed(src) + packed(dst) + options
    return head[:10] + struct.pack("!H", ~ones(head) & 0xFFFF) + head[12:] + payload


def chain_v6(extensions, last):
    """(first next-header value, octets) of a chain of (kind, body behind its first octet)."""
    octets, following = b"", last
    for kind, body in reversed(extensions):
        octets = bytes([following]) + body + octets
        following = kind
    return following, octets


def ipv6(src, dst, protocol, payload, extensions=(), ttl=61, label=0x12345):
    following, chain = chain_v6(list(extensions), protocol)
    rest = chain + payload
    return struct.pack("!IHBB", 6 << 28 | label, len(rest), following, ttl) + packed(src) + packed(dst) + rest


HOP_BY_HOP = (0, bytes([0, 1, 4]) + bytes(4))
ROUTING = (43, bytes([2, 4, 0]) + bytes(20))  # 24 octets, no segments left
DESTINATION = (60, bytes([1, 1, 12]) + bytes(12))
AUTHENTICATION = (51, bytes([4]) + bytes(22))  # 4 * (4 + 2) octets
ATOMIC = (44, bytes([0, 0, 0]) + b"\x00\x00\x00\x07")


def ip(src, dst, protocol, payload, **more):
    return (ipv4 if is_v4(src) else ipv6)(src, dst, protocol, payload, **more)


def fragments_v4(packet, size):
    """The packet in pieces of `size` octets of payload (a multiple of 8)."""
    head = 4 * (packet[0] & 15)
    src, dst = (str(ipaddress.ip_address(packet[n : n + 4])) for n in (12, 16))
    payload, ident = packet[head:], struct.unpack("!H", packet[4:6])[0]
    pieces = []
    for at in range(0, len(payload), size):
        more = 0x2000 if at + size < len(payload) else 0
        options = packet[20:head] if at == 0 else b""
        pieces.append(ipv4(src, dst, packet[9], payload[at : at + size], options, ident, more | at // 8))
    return pieces


def fragments_v6(src, dst, protocol, payload, size, before=(), behind=(), ident=7):
    following, chain = chain_v6(list(behind), protocol)
    rest, pieces = chain + payload, []
    for at in range(0, len(rest), size):
        more = at + size < len(rest)
        fragment = (44, bytes([0]) + struct.pack("!HI", at | more, ident))
        first, heads = chain_v6(list(before) + [fragment], following)
        part = heads + rest[at : at + size]
        pieces.append(struct.pack("!IHBB", 6 << 28, len(part), first, 61) + packed(src) + packed(dst) + part)
    return pieces


# --- transport ---------------------------------------------------------------------------------------------------------


def _checksum(src, dst, protocol, part):
    pseudo = packed(src) + packed(dst) + struct.pack("!IHBB", len(part), 0, 0, protocol)
    return ~ones(pseudo + part) & 0xFFFF


def tcp(src, dst, sport, dport, payload=b"", flags=ACK | PSH, options=b"", seq=0x1000, ack=0x2000):
    head = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, (20 + len(options)) // 4 << 4, flags, 0xFFF0, 0, 0) + options
    part = head + payload
    return part[:16] + struct.pack("!H", _checksum(src, dst, TCP, part)) + part[18:]


def udp(src, dst, sport, dport, payload=b"", surplus=b"", checksum=True):
    head = struct.pack("!HHHH", sport, dport, 8 + len(payload), 0)
    if checksum:
        head = head[:6] + struct.pack("!H", _checksum(src, dst, UDP, head + payload) or 0xFFFF)
    return head + payload + surplus


# --- the option --------------------------------------------------------------------------------------------------------


def tcp_mark(marker=Marker()):
    data = marker.tcp_data()
    return bytes([marker.tcp_kind, 2 + len(data)]) + data if data else bytes([1, 1, marker.tcp_kind, 2])


def udp_mark(message, marker=Marker(), extended=None):
    data = marker.udp_data() + message
    if extended or len(data) + 2 > 254:
        return struct.pack("!BBH", marker.udp_kind, 255, len(data) + 4) + data
    return bytes([marker.udp_kind, len(data) + 2]) + data


def surplus(user_data, options, check=None, pad=0):
    """The octets behind `user_data`; `check` replaces the option checksum."""
    pads = bytes([pad]) * (len(user_data) % 2)
    value = ocs(options, len(pads) + 2 + len(options)) if check is None else check
    return pads + struct.pack("!H", value) + options
