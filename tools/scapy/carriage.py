# SPDX-License-Identifier: BSD-3-Clause
"""How ASRP messages travel in IP packets, in plain Python.

Written from the draft, RFC 6994 and RFC 9868, and not from libasrp: tests/vectors runs both over the same vectors, and this one over
packets that libasrp edited. Everything is computed from scratch, nothing incrementally.
"""

import dataclasses
import ipaddress
import struct

from asrp import TCP, UDP, Invalid

SYN, FIN, RST, PSH = 2, 1, 4, 8

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
    pad_wrong, ocs_wrong = any(p.surplus[:pad]), not _ocs_right(p, pad)
    if located.status == "found":
        return Located("bad_option") if pad_wrong else Located("bad_ocs") if ocs_wrong else located
    return Located() if pad_wrong or ocs_wrong else located


def _ocs_right(p, pad):
    aligned = p.surplus[pad:]
    if aligned[:2] == b"\0\0":
        return p.octets[p.transport + 6 : p.transport + 8] == b"\0\0"
    return ones(aligned, len(p.surplus)) == 0xFFFF


# --- surgery -----------------------------------------------------------------------------------------------------------


def _rebuild(p, transport, surplus=b""):
    """The packet with another transport part; all lengths and checksums made anew."""
    head = bytearray(p.octets[: p.transport])
    total = len(head) + len(transport) + len(surplus)
    if p.version == 4:
        head[2:4] = struct.pack("!H", total)
        head[10:12] = bytes(2)
        head[10:12] = struct.pack("!H", ~ones(bytes(head)) & 0xFFFF)
        ends = bytes(head[12:20])
    else:
        head[4:6] = struct.pack("!H", total - 40)
        ends = bytes(head[8:40])
    transport = bytearray(transport)
    at = 16 if p.protocol == TCP else 6
    if p.protocol == TCP or transport[at : at + 2] != bytes(2):
        transport[at : at + 2] = bytes(2)
        pseudo = ends + struct.pack("!IHBB", len(transport), 0, 0, p.protocol)
        checksum = ~ones(pseudo + bytes(transport)) & 0xFFFF
        if p.protocol == UDP:
            checksum = checksum or 0xFFFF
        transport[at : at + 2] = struct.pack("!H", checksum)
    return bytes(head) + bytes(transport) + surplus


def _tcp_header(p, options, clear_flags=0):
    header = bytearray(p.octets[p.transport : p.transport + 20])
    header[12] = (20 + len(options)) // 4 << 4 | header[12] & 15
    header[13] &= ~clear_flags & 0xFF
    return bytes(header) + options


def _tcp_mark(marker):
    data = marker.tcp_data()
    return bytes([marker.tcp_kind, 2 + len(data)]) + data if data else bytes([1, 1, marker.tcp_kind, 2])


def _udp_option(marker, message):
    data = marker.udp_data() + message
    if len(data) + 2 <= 254:
        return bytes([marker.udp_kind, len(data) + 2]) + data
    return struct.pack("!BBH", marker.udp_kind, 255, len(data) + 4) + data


def _surplus(udp_length, options, use_ocs=True):
    pad = bytes(udp_length % 2)
    value = ocs(options, len(pad) + 2 + len(options)) if use_ocs else 0
    return pad + struct.pack("!H", value) + options


def _refuse(p, message, marker):
    """Raises Invalid with the reason why no message may be put into this packet, in whichever form."""
    if p.protocol not in (TCP, UDP):
        raise Invalid("not_a_flow")
    if p.authenticated:
        raise Invalid("protected_segment")
    if p.protocol == UDP:
        return
    area = p.octets[p.transport + 20 : p.data]
    try:
        for option in tcp_options(area):
            if option.kind in (19, 29):
                raise Invalid("protected_segment")
            if option.kind == marker.tcp_kind and option.data == marker.tcp_data():
                raise Invalid("has_message")
    except Malformed:
        raise Invalid("malformed_options")
    if len(area) > 36:
        raise Invalid("no_option_room")


def _fitting(octets, mtu):
    if len(octets) > mtu:
        raise Invalid("exceeds_mtu")
    return octets


def _place_in_area(p, marker):
    """Offset behind the last option of an existing surplus area's options, before EOL."""
    pad = len(p.payload) % 2
    if len(p.surplus) < pad + 2 or any(p.surplus[:pad]) or not _ocs_right(p, pad):
        raise Invalid("malformed_options")
    area, last = p.surplus[pad + 2 :], None
    try:
        for option in udp_options(area):
            if option.kind == marker.udp_kind and option.data.startswith(marker.udp_data()):
                raise Invalid("has_message")
            if option.kind in (3, 9) or option.kind >= 192:
                raise Invalid("protected_segment")
            last = option.offset + len(option.raw)
    except Malformed:
        raise Invalid("malformed_options")
    if last is None:
        raise Invalid("malformed_options")
    while last < len(area) and area[last] == 1:
        last += 1
    return last


def insert_inline(p, message, marker=Marker(), mtu=65535):
    """The packet with the message inside."""
    if p.protocol == TCP and not p.payload and not p.tcp_flags & (SYN | FIN | RST):
        raise Invalid("no_data") if not p.authenticated else Invalid("protected_segment")
    _refuse(p, message, marker)
    if p.protocol == TCP:
        options = _tcp_mark(marker) + p.octets[p.transport + 20 : p.data]
        return _fitting(_rebuild(p, _tcp_header(p, options) + message + p.payload), mtu)
    if not p.payload:
        raise Invalid("no_data")
    datagram, length = p.octets[p.transport : p.end], p.end - p.transport
    area, at, use_ocs = b"", 0, True
    if p.surplus:
        at = _place_in_area(p, marker)
        area = p.surplus[length % 2 + 2 :]
        use_ocs = p.surplus[length % 2 : length % 2 + 2] != bytes(2)
    surplus = _surplus(length, area[:at] + _udp_option(marker, message) + area[at:], use_ocs)
    return _fitting(_rebuild(p, datagram, surplus), mtu)


def make_separate(p, message, marker=Marker(), mtu=65535):
    """A packet with the header of this one, and nothing but the message."""
    _refuse(p, message, marker)
    if p.protocol == TCP:
        options = _tcp_mark(marker) + p.octets[p.transport + 20 : p.data]
        return _fitting(_rebuild(p, _tcp_header(p, options, FIN | PSH) + message), mtu)
    if locate(p, marker).status == "found":
        raise Invalid("has_message")
    header = bytearray(p.octets[p.transport : p.transport + 8])
    header[4:6] = struct.pack("!H", 8)
    return _fitting(_rebuild(p, bytes(header), _surplus(8, _udp_option(marker, message))), mtu)


def is_separate(p, message_size):
    if p.protocol == TCP:
        return len(p.payload) <= message_size and not p.tcp_flags & (SYN | FIN | RST)
    return p.protocol == UDP and not p.payload


def strip(p, located, message_size):
    if p.protocol == TCP:
        area = p.octets[p.transport + 20 : p.data]
        at, size = located.option.offset, len(located.option.raw)
        if size == 4:
            area = area[:at] + area[at + 4 :]
        elif at == 2 and area[:2] == b"\1\1":
            area = area[4:]
        else:
            area = area[:at] + b"\1" * size + area[at + size :]
        return _rebuild(p, _tcp_header(p, area) + p.payload[message_size:])
    datagram, length = p.octets[p.transport : p.end], p.end - p.transport
    pad = length % 2
    area = p.surplus[pad + 2 :]
    others = [o for o in udp_options(area) if o.offset != located.option.offset]
    if not others:
        return _rebuild(p, datagram)
    at, size = located.option.offset, len(located.option.raw)
    return _rebuild(p, datagram, _surplus(length, area[:at] + area[at + size :], p.surplus[pad : pad + 2] != bytes(2)))


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
    return p.protocol != UDP or len(p.surplus) < pad + 2 or _ocs_right(p, pad)
