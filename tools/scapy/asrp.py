# SPDX-License-Identifier: BSD-3-Clause
"""ASRP messages in plain Python.

Written from the draft and not from libasrp, so that the two can check each other: tests/vectors runs both over the same vectors.
carriage.py beside it does the same for packets.

    python3 asrp.py HEX...      decodes messages
"""

import dataclasses
import ipaddress
import struct
import sys

TYPES = ["NS", "NA", "QS", "RS", "RX", "HS", "PS", "NC"]
STTYPES = {"NULL": "", "ST44": "44", "ST66": "66", "ST46": "46", "ST64": "64", "ST4": "4", "ST6": "6"}
FLAGS = {"F-LIP6": 1, "F-CC": 2, "F-NA": 4}
TCP, UDP = 6, 17


class Invalid(Exception):
    """Octets that are no message or no packet; `reason` is one of libasrp's names."""

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason


# --- messages (draft 4.1, 4.3.1) ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Tuple:
    src: str
    sport: int
    dst: str
    dport: int

    def pack(self):
        ends = [ipaddress.ip_address(self.src), ipaddress.ip_address(self.dst)]
        return b"".join(e.packed for e in ends) + struct.pack("!HH", self.sport, self.dport)

    @classmethod
    def unpack(cls, octets):
        size = 4 if len(octets) == 12 else 16
        src, dst = (str(ipaddress.ip_address(octets[i : i + size])) for i in (0, size))
        sport, dport = struct.unpack("!HH", octets[2 * size :])
        return cls(src, sport, dst, dport)


@dataclasses.dataclass
class Message:
    type: str
    sttype: str = "NULL"
    flags: list = dataclasses.field(default_factory=list)
    protocol: int = TCP
    cookie: int = 0
    st1: Tuple = None
    st2: Tuple = None
    session_data: bytes = b""
    node_local_ip: str = None
    length: int = None

    def encode(self):
        if self.type == "HS":
            body = bytes(4)
        else:
            body = b"".join(t.pack() for t in (self.st1, self.st2) if t) + self.session_data
        if self.node_local_ip is not None:
            body += ipaddress.ip_address(self.node_local_ip).packed
        flags = sum(FLAGS[f] for f in self.flags if f != "F-LIP6" or self.type == "NS")
        number = list(STTYPES).index(self.sttype)
        return (
            struct.pack("!BBBBHBBI", 0, TYPES.index(self.type), number, flags, 12 + len(body), 0, self.protocol, self.cookie)
            + body
        )


def allowed_sttypes(kind):
    if kind == "HS":
        return ["NULL"]
    return ["ST4", "ST6"] if kind in ("QS", "RX") else ["ST44", "ST66", "ST46", "ST64"]


def decode(octets, prefix=False):
    """The message that fills `octets`, or, with `prefix`, stands at their head."""
    if len(octets) < 12:
        raise Invalid("truncated")
    version, kind, st, flags, length, _, protocol, cookie = struct.unpack("!BBBBHBBI", octets[:12])
    if version != 0:
        raise Invalid("version")
    if kind >= len(TYPES):
        raise Invalid("type")
    kind = TYPES[kind]
    if st >= len(STTYPES) or list(STTYPES)[st] not in allowed_sttypes(kind):
        raise Invalid("sttype")
    st = list(STTYPES)[st]
    if prefix and length > len(octets):
        raise Invalid("truncated")
    if not prefix and length != len(octets):
        raise Invalid("length")
    message = Message(kind, st, [n for n, bit in FLAGS.items() if flags & bit], protocol, cookie, length=length)
    rest = octets[12:length] if length >= 12 else b""
    if kind == "HS":
        if length != 16:
            raise Invalid("length")
        return message
    tuples = []
    for family in STTYPES[st]:
        size = 12 if family == "4" else 36
        if len(rest) < size:
            raise Invalid("length")
        tuples.append(Tuple.unpack(rest[:size]))
        rest = rest[size:]
    message.st1, message.st2 = (tuples + [None])[:2]
    if kind == "NS":
        size = 16 if "F-LIP6" in message.flags else 4
        if len(rest) < size:
            raise Invalid("length")
        message.node_local_ip = str(ipaddress.ip_address(rest[-size:]))
        rest = rest[:-size]
    message.session_data = rest
    return message


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        try:
            print(decode(bytes.fromhex(argument)))
        except Invalid as invalid:
            print("invalid (%s)" % invalid.reason)
