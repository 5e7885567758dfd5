# SPDX-License-Identifier: BSD-3-Clause
"""Packets cut by the capture at every length from 14 to 200 octets, and what can be known of each."""

import dataclasses

import files
import generate
import links
from packets import ACK, PSH, SYN, ip, surplus, tcp, tcp_mark, udp, udp_mark

from asrp import TCP, UDP, Message

LENGTHS = range(14, 201)
ETHERNET = 14


@dataclasses.dataclass
class Cut:
    name: str
    frame: bytes
    facts: dict
    begin: int  # where in the frame the message begins
    shown: int  # captured octets from which on it is known that a message is claimed
    proven: int  # and from which on it is known that it is valid


def samples():
    """Messages whose carrier has nothing that is longer than 200 octets."""
    for version, ends in generate.ENDS.items():
        head = ETHERNET + (20 if version == 4 else 40)
        ns = generate._ns()
        qs = Message("QS", "ST4", cookie=0x01020304, st1=generate.tuple_of("4"))
        rs = Message("RS", "ST44", cookie=0x01020304, st1=generate.tuple_of("4"), st2=generate.tuple_of("4", True))
        size, at = len(ns.encode()), head + 20
        for name, flags, options, data in (
            ("inline-tcp", SYN, tcp_mark() + generate.MSS, b""),
            ("inline-tcp", ACK | PSH, generate.TIMESTAMPS + tcp_mark(), b"GET / HTTP/1.0\r\n\r\n"),
            ("separate-tcp", ACK, tcp_mark(), b""),
        ):
            part = tcp(*ends, 40000, 443, ns.encode() + data, flags, options)
            begin = at + len(options)
            facts = generate.facts_of(ns, name, *ends, 40000, 443)
            shown = at + options.index(tcp_mark()) + 4
            yield Cut(name, links.ethernet(ip(*ends, TCP, part)), facts, begin, shown, begin + size)
        for name, data in (("inline-udp", b"ping!"), ("inline-udp", b"ping"), ("separate-udp", b"")):
            options = generate.MDS + udp_mark(ns.encode()) + b"\0"
            part = udp(*ends, 40000, 53, data, surplus(data, options))
            facts = generate.facts_of(ns, name, *ends, 40000, 53)
            shown = head + 8 + len(data) + len(data) % 2 + 2 + len(generate.MDS) + 4
            yield Cut(name, links.ethernet(ip(*ends, UDP, part)), facts, shown, shown, head + len(part))
        for m in (ns, qs, rs):
            part = udp(*ends, 40000, generate.ASRP_PORT, m.encode())
            facts = generate.facts_of(m, "standalone", *ends, 40000, generate.ASRP_PORT)
            yield Cut("standalone " + m.type, links.ethernet(ip(*ends, UDP, part)), facts, head + 8, head + 8, head + len(part))


def capture():
    """One capture of all of them, and for each frame its sample, or None where nothing can be known."""
    frames, samples_of = [], {}
    for sample in samples():
        for length in LENGTHS:
            frames.append(files.Frame(generate.FIRST_TIME + len(frames), sample.frame[:length], len(sample.frame)))
            samples_of[len(frames)] = (sample, min(length, len(sample.frame)))
    return generate.Capture("cuts", 1, "nano-le", frames, []), samples_of


CARRIER = {"src", "dst", "sport", "dport"}
HEADER = {"type": 2, "sttype": 3, "flags": 4, "length": 6, "protocol": 8, "cookie": 12}  # octets of the message up to and with each
TUPLES = {"st1": 24, "st2": 36}  # all samples are of ST4 and ST44


def known_keys(sample, length):
    """What of `sample.facts` must be shown of a message that is cut, besides its carriage."""
    have = length - sample.begin
    keys = {key for key, size in HEADER.items() if have >= size}
    return CARRIER | keys | {key for key, size in TUPLES.items() if key in sample.facts and have >= size}


def expected(sample, length):
    """"none", "cut" or "message"."""
    if length < sample.shown:
        return "none"
    return "message" if length >= sample.proven else "cut"
