# SPDX-License-Identifier: BSD-3-Clause
"""Captures that look as if a rule were broken, while something that the capture doesn't show explains each of them: asrpdump --check may call
what it finds there possible, never certain."""

import files
import packets
from asrp import UDP, Message, Tuple
from exchanges import ASRP_PORT, BEGIN, PSH, SYN, Flow, late_ns, psv1, psv_flow, reverse, udp_flow, untranslated
from packets import ACK, udp


def _pair(scene, flow, kind, cookie, flags=(), data=b"", protocol=UDP):
    node = scene.nodes[0] if kind == "NS" else None
    return scene.pair(kind, flow.st1, flow.st2, cookie, flags, data, node, protocol)


def _ask(scene, flow, name, message, left_out=False):
    """A datagram of the client, and the same with its NS behind the node."""
    scene.step(f"ask-{name}", ends=flow.st1, protocol=UDP, payload=f"question {name}".encode())
    scene.step(f"ns-{name}", of=f"ask-{name}", ends=flow.st2, carriage="inline", message=message, left_out=left_out)


def push_of_a_missing_ns(scene, acknowledged=True, seconds=0):
    """Two NS; the second is missing, its PS isn't."""
    f = udp_flow(scene)
    _ask(scene, f, "a", _pair(scene, f, "NS", 0xA1, ["F-NA"]))
    if acknowledged:
        scene.ack("na", _pair(scene, f, "NA", 0xA1), scene.nodes[0], f.st2.dst)
    scene.pause(seconds)
    _ask(scene, f, "b", _pair(scene, f, "NS", 0xB2), left_out=True)
    scene.step("tell", ends=reverse(f.st2), protocol=UDP, payload=b"answer", carriage="inline", message=_pair(scene, f, "PS", 0xB2))


def refused_without_cookies(scene):
    """The mapping was refused; the NS with the next one is missing. Nobody uses cookies."""
    old = psv1(scene, Flow(Tuple(scene.other_client, 41000, scene.vip, 80), Tuple(scene.nat, 20001, scene.servers[0], 80), 0), prefix="old-")
    st1 = Tuple(scene.client, 40000, scene.vip, 80)
    free = Tuple(scene.nat, 20002, scene.servers[0], 80)
    scene.step("syn", ends=st1, flags=SYN, seq=1000)
    scene.step("ns", of="syn", ends=old.st2, carriage="inline", message=scene.pair("NS", st1, old.st2, 0, node=scene.nodes[0]))
    scene.ack("nc", scene.pair("NC", st1, old.st2, 0), scene.nodes[0], scene.servers[0])
    scene.step("ps", ends=reverse(free), flags=SYN | ACK, seq=5000, ack=1001, carriage="inline", message=scene.pair("PS", st1, free, 0))


def other_node_without_cookies(scene):
    """NA to two nodes; the NS of the one is missing."""
    f = udp_flow(scene)
    _ask(scene, f, "a", _pair(scene, f, "NS", 0, ["F-NA"]))
    scene.ack("na1", _pair(scene, f, "NA", 0), scene.nodes[1], f.st2.dst)
    scene.ack("na0", _pair(scene, f, "NA", 0), scene.nodes[0], f.st2.dst)


def data_changes(scene):
    """Each NS brings other Session-Data under one cookie."""
    f = udp_flow(scene)
    for n in (1, 2):
        _ask(scene, f, str(n), _pair(scene, f, "NS", 0xA1, ["F-NA"], b"t=%d" % n))
    for n in (1, 2):
        scene.ack(f"na{n}", _pair(scene, f, "NA", 0xA1, data=b"t=%d" % n), scene.nodes[0], f.st2.dst)


def data_not_returned(scene):
    """NA and RX without the Session-Data that NS and QS had."""
    f = udp_flow(scene)
    _ask(scene, f, "a", _pair(scene, f, "NS", 0xA1, ["F-NA"], b"t=1"))
    scene.ack("na", _pair(scene, f, "NA", 0xA1), scene.nodes[0], f.st2.dst)
    scene.query("qs", f.st1, scene.nodes[1], scene.servers[0], 0xBB01, 34001, b"\x01\x02", protocol=UDP)
    scene.answer("rx", scene.one("RX", f.st1, 0xBB01, protocol=UDP), scene.nodes[1], scene.servers[0], 34001)


def two_hellos(scene):
    """A second HS before the NS that answers the first."""
    st1, st2 = Tuple(scene.client, 40000, scene.vip, 80), Tuple(scene.nat, 20001, scene.vip, 80)
    hello = [Message("HS", "NULL", [], 6, cookie) for cookie in (0xA1, 0xA2)]
    scene.step("syn", ends=st1, flags=SYN, seq=1000)
    scene.step("hs", ends=st1, flags=ACK, seq=1000, carriage="separate", message=hello[0], ident=scene.sent["syn"].ident)
    scene.step("syn2", of="syn", ends=st2)
    scene.step("hs2", ends=st1, flags=ACK | PSH, seq=1001, ack=5001, payload=b"x" * 40, message=hello[1], carriage="inline")
    for cookie in (0xA1, 0xA2):
        scene.step(f"ns{cookie}", ends=Tuple(scene.nodes[0], ASRP_PORT, scene.client, ASRP_PORT), carriage="standalone",
                   message=scene.pair("NS", st1, st2, cookie, node=scene.nodes[0]))


def sessions_anew(scene):
    """Standalone NS of many connections with one tuple; their SYN are not in the capture."""
    f = psv_flow(scene)
    late_ns(scene, f)
    for n in range(9):
        scene.pause(60)
        scene.step(f"ns{n}", ends=Tuple(scene.nodes[0], ASRP_PORT, f.st2.dst, ASRP_PORT), carriage="standalone",
                   message=_pair(scene, f, "NS", 0x100 + n, protocol=6))


def cookie_of_each_try(scene):
    """The repetition of a QS, with a cookie of its own, is missing."""
    f = psv1(scene)
    scene.query("qs", reverse(f.st2), scene.nodes[1], f.st2.dst, 0xAA01, 33001)
    scene.answer("rs", scene.pair("RS", f.st1, f.st2, 0xAA02), scene.nodes[1], f.st2.dst, 33001)


def derived_cookie(scene, node=0):
    """Cookies are derived from the session: a later query, which is missing, had the same one."""
    f = psv1(scene)
    scene.query("qs", reverse(f.st2), scene.nodes[1], f.st2.dst, 0xAA01, 33001)
    scene.answer("rs", scene.pair("RS", f.st1, f.st2, 0xAA01), scene.nodes[1], f.st2.dst, 33001)
    scene.pause(30)
    scene.answer("rs2", scene.pair("RS", f.st1, f.st2, 0xAA01), scene.nodes[node], f.st2.dst, 45678)


def two_queries_without_cookies(scene):
    """One port, no cookies, two sessions."""
    flows = [psv_flow(scene, port) for port in (41001, 41002)]
    for n, f in enumerate(flows):
        scene.query(f"qs{n}", f.st1, scene.nodes[0], scene.servers[0], 0, 40000)
    for n, f in enumerate(flows):
        scene.answer(f"rx{n}", scene.one("RX", f.st1, 0), scene.nodes[0], scene.servers[0], 40000)


def one_identification(scene):
    """Who sends numbers his packets 7, all of them; one is missing in front of the node."""
    f = untranslated(scene)
    for n, left_out in enumerate((False, False, True)):
        scene.step(f"more{n}", ends=f.st1, flags=ACK | PSH, seq=1034 + 40 * n, ack=5120, payload=b"x" * 40, ident=7, left_out=left_out)
        scene.step(f"more{n}b", of=f"more{n}", ends=f.st2)


def neighbouring_ports(scene):
    """Two recoveries take turns, and their random ports happen to be neighbours."""
    for n in range(20):
        f = psv_flow(scene, 41001 + n % 2)
        scene.query(f"qs{n}", f.st1, scene.nodes[0], scene.servers[0], 0xA1 + n % 2, 40000 + n % 2)


def foreign(source, destination, payload):
    """A datagram of programs that have nothing to do with ASRP, one of which got ASRP-PORT for its socket."""

    def make(scene):
        part = udp(scene.client, scene.vip, source, destination, payload)
        scene.frames.append(files.Frame(BEGIN, packets.ip(scene.client, scene.vip, 17, part)))

    return make


def left_in_datagram(scene):
    """The node leaves a PS where it is: the client's UDP passes over the option."""
    f = udp_flow(scene)
    _ask(scene, f, "a", _pair(scene, f, "NS", 0xA1))
    pushed = _pair(scene, f, "PS", 0xA1)
    scene.step("tell", ends=reverse(f.st2), protocol=UDP, payload=b"answer", carriage="inline", message=pushed)
    scene.step("tell2", of="tell", ends=reverse(f.st1), carriage="inline", message=pushed)


def acknowledged_again(scene):
    """The first NS is lost behind the capture, which misses the second one, with a cookie of its own. Only its datagram is seen, in front."""
    f = udp_flow(scene)
    _ask(scene, f, "a", _pair(scene, f, "NS", 0xA1, ["F-NA"]))
    _ask(scene, f, "b", _pair(scene, f, "NS", 0xB2, ["F-NA"]), left_out=True)
    scene.ack("na", _pair(scene, f, "NA", 0xB2), scene.nodes[0], f.st2.dst)


def acknowledged_again_behind(scene):
    """The same in a capture that has the server's side only."""
    f = udp_flow(scene)
    scene.step("ns", ends=f.st2, protocol=UDP, payload=b"a", carriage="inline", message=_pair(scene, f, "NS", 0xA1, ["F-NA"]))
    scene.ack("na", _pair(scene, f, "NA", 0xB2), scene.nodes[0], f.st2.dst)


def acknowledged_other_node(scene, kind="NA"):
    """All nodes derive one cookie from the session; the second datagram reaches another node, whose NS is missing."""
    f = udp_flow(scene)
    _ask(scene, f, "a", _pair(scene, f, "NS", 0xA1, ["F-NA"]))
    _ask(scene, f, "b", _pair(scene, f, "NS", 0xA1, ["F-NA"]), left_out=True)
    scene.ack("answer", _pair(scene, f, kind, 0xA1), scene.nodes[1], f.st2.dst)


def acknowledged_elsewhere(scene, cookie=0xA1):
    """Nothing of the other node is in the capture, but for what the server answers it."""
    f = udp_flow(scene)
    _ask(scene, f, "a", _pair(scene, f, "NS", 0xA1, ["F-NA"]))
    scene.ack("na", _pair(scene, f, "NA", cookie), scene.nodes[1], f.st2.dst)


def pushed_elsewhere(scene, cookie=0xB2):
    """The SYN is repeated, and reaches another node, which the capture doesn't show, with a mapping of its own."""
    f = psv_flow(scene)
    other = f if cookie == 0xB2 else Flow(f.st1, Tuple(scene.nat, 20007, scene.servers[0], 80))
    scene.step("syn", ends=f.st1, flags=SYN, seq=1000)
    scene.step("ns", of="syn", ends=f.st2, carriage="inline", message=_pair(scene, f, "NS", 0xA1, protocol=6))
    scene.pause(0.25)
    scene.step("ps", ends=reverse(other.st2), flags=SYN | ACK, seq=5000, ack=1001, carriage="inline",
               message=_pair(scene, other, "PS", cookie, protocol=6))


def acknowledged_other_mapping(scene):
    """As before; the other node has addresses of its own to map clients to."""
    f = udp_flow(scene)
    other = Flow(f.st1, Tuple(scene.nat, 20007, scene.servers[0], 53))
    _ask(scene, f, "a", _pair(scene, f, "NS", 0xA1, ["F-NA"]))
    scene.step("ask-b", ends=f.st1, protocol=UDP, payload=b"question b")
    scene.ack("na", _pair(scene, other, "NA", 0xA1), scene.nodes[0], f.st2.dst)


def pushed_other_mapping(scene):
    """The same with PS."""
    f = udp_flow(scene)
    other = Flow(f.st1, Tuple(scene.nat, 20007, scene.servers[0], 53))
    _ask(scene, f, "a", _pair(scene, f, "NS", 0xA1))
    scene.step("ask-b", ends=f.st1, protocol=UDP, payload=b"question b")
    scene.step("tell", ends=reverse(other.st2), protocol=UDP, payload=b"answer", carriage="inline", message=_pair(scene, other, "PS", 0xA1))


def one_cookie_for_all(scene):
    """A node has one cookie for all its sessions; the second one's NS is missing."""
    flows = [psv_flow(scene, port) for port in (41001, 41002)]
    for n, f in enumerate(flows):
        scene.step(f"syn{n}", ends=f.st1, flags=SYN, seq=1000)
        scene.step(f"ns{n}", of=f"syn{n}", ends=f.st2, carriage="inline", left_out=n == 1,
                   message=_pair(scene, f, "NS", 0xA1, ["F-NA"], protocol=6))
    scene.ack("na", _pair(scene, flows[1], "NA", 0xA1, protocol=6), scene.nodes[0], flows[1].st2.dst)


def another_try(scene):
    """A SYN is lost in front of the node. The client tries again from the same port with another sequence number, which the capture misses
    there."""
    f = psv_flow(scene)
    scene.step("syn", ends=f.st1, flags=SYN, seq=1000)
    scene.pause(0.3)
    scene.step("ns", ends=f.st2, flags=SYN, seq=2000, carriage="inline", ttl=62,
               message=_pair(scene, f, "NS", 0xA1, protocol=6))


def one_identification_of_tries(scene):
    """The same of who sends numbers all packets 7."""
    f = psv_flow(scene)
    scene.step("syn", ends=f.st1, flags=SYN, seq=1000, ident=7)
    scene.pause(0.3)
    scene.step("syn2", ends=f.st1, flags=SYN, seq=1000, ident=7)
    scene.pause(0.3)
    scene.step("ns", ends=f.st2, flags=SYN, seq=2000, ident=7, carriage="inline", ttl=62, message=_pair(scene, f, "NS", 0xA1, protocol=6))


def syn_repeated(scene, data=b""):
    """A SYN is repeated soon, and the NS of the repetition is missing."""
    f = psv_flow(scene)
    scene.step("syn", ends=f.st1, flags=SYN, seq=1000)
    scene.step("ns", of="syn", ends=f.st2, carriage="inline", message=_pair(scene, f, "NS", 0xA1, data=data, protocol=6))
    scene.pause(0.2)
    scene.step("syn2", ends=f.st1, flags=SYN, seq=1000)
    scene.step("ps", ends=reverse(f.st2), flags=SYN | ACK, seq=5000, ack=1001, carriage="inline",
               message=_pair(scene, f, "PS", 0xA1 if data else 0xB2, protocol=6))


def syn_repeated_behind(scene):
    """The same in a capture that has the server's side only."""
    f = psv_flow(scene)
    scene.step("ns", ends=f.st2, flags=SYN, seq=1000, carriage="inline", message=_pair(scene, f, "NS", 0xA1, protocol=6))
    scene.step("ps", ends=reverse(f.st2), flags=SYN | ACK, seq=5000, ack=1001, carriage="inline",
               message=_pair(scene, f, "PS", 0xB2, protocol=6))


def hello_repeated(scene):
    """The first NS is lost; the HS of the repeated SYN is missing, its NS isn't."""
    st1, st2 = Tuple(scene.client, 40000, scene.vip, 80), Tuple(scene.nat, 20001, scene.vip, 80)
    for n in (1, 2):
        scene.step(f"syn{n}", ends=st1, flags=SYN, seq=1000)
        scene.step(f"hs{n}", ends=st1, flags=ACK, seq=1000, carriage="separate", message=Message("HS", "NULL", [], 6, 0xA0 + n),
                   ident=scene.sent[f"syn{n}"].ident, left_out=n == 2)
        scene.step(f"syn{n}b", of=f"syn{n}", ends=st2)
        scene.pause(0.2)
    scene.step("ns", ends=Tuple(scene.nodes[0], ASRP_PORT, scene.client, ASRP_PORT), carriage="standalone",
               message=scene.pair("NS", st1, st2, 0xA2, node=scene.nodes[0]))


def of_another_port(scene):
    """Another cluster's ASRP-PORT is 51201; its TCP flows are in the capture."""
    f = psv1(scene)
    port = 51201
    scene.step("ns", ends=Tuple(scene.nodes[0], port, f.st2.dst, port), carriage="standalone",
               message=scene.pair("NS", f.st1, f.st2, f.cookie, ["F-NA"], node=scene.nodes[0]))
    scene.step("na", ends=Tuple(f.st2.dst, port, scene.nodes[0], port), carriage="standalone", message=scene.pair("NA", f.st1, f.st2, f.cookie))


SCENES = {
    "another ASRP-PORT": of_another_port,
    "acknowledged again": acknowledged_again,
    "acknowledged again, server's side": acknowledged_again_behind,
    "acknowledged, other node": acknowledged_other_node,
    "refused, other node": lambda scene: acknowledged_other_node(scene, "NC"),
    "acknowledged elsewhere": acknowledged_elsewhere,
    "acknowledged elsewhere, other cookie": lambda scene: acknowledged_elsewhere(scene, 0xB2),
    "pushed elsewhere": pushed_elsewhere,
    "pushed elsewhere, one cookie": lambda scene: pushed_elsewhere(scene, 0xA1),
    "acknowledged, other mapping": acknowledged_other_mapping,
    "pushed, other mapping": pushed_other_mapping,
    "one cookie for all": one_cookie_for_all,
    "another try": another_try,
    "another try, one identification": one_identification_of_tries,
    "SYN repeated": syn_repeated,
    "SYN repeated, data": lambda scene: syn_repeated(scene, b"t=1"),
    "SYN repeated, server's side": syn_repeated_behind,
    "hello repeated": hello_repeated,
    "push of a missing NS": push_of_a_missing_ns,
    "push of a missing NS, not acknowledged": lambda scene: push_of_a_missing_ns(scene, acknowledged=False),
    "push of a missing NS, later": lambda scene: push_of_a_missing_ns(scene, seconds=2),
    "refused without cookies": refused_without_cookies,
    "other node without cookies": other_node_without_cookies,
    "data changes": data_changes,
    "data not returned": data_not_returned,
    "two hellos": two_hellos,
    "sessions anew": sessions_anew,
    "cookie of each try": cookie_of_each_try,
    "derived cookie": derived_cookie,
    "derived cookie, same node": lambda scene: derived_cookie(scene, 1),
    "two queries without cookies": two_queries_without_cookies,
    "one identification": one_identification,
    "neighbouring ports": neighbouring_ports,
    "STUN": foreign(19302, ASRP_PORT, bytes.fromhex("000100002112a442") + b"x" * 12),
    "TFTP": foreign(40001, ASRP_PORT, bytes.fromhex("00030001") + b"x" * 512),
    "TFTP acknowledgment": foreign(ASRP_PORT, 40001, bytes.fromhex("00040001")),
    "DNS": foreign(ASRP_PORT, 53, bytes.fromhex("000201000001000000000000") + b"\x03foo\x00\x00\x01\x00\x01"),
    "DNS answer": foreign(53, ASRP_PORT, bytes.fromhex("000281800001000000000000") + b"\x03foo\x00\x00\x01\x00\x01"),
    "zeros": foreign(40001, ASRP_PORT, bytes(4)),
    "left in its datagram": left_in_datagram,
}
# Nothing to find at all.
SILENT = {"data changes", "two hellos", "two queries without cookies", "one identification", "neighbouring ports", "left in its datagram",
          "TFTP acknowledgment", "DNS"}
