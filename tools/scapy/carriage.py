# SPDX-License-Identifier: BSD-3-Clause
"""How ASRP messages travel in IP packets, in plain Python: finding them. edit.py beside it puts them in and takes them out.

Written from the draft, RFC 6994 and RFC 9868, and not from libasrp.
"""

import dataclasses
import ipaddress
import struct

from asrp import TCP, UDP, Invalid

SYN, FIN, RST = 2, 1, 4

# --- checksums ---------------------------------------------------------------------------------------------------------


def ones(octets, start=0):
    if len(octets) % 2:
        octets += b"\0"
    total = start + sum(struct.unpack("!%dH" % (len(octets) // 2), octets))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def ocs(options, surplus_length):
    """RFC 9868 section 9: sum and length of the surplus area, complemented; never 0."""
    return (~ones(options, surplus_length) & 0xFFFF) or 0xFFFF


# --- packets -----------------------------------------------------------------------------------------------------------

EXTENSIONS = {0, 43, 44, 51, 60}


@dataclasses.dataclass
class Packet:
    octets: bytes
    version: int
    protocol: int
    transport: int
    src: str
    dst: str
    sport: int = 0
    dport: int = 0
    data: int = 0  # offset of the user data
    end: int = 0  # and of its end
    authenticated: bool = False

    @property
    def payload(self):
        return self.octets[self.data : self.end]

    @property
    def surplus(self):
        return self.octets[self.end :]

    @property
    def tcp_flags(self):
        return self.octets[self.transport + 13]


def _ipv6_chain(octets):
    """Returns protocol, transport offset, and whether an Authentication Header was among them."""
    following, at, count, authenticated = octets[6], 40, 0, False
    while following in EXTENSIONS:
        if count == 8 or (following == 0 and count):
            raise Invalid("extension")
        header = octets[at:]
        if len(header) < 8:
            raise Invalid("extension")
        if following == 44:
            size = 8
        elif following == 51:
            size = 4 * (header[1] + 2)
        else:
            size = 8 * (header[1] + 1)
        if size > len(header) or size % 8:
            raise Invalid("extension")
        if following == 44 and struct.unpack("!H", header[2:4])[0] & 0xFFF9:
            raise Invalid("fragment")
        authenticated |= following == 51
        following, at, count = header[0], at + size, count + 1
    if following in (50, 59):
        raise Invalid("extension")
    return following, at, authenticated


def parse(octets):
    if not octets:
        raise Invalid("truncated")
    version = octets[0] >> 4
    if version not in (4, 6):
        raise Invalid("ip_version")
    if len(octets) < (20 if version == 4 else 40):
        raise Invalid("truncated")
    if version == 4:
        transport = 4 * (octets[0] & 15)
        total, fragment = struct.unpack("!HxxH", octets[2:8])
        if transport < 20 or transport > total:
            raise Invalid("ip_header")
        if total > len(octets):
            raise Invalid("truncated")
        octets = octets[:total]
        if fragment & 0x3FFF:
            raise Invalid("fragment")
        protocol, authenticated = octets[9], False
        ends = [octets[12:16], octets[16:20]]
    else:
        size = struct.unpack("!H", octets[4:6])[0]
        if size == 0:
            raise Invalid("ip_header")
        if 40 + size > len(octets):
            raise Invalid("truncated")
        octets = octets[: 40 + size]
        protocol, transport, authenticated = _ipv6_chain(octets)
        ends = [octets[8:24], octets[24:40]]
    src, dst = (str(ipaddress.ip_address(e)) for e in ends)
    packet = Packet(octets, version, protocol, transport, src, dst, authenticated=authenticated)
    _parse_transport(packet)
    return packet


def _parse_transport(p):
    if p.protocol not in (TCP, UDP, 1 if p.version == 4 else 58):
        raise Invalid("protocol")
    part = p.octets[p.transport :]
    if len(part) < (20 if p.protocol == TCP else 8):
        raise Invalid("truncated")
    p.data, p.end = p.transport + 8, len(p.octets)
    if p.protocol == TCP:
        size = 4 * (part[12] >> 4)
        if size < 20 or size > len(part):
            raise Invalid("tcp_header")
        p.data = p.transport + size
    if p.protocol == UDP:
        length = struct.unpack("!H", part[4:6])[0]
        if length < 8 or length > len(part):
            raise Invalid("udp_length")
        p.end = p.transport + length
    if p.protocol in (TCP, UDP):
        p.sport, p.dport = struct.unpack("!HH", part[:4])


# --- options and carriage (draft 3.4, RFC 6994, RFC 9868) ----------------------------------------------------------------


@dataclasses.dataclass
class Marker:
    tcp_kind: int = 253
    udp_kind: int = 127
    exid: int = 0x4153

    def tcp_data(self):
        return struct.pack("!H", self.exid) if self.tcp_kind in (253, 254) else b""

    def udp_data(self):
        return struct.pack("!H", self.exid) if self.udp_kind == 127 else b""


@dataclasses.dataclass
class Option:
    kind: int
    data: bytes
    raw: bytes
    offset: int


class Malformed(Exception):
    pass


def tcp_options(area):
    found, at = [], 0
    while at < len(area) and area[at] != 0:
        if area[at] == 1:
            at += 1
            continue
        if at + 1 == len(area) or area[at + 1] < 2 or at + area[at + 1] > len(area):
            raise Malformed
        raw = area[at : at + area[at + 1]]
        found.append(Option(raw[0], raw[2:], raw, at))
        at += len(raw)
    return found


def udp_options(area):
    """Yields the options; Malformed is raised where it shows, so that what stood in front has been seen."""
    at, nops = 0, 0
    while at < len(area):
        kind = area[at]
        if kind == 0:
            if any(area[at:]):
                raise Malformed
            return
        nops = nops + 1 if kind == 1 else 0
        if nops > 7:
            raise Malformed
        if kind == 1:
            at += 1
            continue
        head, size = 2, area[at + 1] if at + 1 < len(area) else 0
        if size == 255:
            head, size = 4, int.from_bytes(area[at + 2 : at + 4], "big") if at + 4 <= len(area) else 0
        if size < head + (2 if kind == 127 else 0) or at + size > len(area):
            raise Malformed
        raw = area[at : at + size]
        yield Option(kind, raw[head:], raw, at)
        at += size


@dataclasses.dataclass
class Located:
    status: str = "none"
    option: Option = None
    room: bytes = b""  # TCP: the segment's payload; UDP: the message


def locate(p, marker=Marker()):
    if p.protocol == TCP:
        try:
            options = tcp_options(p.octets[p.transport + 20 : p.data])
        except Malformed:
            return Located("bad_option")
        ours = [o for o in options if o.kind == marker.tcp_kind and o.data == marker.tcp_data()]
        if len(ours) > 1:
            return Located("bad_option")
        return Located("found", ours[0], p.payload) if ours else Located()
    if p.protocol == UDP:
        return _locate_udp(p, marker)
    return Located()


def _locate_udp(p, marker):
    pad = len(p.payload) % 2
    if len(p.surplus) < pad + 2:
        return Located()
    prefix = marker.udp_data()
    ours, bad = [], False
    try:
        for option in udp_options(p.surplus[pad + 2 :]):
            if option.kind == marker.udp_kind and option.data.startswith(prefix):
                ours.append(option)
            elif option.kind == 3 or option.kind >= 192:
                bad = bool(ours)
                break
    except Malformed:
        bad = True
    if bad or len(ours) > 1:
        located = Located("bad_option")
    elif ours:
        located = Located("found", ours[0], ours[0].data[len(prefix) :])
    else:
        located = Located()
    pad_wrong, ocs_wrong = any(p.surplus[:pad]), not ocs_right(p, pad)
    if located.status == "found":
        return Located("bad_option") if pad_wrong else Located("bad_ocs") if ocs_wrong else located
    return Located() if pad_wrong or ocs_wrong else located


def ocs_right(p, pad):
    aligned = p.surplus[pad:]
    if aligned[:2] == b"\0\0":
        return p.octets[p.transport + 6 : p.transport + 8] == b"\0\0"
    return ones(aligned, len(p.surplus)) == 0xFFFF


def checksums_right(p):
    """IPv4 header, TCP or UDP, and OCS."""
    if p.version == 4 and ones(p.octets[: p.transport]) != 0xFFFF:
        return False
    ends = p.octets[12:20] if p.version == 4 else p.octets[8:40]
    part = p.octets[p.transport : p.end]
    if p.protocol == UDP and part[6:8] == bytes(2):
        return p.version == 4
    if p.protocol in (TCP, UDP) and ones(ends + struct.pack("!IHBB", len(part), 0, 0, p.protocol) + part) != 0xFFFF:
        return False
    pad = len(p.payload) % 2
    return p.protocol != UDP or len(p.surplus) < pad + 2 or ocs_right(p, pad)


def is_separate(p, message_size):
    if p.protocol == TCP:
        return len(p.payload) <= message_size and not p.tcp_flags & (SYN | FIN | RST)
    return p.protocol == UDP and not p.payload
