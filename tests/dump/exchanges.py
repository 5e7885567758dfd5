# SPDX-License-Identifier: BSD-3-Clause
"""Whole exchanges of the draft's scenarios, packet by packet on both sides of the nodes, in plain Python. A test may alter single steps,
which is how the captures with one fault each are made."""

import dataclasses
import random
import struct

import files
import packets
from packets import ACK, ASRP_PORT, PSH, SYN, packed, surplus, tcp, tcp_mark, udp, udp_mark

from asrp import TCP, UDP, Message, Tuple
from carriage import Marker

RAW_IP = 101
BEGIN = 1_700_000_000 * 10**9


def reverse(t):
    return Tuple(t.dst, t.dport, t.src, t.sport)


@dataclasses.dataclass
class Step:
    """One packet as it is about to be made."""

    ends: Tuple
    protocol: int = TCP
    message: Message = None
    octets: object = None  # a function that damages the encoded message
    carriage: str = ""  # "", inline, separate, standalone
    payload: bytes = b""
    flags: int = ACK
    seq: int = 0
    ack: int = 0
    ident: int = 0
    ttl: int = 63
    wait: int = 200  # microseconds after the packet before
    left_out: bool = False
    twice: int = 0  # so many more times, each a repetition by its sender
    twice_wait: int = 200_000
    broken_sum: bool = False
    fragments: int = 0  # octets of payload of each, a multiple of 8
    mark: bool = True  # with the option; without it the message is just data


class Scene:
    """A capture in the making. `edits` maps names of steps to functions that alter them."""

    def __init__(self, family=4, edits=None, seed=1):
        self.edits = dict(edits or {})
        self.frames = []
        self.number = {}  # name of a step -> number of its packet
        self.sent = {}
        self.time = BEGIN
        self.random = random.Random(seed)
        self.ident = 100
        v4 = family == 4
        self.client, self.other_client = ("203.0.113.7", "203.0.113.8") if v4 else ("2001:db8:c::7", "2001:db8:c::8")
        self.vip = "198.51.100.1" if v4 else "2001:db8:f::1"
        self.servers = ["10.0.0.1", "10.0.0.2"] if v4 else ["fd00::1", "fd00::2"]
        self.nodes = ["10.9.0.1", "10.9.0.2"] if v4 else ["fd00:9::1", "fd00:9::2"]
        self.nat = "10.8.0.1" if v4 else "fd00:8::1"
        self.sttype, self.sttype1 = ("ST44", "ST4") if v4 else ("ST66", "ST6")

    # --- making packets -------------------------------------------------------------------------------------------------

    def step(self, name, **facts):
        """A packet. `of`: it is the same as an earlier step's, one hop on."""
        earlier = self.sent.get(facts.pop("of", ""))
        base = dataclasses.asdict(earlier, dict_factory=dict) if earlier else {}
        if earlier:
            base = {key: getattr(earlier, key) for key in base}
            base.update(message=None, carriage="", ttl=earlier.ttl - 1, octets=None, twice=0, fragments=0, left_out=False,
                        broken_sum=False, wait=Step.wait)
        made = Step(**{**base, **facts})
        if not earlier:
            made.ident = facts.get("ident", self.new_ident())
        if name in self.edits:
            self.edits[name](made)
        self.sent[name] = made
        if made.left_out:
            return
        self.number[name] = self._put(made)
        for again in range(made.twice):
            made.ident = self.new_ident()
            made.wait = made.twice_wait
            self.number[f"{name}+{again + 1}"] = self._put(made)

    def new_ident(self):
        self.ident += 1
        return self.ident

    def _put(self, made):
        self.time += made.wait * 1000
        for piece in self._packets(made):
            self.frames.append(files.Frame(self.time, piece))
        return len(self.frames)

    def _packets(self, made):
        t = made.ends
        message = made.message.encode() if made.message else b""
        if made.octets:
            message = made.octets(message)
        if made.carriage == "standalone":
            part, protocol = udp(t.src, t.dst, t.sport, t.dport, message), UDP
        elif made.protocol == TCP:
            mark = tcp_mark() if made.carriage and made.mark else b""
            data = b"" if made.carriage == "separate" else made.payload
            part = tcp(t.src, t.dst, t.sport, t.dport, message + data, made.flags, mark, made.seq, made.ack)
            protocol = TCP
        else:
            data = b"" if made.carriage == "separate" else made.payload
            area = surplus(data, udp_mark(message, Marker())) if made.carriage else b""
            part, protocol = udp(t.src, t.dst, t.sport, t.dport, data, area), UDP
        if made.broken_sum:
            at = 16 if protocol == TCP else 6
            part = part[:at] + bytes([part[at] ^ 0x55]) + part[at + 1 :]
        v4 = len(packed(t.src)) == 4
        more = {"ttl": made.ttl, **({"ident": made.ident} if v4 else {})}
        whole = packets.ip(t.src, t.dst, protocol, part, **more)
        if made.fragments and v4:
            return packets.fragments_v4(whole, made.fragments)
        if made.fragments:
            return packets.fragments_v6(t.src, t.dst, protocol, part, made.fragments)
        return [whole]

    def too_big(self, name, from_, of, mtu):
        """An ICMP error about an earlier step."""
        quoted = self._packets(self.sent[of])[0]
        v4 = len(packed(from_)) == 4
        body = struct.pack("!BBHI", 3 if v4 else 2, 4 if v4 else 0, 0, mtu) + quoted[:200]
        self.time += 200_000
        self.frames.append(files.Frame(self.time, packets.ip(from_, self.sent[of].ends.src, 1 if v4 else 58, body)))
        self.number[name] = len(self.frames)

    def pause(self, seconds):
        self.time += int(seconds * 10**9)

    def octets(self):
        return files.pcap(self.frames, RAW_IP, nano=True)

    # --- messages -------------------------------------------------------------------------------------------------------

    def pair(self, kind, st1, st2, cookie, flags=(), data=b"", node=None, protocol=TCP):
        flags = list(flags)
        if node and ":" in node:
            flags.append("F-LIP6")
        return Message(kind, self.sttype, flags, protocol, cookie, st1, st2, data, node)

    def one(self, kind, t, cookie, data=b"", protocol=TCP):
        return Message(kind, self.sttype1, [], protocol, cookie, t, None, data)

    def query(self, name, t, node, server, cookie, port, data=b"", protocol=TCP, **facts):
        self.step(name, ends=Tuple(node, port, server, ASRP_PORT), carriage="standalone",
                  message=self.one("QS", t, cookie, data, protocol), **facts)

    def answer(self, name, message, node, server, port, **facts):
        self.step(name, ends=Tuple(server, port, node, ASRP_PORT), carriage="standalone", message=message, **facts)

    def ack(self, name, message, node, server, **facts):
        self.step(name, ends=Tuple(server, ASRP_PORT, node, ASRP_PORT), carriage="standalone", message=message, **facts)


# --- the scenarios -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Flow:
    st1: Tuple
    st2: Tuple
    cookie: int = 0xC00C1E01
    data: bytes = b""


def psv_flow(scene, client_port=40000, server=0, full_nat=False, data=b""):
    st1 = Tuple(scene.client, client_port, scene.vip, 80)
    st2 = Tuple(scene.nat, 20001, scene.servers[server], 80) if full_nat else Tuple(scene.client, client_port, scene.servers[server], 80)
    return Flow(st1, st2, data=data)


def psv1(scene, flow=None, push="inline", prefix=""):
    """PSV-Scenario-1: a SYN creates the session, its NS rides in it, the first answer pushes it."""
    f, p = flow or psv_flow(scene), prefix
    message = scene.pair("NS", f.st1, f.st2, f.cookie, data=f.data, node=scene.nodes[0])
    scene.step(p + "syn", ends=f.st1, flags=SYN, seq=1000)
    scene.step(p + "ns", of=p + "syn", ends=f.st2, carriage="inline", message=message)
    pushed = scene.pair("PS", f.st1, f.st2, f.cookie, data=f.data)
    synack = {"ends": reverse(f.st2), "flags": SYN | ACK, "seq": 5000, "ack": 1001}
    if push == "inline":
        scene.step(p + "ps", carriage="inline", message=pushed, **synack)
        scene.step(p + "synack", of=p + "ps", ends=reverse(f.st1))
    else:
        ident = scene.new_ident()
        if push == "separate":
            scene.step(p + "ps", carriage="separate", message=pushed, ident=ident, **{**synack, "flags": ACK})
        scene.step(p + "synack1", ident=ident, **synack)
        scene.step(p + "synack", of=p + "synack1", ends=reverse(f.st1))
    scene.step(p + "ack", ends=f.st1, seq=1001, ack=5001)
    scene.step(p + "ack2", of=p + "ack", ends=f.st2)
    talk(scene, f, p)
    return f


def untranslated(scene):
    """The servers have the service's address: the node translates nothing."""
    st1 = Tuple(scene.client, 40000, scene.vip, 80)
    return psv1(scene, Flow(st1, st1))


def talk(scene, f, prefix="", seq=1001, ack=5001):
    """A request and its answer, seen on both sides."""
    p = prefix
    scene.step(p + "get", ends=f.st1, flags=ACK | PSH, seq=seq, ack=ack, payload=b"GET / HTTP/1.1\r\nHost: example\r\n\r\n")
    scene.step(p + "get2", of=p + "get", ends=f.st2)
    scene.step(p + "page", ends=reverse(f.st2), flags=ACK | PSH, seq=ack, ack=seq + 33, payload=b"HTTP/1.1 200 OK\r\n\r\n" + b"page " * 20)
    scene.step(p + "page2", of=p + "page", ends=reverse(f.st1))


def late_ns(scene, f, prefix=""):
    """An NS apart from its packet asks for NA."""
    message = scene.pair("NS", f.st1, f.st2, f.cookie, ["F-NA"], f.data, scene.nodes[0])
    scene.step(prefix + "ns-late", ends=Tuple(scene.nodes[0], ASRP_PORT, f.st2.dst, ASRP_PORT), carriage="standalone", message=message)
    scene.ack(prefix + "na", scene.pair("NA", f.st1, f.st2, f.cookie, data=f.data), scene.nodes[0], f.st2.dst)


def psv1_standalone(scene):
    """The NS goes apart from the SYN and is acknowledged."""
    f = psv_flow(scene, data=b"\x01\x02\x03\x04")
    scene.step("syn", ends=f.st1, flags=SYN, seq=1000)
    scene.step("syn2", of="syn", ends=f.st2)
    scene.pause(0.3)
    late_ns(scene, f)
    talk(scene, f)
    return f


def psv2(scene):
    """PSV-Scenario-2: a server's packet reaches a node that doesn't have the session."""
    f = psv1(scene)
    scene.pause(1)
    scene.step("page3", ends=reverse(f.st2), flags=ACK | PSH, seq=5120, ack=1034, payload=b"more " * 40)
    scene.query("qs", reverse(f.st2), scene.nodes[1], f.st2.dst, 0xAA01, 33001)
    scene.answer("rs", scene.pair("RS", f.st1, f.st2, 0xAA01), scene.nodes[1], f.st2.dst, 33001)
    scene.step("page4", of="page3", ends=reverse(f.st1))
    return f


def psv3(scene, data=b""):
    """PSV-Scenario-3: a client's packet does; two candidates are asked."""
    f = psv1(scene, psv_flow(scene, full_nat=True))
    scene.pause(1)
    scene.step("get3", ends=f.st1, flags=ACK | PSH, seq=1034, ack=5120, payload=b"GET /second HTTP/1.1\r\n\r\n")
    scene.query("qs1", f.st1, scene.nodes[1], scene.servers[1], 0xAA02, 33002, data)
    scene.query("qs2", f.st1, scene.nodes[1], scene.servers[0], 0xAA02, 33002, data)
    scene.answer("rx", scene.one("RX", f.st1, 0xAA02, data), scene.nodes[1], scene.servers[1], 33002)
    scene.answer("rs", scene.pair("RS", f.st1, f.st2, 0xAA02), scene.nodes[1], scene.servers[0], 33002)
    scene.step("get4", of="get3", ends=f.st2)
    return f


def udp_flow(scene):
    return Flow(Tuple(scene.client, 5000, scene.vip, 53), Tuple(scene.client, 5000, scene.servers[0], 53), 0xD00D)


def udp_created(scene):
    """A datagram that nobody knows: every candidate answers RX, then it creates a session, with NS and NA."""
    f = udp_flow(scene)
    scene.step("ask", ends=f.st1, protocol=UDP, payload=b"what is asked")
    for n, server in enumerate(scene.servers):
        scene.query(f"qs{n}", f.st1, scene.nodes[0], server, 0xBB01, 34001, protocol=UDP)
    for n, server in enumerate(scene.servers):
        scene.answer(f"rx{n}", scene.one("RX", f.st1, 0xBB01, protocol=UDP), scene.nodes[0], server, 34001)
    message = scene.pair("NS", f.st1, f.st2, f.cookie, ["F-NA"], node=scene.nodes[0], protocol=UDP)
    scene.step("ns", of="ask", ends=f.st2, carriage="inline", message=message)
    scene.ack("na", scene.pair("NA", f.st1, f.st2, f.cookie, protocol=UDP), scene.nodes[0], f.st2.dst)
    scene.step("tell", ends=reverse(f.st2), protocol=UDP, payload=b"what is told")
    scene.step("tell2", of="tell", ends=reverse(f.st1))
    return f


def udp_pushed(scene):
    """A large first answer leaves no room: the PS goes before it."""
    f = udp_flow(scene)
    message = scene.pair("NS", f.st1, f.st2, f.cookie, node=scene.nodes[0], protocol=UDP)
    scene.step("ask", ends=f.st1, protocol=UDP, payload=b"what is asked")
    scene.step("ns", of="ask", ends=f.st2, carriage="inline", message=message)
    ident = scene.new_ident()
    pushed = scene.pair("PS", f.st1, f.st2, f.cookie, protocol=UDP)
    scene.step("ps", ends=reverse(f.st2), protocol=UDP, carriage="separate", message=pushed, ident=ident)
    scene.step("tell", ends=reverse(f.st2), protocol=UDP, payload=b"x" * 1400, ident=ident)
    scene.step("tell2", of="tell", ends=reverse(f.st1))
    return f


def conflict(scene):
    """Full NAT: the first mapping is another session's."""
    old = psv1(scene, Flow(Tuple(scene.other_client, 41000, scene.vip, 80), Tuple(scene.nat, 20001, scene.servers[0], 80)), prefix="old-")
    st1 = Tuple(scene.client, 40000, scene.vip, 80)
    taken, free = old.st2, Tuple(scene.nat, 20002, scene.servers[0], 80)
    scene.step("syn", ends=st1, flags=SYN, seq=1000)
    scene.step("ns", of="syn", ends=taken, carriage="inline",
               message=scene.pair("NS", st1, taken, 0xC1, node=scene.nodes[0]))
    scene.ack("nc", scene.pair("NC", st1, taken, 0xC1), scene.nodes[0], scene.servers[0])
    scene.step("ns2", of="syn", ends=free, carriage="inline", ident=scene.new_ident(), flags=SYN, seq=1000,
               message=scene.pair("NS", st1, free, 0xC2, node=scene.nodes[0]))
    scene.step("synack1", ends=reverse(free), flags=SYN | ACK, seq=5000, ack=1001)
    scene.step("synack", of="synack1", ends=reverse(st1))
    talk(scene, Flow(st1, free))
    talk(scene, old, "old2-", 1034, 5120)
    return Flow(st1, free)


def act(scene, inline=False):
    """ACT-Scenario-1: the client says hello behind its SYN, or in it, gets an NS, and is asked for the session later."""
    st1 = Tuple(scene.client, 40000, scene.vip, 80)
    st2 = Tuple(scene.nat, 20001, scene.vip, 80)
    hello = Message("HS", "NULL", [], TCP, 0x4E110)
    if inline:
        scene.step("syn", ends=st1, flags=SYN, seq=1000, carriage="inline", message=hello)
    else:
        scene.step("syn", ends=st1, flags=SYN, seq=1000)
        scene.step("hs", ends=st1, flags=ACK, seq=1000, carriage="separate", message=hello, ident=scene.sent["syn"].ident)
    scene.step("syn2", of="syn", ends=st2)
    scene.step("ns", ends=Tuple(scene.nodes[0], ASRP_PORT, scene.client, ASRP_PORT), carriage="standalone",
               message=scene.pair("NS", st1, st2, 0x4E110, node=scene.nodes[0]))
    scene.step("synack1", ends=reverse(st2), flags=SYN | ACK, seq=5000, ack=1001)
    scene.step("synack", of="synack1", ends=reverse(st1))
    f = Flow(st1, st2, 0x4E110)
    talk(scene, f)
    scene.pause(1)
    scene.step("page3", ends=reverse(st2), flags=ACK | PSH, seq=5120, ack=1034, payload=b"more " * 40)
    scene.query("qs", reverse(st2), scene.nodes[1], scene.client, 0xAA01, 33001)
    scene.answer("rs", scene.pair("RS", st1, st2, 0xAA01), scene.nodes[1], scene.client, 33001)
    scene.step("page4", of="page3", ends=reverse(st1))
    return f


def queries(scene, ports=None, cookies=True):
    """Many recoveries of one node."""
    for n in range(12):
        f = psv_flow(scene, 41000 + n)
        port = ports(n) if ports else scene.random.randrange(20000, 60000)
        scene.step(f"get{n}", ends=f.st1, flags=ACK | PSH, seq=1, ack=1, payload=b"hello")
        cookie = 0xEE00 + n if cookies else 0
        scene.query(f"qs{n}", f.st1, scene.nodes[0], scene.servers[0], cookie, port)
        scene.answer(f"rs{n}", scene.pair("RS", f.st1, f.st2, cookie), scene.nodes[0], scene.servers[0], port)
        scene.step(f"get{n}b", of=f"get{n}", ends=f.st2)


SCENARIOS = {
    "psv1": psv1,
    "psv1-separate": lambda scene: psv1(scene, push="separate"),
    "psv1-full-nat": lambda scene: psv1(scene, psv_flow(scene, full_nat=True, data=b"\x07\x08")),
    "psv1-standalone": psv1_standalone,
    "psv1-untranslated": untranslated,
    "psv2": psv2,
    "psv3": psv3,
    "psv3-data": lambda scene: psv3(scene, b"\x09\x0a"),
    "udp-created": udp_created,
    "udp-pushed": udp_pushed,
    "conflict": conflict,
    "act": act,
    "act-inline": lambda scene: act(scene, inline=True),
    "queries": queries,
}
