# SPDX-License-Identifier: BSD-3-Clause
"""Puts ASRP messages into packets and takes them out, in plain Python.

Written from the draft and RFC 9868, and not from libasrp; every length and checksum is computed from scratch, nothing incrementally, so
that tests/vectors can compare the two octet for octet.
"""

import struct

from asrp import TCP, UDP, Invalid
from carriage import FIN, RST, SYN, Malformed, Marker, locate, ocs, ocs_right, ones, tcp_options, udp_options

PSH = 8


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
    if len(p.surplus) < pad + 2 or any(p.surplus[:pad]) or not ocs_right(p, pad):
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
