# SPDX-License-Identifier: BSD-3-Clause
"""Writes pcap and pcapng files in each form that exists: both byte orders, micro- and nanoseconds, compressed or not."""

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
