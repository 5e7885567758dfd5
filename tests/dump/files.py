# SPDX-License-Identifier: BSD-3-Clause
"""Writes pcap and pcapng files in each form that exists: both byte orders, micro- and nanoseconds, compressed or not. Reads them, too."""

import dataclasses
import gzip
import struct


@dataclasses.dataclass
class Frame:
    time: int  # nanoseconds since 1970
    octets: bytes
    size: int = None  # on the wire, where the capture was cut

    @property
    def wire_size(self):
        return len(self.octets) if self.size is None else self.size


def pcap(frames, link, order="<", nano=False, snaplen=262144):
    parts = [struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, snaplen, link)]
    for f in frames:
        fraction = f.time % 10**9 if nano else f.time % 10**9 // 1000
        parts.append(struct.pack(order + "IIII", f.time // 10**9, fraction, len(f.octets), f.wire_size) + f.octets)
    return b"".join(parts)


def _block(order, kind, body):
    body += bytes(-len(body) % 4)
    size = 12 + len(body)
    return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", size)


def _option(order, code, value):
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def interface(order, link, nano=False, snaplen=262144):
    options = _option(order, 9, bytes([9 if nano else 6])) + _option(order, 0, b"")
    return _block(order, 1, struct.pack(order + "HHI", link, 0, snaplen) + options)


def section(order):
    return _block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def enhanced(order, frame, nano=False, number=0):
    ticks = frame.time if nano else frame.time // 1000
    head = struct.pack(order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(frame.octets), frame.wire_size)
    return _block(order, 6, head + frame.octets)


def simple(order, frame):
    """A packet block without a time or a captured length: that is the interface's snapshot length, if the packet was longer."""
    return _block(order, 3, struct.pack(order + "I", frame.wire_size) + frame.octets)


def pcapng(frames, link, order="<", nano=False, snaplen=262144):
    parts = [section(order), interface(order, link, nano, snaplen)]
    for n, f in enumerate(frames):
        parts.append(enhanced(order, f, nano))
        if n % 50 == 3:  # blocks without packets: names, and statistics of the interface
            parts.append(_block(order, 4, bytes(4)))
            parts.append(_block(order, 5, struct.pack(order + "III", 0, 0, n)))
    return b"".join(parts)


FORMS = {
    "micro-le": lambda frames, link: pcap(frames, link),
    "micro-be": lambda frames, link: pcap(frames, link, ">"),
    "nano-le": lambda frames, link: pcap(frames, link, "<", True),
    "nano-be": lambda frames, link: pcap(frames, link, ">", True),
    "ng-micro-le": lambda frames, link: pcapng(frames, link),
    "ng-nano-be": lambda frames, link: pcapng(frames, link, ">", True),
    "ng-nano-le": lambda frames, link: pcapng(frames, link, "<", True),
    "gz-micro-le": lambda frames, link: gzip.compress(pcap(frames, link), 1, mtime=0),
    "gz-ng-nano-le": lambda frames, link: gzip.compress(pcapng(frames, link, "<", True), 1, mtime=0),
}


def decimals(form):
    """How many decimals of a second the file has."""
    return 9 if "nano" in form else 6


# --- reading -----------------------------------------------------------------------------------------------------------


def read(octets):
    """Yields (link type, octets as captured) of each frame, as far as the file makes sense."""
    if octets[:2] == b"\x1f\x8b":
        octets = gzip.decompress(octets)
    if octets[:4] == b"\x0a\x0d\x0d\x0a":
        yield from _read_pcapng(octets)
    elif octets[:4] in (b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d"):
        yield from _read_pcap(octets, ">")
    elif octets[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        yield from _read_pcap(octets, "<")


def _read_pcap(octets, order):
    if len(octets) < 24:
        return
    link, at = struct.unpack(order + "I", octets[20:24])[0] & 0xFFFF, 24
    while at + 16 <= len(octets):
        size = struct.unpack(order + "I", octets[at + 8 : at + 12])[0]
        yield link, octets[at + 16 : at + 16 + size]
        at += 16 + size


def _read_pcapng(octets):
    order, at, interfaces = "<", 0, []
    while at + 12 <= len(octets):
        if octets[at : at + 4] == b"\x0a\x0d\x0d\x0a":
            order, interfaces = "<" if octets[at + 8] == 0x4D else ">", []
        kind, size = struct.unpack(order + "II", octets[at : at + 8])
        if size < 12:
            return
        body = octets[at + 8 : at + size - 4]
        if kind == 1 and len(body) >= 2:
            interfaces.append(struct.unpack(order + "H", body[:2])[0])
        elif kind == 6 and len(body) >= 20:
            number, _, _, captured = struct.unpack(order + "IIII", body[:16])
            if number < len(interfaces):
                yield interfaces[number], body[20 : 20 + captured]
        elif kind == 3 and len(body) >= 4 and interfaces:
            yield interfaces[0], body[4 : 4 + struct.unpack(order + "I", body[:4])[0]]
        at += size
