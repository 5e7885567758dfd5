# SPDX-License-Identifier: BSD-3-Clause
"""Packets with ASRP messages in every form, and what a decoder has to say of each. Plain Python on top of tools/scapy; nothing here
comes from libasrp, so that the two can check each other.

    python3 generate.py DIRECTORY     writes the captures and beside each a .json with one object of expected facts per line
"""

import dataclasses
import json
import random
import struct
import sys
from pathlib import Path

import files
import links
from packets import (ACK, ASRP_PORT, ATOMIC, AUTHENTICATION, DESTINATION, HOP_BY_HOP, IP_OPTIONS, PSH, ROUTING, SYN, fragments_v4,
                     fragments_v6, ip, is_v4, surplus, tcp, tcp_mark, udp, udp_mark)

from asrp import FLAGS, STTYPES, TCP, TYPES, UDP, Message, Tuple, allowed_sttypes  # the path is set by packets
from carriage import Marker, ocs

CARRIAGES = ["inline-tcp", "inline-udp", "separate-tcp", "separate-udp", "standalone"]
ENDS = {4: ("192.0.2.10", "198.51.100.5"), 6: ("2001:db8::10", "2001:db8:5::5")}
MSS = bytes.fromhex("020405b40402080a000186a000000000")  # MSS, SACK permitted, timestamps: 16 octets
TIMESTAMPS = bytes.fromhex("0101080a000186a1000186a0")
MDS = bytes.fromhex("040405b4")  # a UDP option that everyone must know
FIRST_TIME = 1_790_000_000_000_000_000


@dataclasses.dataclass
class Case:
    name: str
    packets: list  # IP packets of one datagram or segment: fragments, or one
    facts: dict  # what asrpdump --json says, without `time`; None if the packet holds no message
    claim: str = "message"  # message, invalid, not-asrp, none

    @property
    def number(self):  # of the fragment at which the message is complete
        return len(self.packets)


def tuple_of(family, swapped=False):
    ends = {"4": ("203.0.113.7", "192.0.2.200"), "6": ("2001:db8:7::7", "2001:db8:c8::c8")}[family]
    src, dst = reversed(ends) if swapped else ends
    return Tuple(src, 40000 + swapped, dst, 443)


def messages(protocol):
    """Every type with every layout, with and without flags and Session-Data."""
    rng = random.Random(protocol)
    for kind in TYPES:
        for sttype in allowed_sttypes(kind):
            tuples = [tuple_of(family, n == 1) for n, family in enumerate(STTYPES[sttype])]
            m = Message(kind, sttype, protocol=protocol, cookie=rng.getrandbits(32))
            m.st1, m.st2 = (tuples + [None, None])[:2]
            if kind != "HS":
                m.session_data = rng.randbytes(rng.choice([0, 0, 1, 7, 64]))
            if kind == "NS":
                v6 = rng.random() < 0.5
                m.node_local_ip = "2001:db8:a::1" if v6 else "192.0.2.33"
                m.flags = ["F-LIP6"] * v6 + ["F-NA"] * rng.randrange(2)
            if kind == "NC":
                m.flags = ["F-CC"] * rng.randrange(2)
            yield m


# --- facts -------------------------------------------------------------------------------------------------------------


def tuple_facts(t):
    return {"src": t.src, "sport": t.sport, "dst": t.dst, "dport": t.dport}


def facts_of(m, carriage, src, dst, sport, dport):
    size = len(m.encode())
    facts = {"src": src, "dst": dst, "sport": sport, "dport": dport, "carriage": carriage, "type": m.type, "sttype": m.sttype}
    facts["flags"] = [name for name in FLAGS if name in m.flags]
    facts |= {"length": size, "protocol": {TCP: "tcp", UDP: "udp"}.get(m.protocol, m.protocol), "cookie": "%08x" % m.cookie}
    for name, t in (("st1", m.st1), ("st2", m.st2)):
        if t:
            facts[name] = tuple_facts(t)
    if m.session_data:
        facts["session_data"] = m.session_data.hex()
    if m.node_local_ip:
        facts["node_local_ip"] = m.node_local_ip
    return facts | {"valid": True}


def bad_facts(reason, carriage, src, dst, sport, dport):
    return {"src": src, "dst": dst, "sport": sport, "dport": dport, "carriage": carriage, "valid": False, "reason": reason}


# --- carriages ---------------------------------------------------------------------------------------------------------


def transport(carriage, octets, src, dst, sport, dport, rng, marker=Marker()):
    """(protocol, octets of the IP payload) of a packet that carries the message `octets`."""
    mark = tcp_mark(marker)
    if carriage == "inline-tcp":
        if rng.random() < 0.5:
            return TCP, tcp(src, dst, sport, dport, octets, SYN, mark + MSS, ack=0)
        data = rng.randbytes(rng.randrange(1, 90))
        return TCP, tcp(src, dst, sport, dport, octets + data, ACK | PSH, mark + TIMESTAMPS)
    if carriage == "separate-tcp":
        return TCP, tcp(src, dst, sport, dport, octets, ACK, mark + rng.choice([b"", TIMESTAMPS]))
    if carriage == "standalone":
        return UDP, udp(src, dst, sport, dport, octets)
    data = rng.randbytes(rng.randrange(1, 60)) if carriage == "inline-udp" else b""
    options = rng.choice([b"", MDS, b"\1\1" + MDS]) + udp_mark(octets, marker) + rng.choice([b"", b"\0", bytes(5)])
    has_sum = rng.random() < 0.8 or not is_v4(src)
    check = None if has_sum or rng.random() < 0.5 else 0
    return UDP, udp(src, dst, sport, dport, data, surplus(data, options, check), checksum=has_sum)


def ip_forms(src, dst, protocol, part, rng):
    """(name, packets) of the forms that one IP payload can travel in."""
    cut = 8 * rng.randrange(2, 6)
    if is_v4(src):
        yield "plain", [ip(src, dst, protocol, part)]
        yield "options", [ip(src, dst, protocol, part, options=IP_OPTIONS)]
        pieces = fragments_v4(ip(src, dst, protocol, part, options=IP_OPTIONS, ident=rng.getrandbits(16)), cut)
    else:
        yield "plain", [ip(src, dst, protocol, part)]
        chain = rng.choice([[HOP_BY_HOP], [HOP_BY_HOP, ROUTING, DESTINATION], [DESTINATION], [AUTHENTICATION], [ATOMIC], [ROUTING] * 7])
        yield "extensions", [ip(src, dst, protocol, part, extensions=chain)]
        ident = rng.getrandbits(32)
        pieces = fragments_v6(src, dst, protocol, part, cut, rng.choice([[], [HOP_BY_HOP]]), rng.choice([[], [DESTINATION]]), ident)
    if rng.random() < 0.5:
        rng.shuffle(pieces)
    yield "fragments", pieces


def valid_cases(seed=1):
    rng = random.Random(seed)
    for carriage in CARRIAGES:
        protocol = TCP if carriage.endswith("tcp") else UDP if carriage.endswith("udp") else rng.choice([TCP, UDP])
        for version, (src, dst) in ENDS.items():
            for m in messages(protocol):
                sport, dport = rng.randrange(1024, 51200), ASRP_PORT if carriage == "standalone" else 443
                kind, part = transport(carriage, m.encode(), src, dst, sport, dport, rng)
                facts = facts_of(m, carriage, src, dst, sport, dport)
                for form, packets in ip_forms(src, dst, kind, part, rng):
                    yield Case(f"{carriage} {m.type} {m.sttype} v{version} {form}", packets, facts)


def marker_cases(marker, port):
    """NS and RS in every carriage, with another marker and ASRP-PORT."""
    rng = random.Random(port)
    for carriage in CARRIAGES:
        for ends in ENDS.values():
            for m in (_ns(), Message("RS", "ST46", cookie=7, st1=tuple_of("4"), st2=tuple_of("6"))):
                ports = (1025, port if carriage == "standalone" else 443)
                kind, part = transport(carriage, m.encode(), *ends, *ports, rng, marker)
                yield Case(f"{carriage} {m.type}", [ip(*ends, kind, part)], facts_of(m, carriage, *ends, *ports))


# --- damaged ones ------------------------------------------------------------------------------------------------------


def _ns(protocol=TCP):
    return Message("NS", "ST44", ["F-NA"], protocol, 0xA1B2C3D4, tuple_of("4"), tuple_of("4", True), b"data", "192.0.2.33")


def damaged_messages():
    """(reason, octets): damaged wherever they stand."""
    ns, qs, hs = _ns().encode(), Message("QS", "ST4", cookie=1, st1=tuple_of("4")).encode(), Message("HS", cookie=2).encode()

    def changed(octets, at, value):
        return octets[:at] + value + octets[at + len(value) :]

    yield "sttype", changed(ns, 2, b"\x07")
    yield "sttype", changed(ns, 2, b"\xff")
    yield "sttype", changed(ns, 2, b"\x05")
    yield "sttype", changed(qs, 2, b"\x01")
    yield "sttype", changed(hs, 2, b"\x01")
    yield "length", changed(ns, 4, b"\0\0")
    yield "length", changed(ns, 4, b"\0\x0b")
    yield "length", changed(ns, 4, b"\0\x27")  # no room for Node-Local-IP
    yield "length", changed(hs, 4, b"\0\x0c")
    yield "length", changed(hs + b"\0\0\0\0", 4, b"\0\x14")
    yield "truncated", ns[:11]
    yield "truncated", ns[:2]


def never_messages():
    """(reason, octets): of a version or type that nobody knows. To ASRP-PORT such a datagram is someone else's."""
    ns = _ns().encode()
    for version in (1, 0x40, 255):
        yield "version", bytes([version]) + ns[1:]
    for kind in (8, 255):
        yield "type", ns[:1] + bytes([kind]) + ns[2:]


def damaged_cases():
    for version, (src, dst) in ENDS.items():
        yield from _damaged_tcp(src, dst)
        yield from _damaged_udp(src, dst)
        yield from _damaged_standalone(src, dst)
        yield from _no_messages(src, dst)
    yield from (case for case, _, _ in unassigned_cases())


def _bad(name, carriage, reason, ends, ports, protocol, part):
    return Case(f"{carriage} {name}", [ip(*ends, protocol, part)], bad_facts(reason, carriage, *ends, *ports), "invalid")


def _damaged_tcp(src, dst):
    ends, ports, mark, ns = (src, dst), (40000, 443), tcp_mark(), _ns().encode()

    def case(name, reason, payload, options=mark, flags=SYN):
        return _bad(name, "inline-tcp", reason, ends, ports, TCP, tcp(*ends, *ports, payload, flags, options))

    for reason, octets in list(damaged_messages()) + list(never_messages()):
        yield case(f"damaged {reason}", reason, octets)
        if reason in ("version", "type", "sttype"):
            yield case(f"damaged {reason}, data behind", reason, octets + b"GET / HTTP/1.0\r\n", mark, ACK)
    yield case("longer than the segment", "truncated", ns[:-1])
    yield case("no message behind the option", "truncated", b"")
    yield case("option twice", "option", ns, mark + MSS + mark)
    yield case("option twice in a row", "option", ns, mark + mark)
    yield case("length 0 behind ours", "option", ns, mark + b"\x50\x00\x00\x00")
    yield case("length 1 behind ours", "option", ns, mark + b"\x1e\x01\x01\x01")
    yield case("option beyond the header behind ours", "option", ns, mark + b"\x01\x01\x08\x0a")
    yield case("kind without length behind ours", "option", ns, mark + b"\x01\x01\x01\x08")


def _damaged_udp(src, dst):
    ends, ports, ns = (src, dst), (40000, 53), _ns(UDP).encode()

    def case(name, reason, options, data=b"ping!", check=None, pad=0, checksum=True):
        carriage = "inline-udp" if data else "separate-udp"
        part = udp(*ends, *ports, data, surplus(data, options, check, pad), checksum)
        return _bad(name, carriage, reason, ends, ports, UDP, part)

    for data in (b"", b"ping", b"ping!"):
        for reason, octets in list(damaged_messages()) + list(never_messages()):
            yield case(f"damaged {reason}", reason, udp_mark(octets), data)
        yield case("octet behind the message", "length", udp_mark(ns + b"\0"), data)
        yield case("octet of the message missing", "length", udp_mark(ns[:-1]), data)
        yield case("no message", "truncated", udp_mark(b""), data)
        yield case("wrong OCS", "ocs", udp_mark(ns), data, 0x1234)
        yield case("OCS without the length", "ocs", udp_mark(ns), data, ocs(udp_mark(ns), 0))
        yield case("OCS missing", "ocs", udp_mark(ns), data, 0)
        yield case("option twice", "option", udp_mark(ns) * 2, data)
        yield case("length 0 behind ours", "option", udp_mark(ns) + b"\x0a\x00", data)
        yield case("option beyond the area", "option", udp_mark(ns) + b"\x0a\x09\x00", data)
        yield case("octets behind the end", "option", udp_mark(ns) + b"\x00\x00\x01", data)
        yield case("unsafe option", "option", udp_mark(ns) + b"\xc8\x04\x00\x00", data)
        yield case("fragment option", "option", udp_mark(ns) + b"\x03\x0a" + bytes(8), data)
        yield case("eight NOPs", "option", udp_mark(ns) + b"\x01" * 8 + MDS, data)
    yield case("pad octet set", "option", udp_mark(ns), b"ping!", None, 1)


def _damaged_standalone(src, dst):
    ends, ports, ns = (src, dst), (40000, ASRP_PORT), _ns().encode()

    def case(name, reason, octets):
        return _bad(name, "standalone", reason, ends, ports, UDP, udp(*ends, *ports, octets))

    for reason, octets in damaged_messages():
        yield case(f"damaged {reason}", reason, octets)
    yield case("octet behind", "length", ns + b"\0")
    yield case("octet missing", "length", ns[:-1])
    answer = Message("RS", "ST44", cookie=9, st1=tuple_of("4"), st2=tuple_of("4", True))  # as from a socket: with the ports swapped
    facts = facts_of(answer, "standalone", src, dst, ASRP_PORT, 40000)
    yield Case("standalone from ASRP-PORT", [ip(*ends, UDP, udp(*ends, ASRP_PORT, 40000, answer.encode()))], facts)
    for name, octets in (("from the port, damaged", answer.encode()[:-1]), ("from the port, another's", b"\0\7\1\0\0\1\0\0\0\0\0\0")):
        yield Case("none: " + name, [ip(*ends, UDP, udp(*ends, ASRP_PORT, 53, octets))], None, "none")
    for _, octets in list(never_messages()) + [("", b""), ("", b"\0"), ("", b"GET /")]:
        facts = {"src": src, "dst": dst, "sport": 40000, "dport": ASRP_PORT, "carriage": "standalone"}
        yield Case("standalone not ASRP", [ip(*ends, UDP, udp(*ends, *ports, octets))], facts, "not-asrp")


def unassigned_cases():
    """(case, flags, reserved): bits that the draft has not assigned are set, and to be ignored (4.3.1)."""
    for version, ends in ENDS.items():
        for m, flags, reserved, body in ((_ns(), 0xA8, 0x5A, 0), (Message("HS", cookie=2), 0x80, 0, 0), (Message("HS", cookie=3), 0, 0, 9)):
            octets = bytearray(m.encode())
            octets[3] |= flags
            octets[6] = reserved
            octets[-1] |= body if m.type == "HS" else 0
            part = udp(*ends, 40000, ASRP_PORT, bytes(octets))
            facts = facts_of(m, "standalone", *ends, 40000, ASRP_PORT)
            yield Case(f"unassigned bits {m.type} v{version}", [ip(*ends, UDP, part)], facts), flags, reserved or body


def _no_messages(src, dst):
    """Packets that look like it and hold none."""
    ends, ns = (src, dst), _ns().encode()

    def case(name, protocol, part):
        return Case(f"none: {name}", [ip(*ends, protocol, part)], None, "none")

    def segment(options, flags=SYN):
        return tcp(*ends, 40000, 443, ns, flags, options)

    def datagram(octets, data=b"ping"):
        return udp(*ends, 40000, 53, data, octets)

    yield case("other ExID", TCP, segment(b"\xfd\x04\x41\x54"))
    yield case("kind 253 without ExID", TCP, segment(b"\xfd\x02\x01\x01"))
    yield case("kind 253 of 6 octets", TCP, segment(b"\xfd\x06\x41\x53\x00\x00\x01\x01"))
    yield case("kind 254", TCP, segment(b"\xfe\x04\x41\x53"))
    yield case("behind the end", TCP, segment(b"\x00\x00\x00\x00" + tcp_mark()))
    yield case("inside another option", TCP, segment(b"\x1e\x0a" + tcp_mark() + bytes(4) + b"\x01\x01"))
    yield case("behind a length of 0", TCP, segment(b"\x50\x00\x00\x00" + tcp_mark()))
    yield case("no option", TCP, segment(b""))
    yield case("other ExID", UDP, datagram(surplus(b"ping", b"\x7f\x34\x41\x54" + ns)))
    yield case("UDP kind 10", UDP, datagram(surplus(b"ping", b"\x0a\x34\x41\x53" + ns)))
    yield case("surplus of 1 octet", UDP, datagram(b"\0"))
    yield case("surplus of zeros", UDP, datagram(bytes(12)))
    yield case("behind the end of the options", UDP, datagram(surplus(b"ping", b"\0" + udp_mark(ns))))
    yield case("user data that looks like it", UDP, udp(*ends, 40000, 53, surplus(b"", udp_mark(ns))))
    short = struct.pack("!HHHH", 40000, 53, 5, 0)
    yield case("UDP length 5", UDP, short + surplus(b"", udp_mark(ns)))
    yield case("UDP length beyond the packet", UDP, struct.pack("!HHHH", 40000, 53, 200, 0) + udp_mark(ns))


# --- captures ----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Capture:
    name: str
    link: int
    form: str
    frames: list
    expected: list  # (frame number, facts with time, claim) of each message in order

    def octets(self):
        return files.FORMS[self.form](self.frames, self.link)

    @property
    def suffix(self):
        return (".pcapng" if "ng" in self.form else ".pcap") + (".gz" if "gz" in self.form else "")


def time_text(nanoseconds, decimals):
    seconds, rest = divmod(nanoseconds, 10**9)
    return "%d.%s" % (seconds, ("%09d" % rest)[:decimals])


def capture(name, link_name, form, cases):
    """One capture of the cases in the given link layer."""
    link, wrap = links.LINKS[link_name]
    frames, expected, now = [], [], FIRST_TIME
    for case in cases:
        if not links.fits(link_name, case.packets[0]):
            continue
        for packet in case.packets:
            now += 1_234_567
            frames.append(files.Frame(now, wrap(packet)))
        if case.facts is not None:
            facts = {"time": time_text(now, files.decimals(form))} | case.facts
            expected.append((len(frames), facts, case.claim, case.name))
    return Capture(name, link, form, frames, expected)


def without_length(packet):
    """As captured on a host whose network card cuts what TCP hands down into segments: the IP header says length 0."""
    at = 2 if packet[0] >> 4 == 4 else 4
    return packet[:at] + b"\0\0" + packet[at + 2 :]


def offloaded_cases():
    """Segments whose IP headers have no length: of one packet's size, of many, of more than IP can say (BIG TCP)."""
    ns = _ns()
    for version, ends in ENDS.items():
        facts = facts_of(ns, "inline-tcp", *ends, 40000, 443)
        for size in (90, 20_000, 65_000, 180_000):
            data = bytes(n % 251 for n in range(size))
            part = tcp(*ends, 40000, 443, ns.encode() + data, ACK | PSH, tcp_mark() + TIMESTAMPS)
            head = ip(*ends, TCP, b"")
            yield Case(f"offloaded v{version} {size}", [without_length(head + part)], facts)
        part = tcp(*ends, 40000, 443, b"GET / HTTP/1.0\r\n\r\n" * 400, ACK | PSH, TIMESTAMPS)
        yield Case(f"none: offloaded v{version}", [without_length(head + part)], None, "none")
    jumbo = (0, bytes([0, 0xC2, 4]) + struct.pack("!I", 8 + 32 + 4 + len(ns.encode()) + 100_000))  # as Linux writes it
    part = tcp(*ENDS[6], 40000, 443, ns.encode() + bytes(100_000), ACK | PSH, tcp_mark() + TIMESTAMPS)
    head = ip(*ENDS[6], TCP, b"", extensions=[jumbo])
    yield Case("offloaded jumbogram", [without_length(head + part)], facts_of(ns, "inline-tcp", *ENDS[6], 40000, 443))


def captures():
    """Everything on Ethernet; on each other link type every message in every carriage and IP version, in one of its three IP forms, and
    a fourth of the damaged ones; and every form of file."""
    valid, damaged = list(valid_cases()), list(damaged_cases())
    forms = list(files.FORMS)
    for n, link_name in enumerate(links.LINKS):
        cases = valid[n % 3 :: 3] + damaged[n % 4 :: 4] if n else valid + damaged
        yield capture(link_name, link_name, forms[n % len(forms)], cases)
    for form in forms:
        yield capture("form-" + form, "ethernet", form, valid[::7] + damaged[::5])
    yield capture("offloaded", "ethernet", "micro-le", list(offloaded_cases()))
    yield capture("offloaded-vxlan", "vxlan-vlan", "nano-le", [c for c in offloaded_cases() if len(c.packets[0]) < 60_000])
    yield capture("outer-fragments", "ethernet", "nano-le", list(outer_fragment_cases(valid[::5])))


def outer_fragment_cases(cases):
    """Tunnels whose outer packets come in fragments."""
    for n, case in enumerate(cases):
        if len(case.packets) == 1:
            tunnel = (links.vxlan, links.geneve, links.gre, links.ipip)[n % 4]
            outer = bytearray(tunnel(case.packets[0]))
            outer[4:6] = struct.pack("!H", n)  # identification
            yield dataclasses.replace(case, packets=fragments_v4(bytes(outer), 64))


def main():
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for c in captures():
        (directory / (c.name + c.suffix)).write_bytes(c.octets())
        with open(directory / (c.name + ".json"), "w", encoding="ascii") as stream:
            for number, facts, claim, name in c.expected:
                stream.write(json.dumps({"number": number, "claim": claim, "case": name, "facts": facts}) + "\n")
        print(f"{c.name}{c.suffix}: {len(c.frames)} frames, {len(c.expected)} messages")


if __name__ == "__main__":
    main()
