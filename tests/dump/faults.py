# SPDX-License-Identifier: BSD-3-Clause
"""One capture for each rule of asrpdump --check, with exactly one fault in an exchange that is right otherwise, and what has to be found.

    python3 faults.py DIRECTORY      writes all captures
"""

import dataclasses
import sys
from pathlib import Path

import exchanges
from asrp import Tuple
from exchanges import Scene, reverse


@dataclasses.dataclass
class Fault:
    name: str
    rule: str
    certain: bool
    scenario: object  # function of a scene
    edits: dict  # step -> function that alters it
    packets: list  # steps whose packets the finding names; a finding may name more that are not listed as `...`
    rule_again: list = dataclasses.field(default_factory=list)  # more findings: (rule, certain, steps)

    def scene(self, family):
        scene = Scene(family, self.edits)
        self.scenario(scene)
        return scene

    def expected(self, scene):
        found = [(self.rule, self.certain, self.packets)] + self.rule_again
        return sorted((rule, certain, sorted(scene.number[step] for step in steps)) for rule, certain, steps in found)


def message(**fields):
    """Alters fields of the step's message."""

    def edit(step):
        for name, value in fields.items():
            setattr(step.message, name, value)

    return edit


def fields(**values):
    """Alters the step itself."""

    def edit(step):
        for name, value in values.items():
            setattr(step, name, value)

    return edit


def octets(at, value):
    """Alters an octet of the encoded message."""
    return fields(octets=lambda raw: raw[:at] + bytes([value]) + raw[at + 1 :])


def both(*edits):
    def edit(step):
        for one in edits:
            one(step)

    return edit


def swap_tuples(step):
    step.message.st1, step.message.st2 = step.message.st2, step.message.st1


def ends(**values):
    def edit(step):
        step.ends = dataclasses.replace(step.ends, **values)

    return edit


def ends_swapped_ports(step):
    t = step.ends
    step.ends = Tuple(t.src, t.dport, t.dst, t.sport)


def other_tuple(which, **values):
    def edit(step):
        setattr(step.message, which, dataclasses.replace(getattr(step.message, which), **values))

    return edit


def in_flow(scenario, step):
    """The step's message travels in a segment of the flow that is answered, instead of a datagram of its own."""

    def edit(made):
        made.carriage = "separate"
        made.ends = reverse(made.message.st2) if made.message.st2 else reverse(made.message.st1)
        made.seq, made.ack = 9000, 9000

    return {step: edit}, scenario


S = exchanges.SCENARIOS


def _end(scenario, seconds=3):
    """The capture goes on, so that what is missing is missing."""

    def run(scene):
        flow = scenario(scene)
        scene.pause(seconds)
        stranger = Tuple(scene.other_client, 999, scene.vip, 999)
        scene.step("end", ends=stranger, seq=1, ack=1)
        return flow

    return run


def _ns_after_na(times):
    def run(scene):
        f = exchanges.psv1_standalone(scene)
        for n in range(times):
            scene.pause(0.4)
            note = scene.pair("NS", f.st1, f.st2, f.cookie, ["F-NA"], f.data, scene.nodes[0])
            scene.step(f"again{n}", ends=Tuple(scene.nodes[0], 51200, f.st2.dst, 51200), carriage="standalone", message=note)
        scene.ack("na2", scene.pair("NA", f.st1, f.st2, f.cookie, data=f.data), scene.nodes[0], f.st2.dst)

    return run


def _not_repeated(scene):
    f = exchanges.psv1_standalone(scene)
    scene.pause(2)
    for n in range(3):
        exchanges.talk(scene, f, f"more{n}-", 1034 + 33 * n, 5120 + 119 * n)


def _denied(scene):
    f = exchanges.psv1_standalone(scene)
    scene.step("page3", ends=reverse(f.st2), flags=24, seq=5120, ack=1034, payload=b"more " * 40)
    scene.query("qs", reverse(f.st2), scene.nodes[1], f.st2.dst, 0xAA01, 33001)
    scene.answer("rx", scene.one("RX", reverse(f.st2), 0xAA01), scene.nodes[1], f.st2.dst, 33001)


def _denied_push(scene):
    f = exchanges.psv1(scene)
    scene.query("qs", f.st1, scene.nodes[1], f.st2.dst, 0xAA01, 33001)
    scene.answer("rx", scene.one("RX", f.st1, 0xAA01), scene.nodes[1], f.st2.dst, 33001)


def _refused(scene):
    f = exchanges.udp_flow(scene)
    scene.step("ask", ends=f.st1, protocol=exchanges.UDP, payload=b"what is asked")
    scene.step("ns", of="ask", ends=f.st2, carriage="inline",
               message=scene.pair("NS", f.st1, f.st2, f.cookie, ["F-NA"], node=scene.nodes[0], protocol=exchanges.UDP))
    scene.ack("nc", scene.pair("NC", f.st1, f.st2, f.cookie, protocol=exchanges.UDP), scene.nodes[0], f.st2.dst)


def _unasked_ack(scene):
    f = exchanges.psv_flow(scene)
    scene.ack("na", scene.pair("NA", f.st1, f.st2, 0xC1), scene.nodes[0], f.st2.dst)


def _large(scene):
    f = exchanges.psv1(scene)
    scene.pause(1)
    full = {"flags": 24, "seq": 5120, "ack": 1034, "payload": b"y" * 1340}
    scene.step("big", ends=reverse(f.st2), **full)
    scene.too_big("icmp", scene.nodes[0], "big", 1300)
    pushed = scene.pair("PS", f.st1, f.st2, f.cookie)
    scene.step("ps2", ends=reverse(f.st2), carriage="inline", message=pushed, **{**full, "payload": b"y" * 1240})
    scene.step("ps3", of="ps2", ends=reverse(f.st1))


def _hello_twice(scene):
    f = exchanges.act(scene)
    scene.step("hs2", ends=f.st1, flags=16, seq=1034, ack=5320, carriage="separate",
               message=exchanges.Message("HS", "NULL", [], 6, 0x4E111))


def _hello_order(scene):
    f = exchanges.act(scene)
    ident = scene.new_ident()
    note = {"ends": f.st1, "seq": 1034, "ack": 5320, "ident": ident}
    scene.step("hs2", flags=16, carriage="separate", message=exchanges.Message("HS", "NULL", [], 6, 0x4E111), **note)
    scene.step("get3", flags=24, payload=b"and again", **note)
    scene.step("get4", of="get3", ends=f.st2)
    scene.step("ns2", ends=Tuple(scene.nodes[1], 51200, scene.client, 51200), carriage="standalone",
               message=scene.pair("NS", f.st1, f.st2, 0x4E111, node=scene.nodes[1]))


def _passed_through(scene):
    f = exchanges.act(scene)
    scene.step("hs3", ends=f.st2, flags=16, seq=1034, ack=5320, carriage="separate",
               message=exchanges.Message("HS", "NULL", [], 6, 0x4E112))


def _push_in_act(scene):
    f = exchanges.act(scene)
    scene.step("ps", ends=reverse(f.st2), flags=16, seq=5320, ack=1034, carriage="separate",
               message=scene.pair("PS", f.st1, f.st2, f.cookie))


def all_faults(family=4):
    """The faults; some need addresses of the family."""
    clean = Scene(family)
    other_server = clean.servers[1]
    v4 = family == 4
    found = [
        # --- one packet
        Fault("type", "valid", True, lambda s: exchanges.psv1(s, push="none"), {"ns": octets(1, 9)}, ["ns"]),
        Fault("sttype-of-qs", "valid", True, S["psv2"], {"rs": octets(2, 5)}, ["rs"]),
        Fault("length", "valid", True, S["psv1-standalone"], {"na": octets(5, 250)}, ["na"]),
        Fault("flag-bit", "reserved", True, S["psv2"], {"rs": octets(3, 0x40)}, ["rs"]),
        Fault("reserved-octet", "reserved", True, S["psv1"], {"ns": octets(6, 1)}, ["ns"]),
        Fault("reserved-of-hs", "reserved", True, S["act"], {"hs": octets(13, 1)}, ["hs"]),
        Fault("na-in-flow", "ack-destination", True, S["psv1-standalone"], in_flow(None, "na")[0], ["na"]),
        Fault("rs-in-flow", "answer-header", True, S["psv2"], in_flow(None, "rs")[0], ["rs"]),
        Fault("ps-standalone", "carriage", True, lambda s: exchanges.psv1(s, push="separate"),
              {"ps": both(fields(carriage="standalone"), lambda step: ends(sport=51200, dport=51200)(step))}, ["ps"]),
        Fault("ns-port", "port", True, S["psv1-standalone"], {"ns-late": ends(dport=51201)}, ["ns-late"]),
        Fault("ns-port-from-elsewhere", "port", False, S["psv1-standalone"], {"ns-late": ends(sport=5555, dport=51201)}, ["ns-late"]),
        Fault("ns-port-of-new-session", "port", False, S["act"], {"ns": ends(sport=5555, dport=51201)}, ["ns"]),
        Fault("nc-asks-na", "conflict-flags", True, S["conflict"], {"nc": message(flags=["F-NA"])}, ["nc"]),
        Fault("checksum", "checksum", False, S["psv2"], {"rs": fields(broken_sum=True)}, ["rs"]),
        Fault("fragments", "mtu", not v4, S["psv1"], {"get": fields(payload=b"z" * 1400), "get2": _inline_in_fragments(clean)}, ["get2"]),
        Fault("path-mtu", "mtu", False, _large, {}, ["icmp", "ps2"]),
        # --- tuples
        Fault("ns-tuples-exchanged", "ns-carrier", True, lambda s: exchanges.psv1(s, exchanges.psv_flow(s, full_nat=True), "none"),
              {"ns": swap_tuples}, ["ns"]),
        Fault("ns-other-carrier", "ns-carrier", True, lambda s: exchanges.psv1(s, push="none"),
              {"ns": lambda step: other_tuple("st2", sport=4)(step)}, ["ns"]),
        Fault("ps-tuples-exchanged", "ps-carrier", True, lambda s: exchanges.psv1(s, exchanges.psv_flow(s, full_nat=True)),
              {"ps": swap_tuples}, ["ps"], [("backup-tuples", True, ["ns", "ps"])]),
        Fault("rs-tuples-exchanged", "backup-tuples", True, S["psv2"], {"rs": swap_tuples}, ["ns", "rs"]),
        Fault("rs-other-client-side", "backup-tuples", False, S["psv2"], {"rs": other_tuple("st1", sport=4)}, ["ns", "rs"]),
        Fault("ps-in-act", "mode", True, _push_in_act, {}, ["ps"]),
        # --- NS, NA, NC
        Fault("na-cookie", "ack-cookie", True, S["psv1-standalone"], {"na": message(cookie=7)}, ["ns-late", "na"]),
        Fault("nc-cookie", "ack-cookie", True, S["conflict"], {"nc": message(cookie=7)}, ["ns", "nc"]),
        Fault("na-destination", "ack-destination", False, S["psv1-standalone"], {"na": ends(dst=clean.nodes[1])}, ["ns-late", "na"]),
        Fault("na-port", "ack-destination", True, S["psv1-standalone"], {"na": ends(dport=4000)}, ["ns-late", "na"]),
        Fault("na-port-from-elsewhere", "ack-destination", False, S["psv1-standalone"], {"na": ends(sport=4001, dport=4000)},
              ["ns-late", "na"]),
        Fault("nc-client-side", "ack-tuples", False, _end(_refused), {"nc": other_tuple("st1", sport=4)}, ["ns", "nc"]),
        Fault("nc-destination", "conflict-destination", False, S["conflict"], {"nc": ends(dst=clean.nodes[1])}, ["ns", "nc"]),
        Fault("nc-port", "conflict-destination", True, S["conflict"], {"nc": ends(dport=4000)}, ["ns", "nc"]),
        Fault("na-tuples", "ack-tuples", True, S["psv1-standalone"], {"na": other_tuple("st2", dst=other_server)}, ["ns-late", "na"]),
        Fault("na-tuples-exchanged", "ack-tuples", True, S["psv1-standalone"], {"na": swap_tuples}, ["ns-late", "na"]),
        Fault("na-unasked", "ack-unasked", False, _unasked_ack, {}, ["na"]),
        Fault("na-missing", "ack-missing", False, _end(S["psv1-standalone"]), {"na": fields(left_out=True)}, ["ns-late"]),
        Fault("ns-after-na", "ns-after-na", False, _ns_after_na(1), {}, ["na", "again0"]),
        Fault("ns-after-na-often", "ns-after-na", False, _ns_after_na(8), {}, ["na", "again0"]),
        Fault("ns-not-repeated", "ns-not-repeated", False, _not_repeated, {"na": fields(left_out=True)}, ["ns-late", "more2-get2"],
              [("ack-missing", False, ["ns-late"])]),
        Fault("na-data", "session-data", False, S["psv1-standalone"], {"na": message(session_data=b"\x01\x02\x03")}, ["ns-late", "na"]),
        Fault("ps-data", "session-data", True, S["psv1-full-nat"], {"ps": message(session_data=b"")}, ["ns", "ps"]),
        Fault("rs-data", "session-data", False, S["psv2"], {"rs": message(session_data=b"\x05")}, ["ns", "rs"]),
        Fault("rx-data", "session-data", False, S["psv3-data"], {"rx": message(session_data=b"")}, ["qs1", "rx"]),
        # --- QS, RS, RX
        Fault("qs-port", "query-port", True, S["psv2"], {"qs": ends(sport=51200, dport=51300), "rs": ends(sport=51200, dport=51300)},
              ["qs"]),
        Fault("qs-port-answered", "query-port", True, S["psv2"], {"qs": ends(dport=51300), "rs": ends(dport=51300)}, ["qs"]),
        Fault("qs-port-alone", "query-port", True, S["psv2"],
              {"qs": ends(dport=51300), "rs": fields(left_out=True), "page4": fields(left_out=True)}, ["qs"]),
        Fault("fixed-port", "query-random", True, lambda s: exchanges.queries(s, lambda n: 33000), {}, ["qs8"]),
        Fault("counting-port", "query-random", True, lambda s: exchanges.queries(s, lambda n: 33000 + n), {}, ["qs8"]),
        Fault("fixed-port-without-cookies", "query-random", True, lambda s: exchanges.queries(s, lambda n: 33000, False), {}, ["qs8"]),
        Fault("port-by-two", "query-random", True, lambda s: exchanges.queries(s, lambda n: 65531 + 2 * n & 65535), {}, ["qs8"]),
        Fault("port-by-thousand", "query-random", True, lambda s: exchanges.queries(s, lambda n: 33000 - 1000 * n), {}, ["qs9"]),
        Fault("qs-direction", "query-tuple", False, S["psv2"], {"qs": lambda step: message(st1=reverse(step.message.st1))(step)}, ["qs"]),
        Fault("rs-ports-swapped", "answer-header", True, S["psv2"], {"rs": ends_swapped_ports}, ["qs", "rs"]),
        Fault("rx-from-elsewhere", "answer-unasked", False, S["psv3"], {"rx": ends(src=clean.nodes[0])}, ["rx"]),
        Fault("rs-to-elsewhere", "answer-header", False, S["psv2"], {"rs": ends(dst=clean.nodes[0])}, ["qs", "rs"]),
        Fault("rs-port", "answer-header", False, _end(S["psv2"]), {"rs": ends(dport=51201)}, ["qs", "rs"]),
        Fault("rx-port", "answer-header", False, _end(S["psv3"]), {"rx": ends(dport=51201)}, ["qs1", "rx"]),
        Fault("rs-cookie", "answer-cookie", False, S["psv2"], {"rs": message(cookie=7)}, ["qs", "rs"]),
        Fault("rx-cookie", "answer-cookie", False, S["psv3"], {"rx": message(cookie=7)}, ["qs1", "rx"]),
        Fault("rx-tuple", "answer-tuple", True, S["psv3"], {"rx": other_tuple("st1", sport=1)}, ["qs1", "rx"]),
        Fault("rx-tuple-of-holder", "answer-tuple", True, _denied_push, {"rx": other_tuple("st1", sport=1)}, ["qs", "rx"]),
        Fault("rs-tuple", "answer-tuple", True, S["psv2"], {"rs": both(other_tuple("st1", sport=1), other_tuple("st2", sport=2))},
              ["qs", "rs"]),
        Fault("rs-unasked", "answer-unasked", False, S["psv2"], {"qs": fields(left_out=True)}, ["rs"]),
        Fault("rs-missing", "answer-missing", False, _end(S["psv2"]), {"rs": fields(left_out=True), "page4": fields(left_out=True)}, ["qs"]),
        Fault("rx-for-backup", "answer-wrong", False, _denied, {}, ["na", "rx"]),
        Fault("rx-for-pushed-backup", "answer-wrong", False, _denied_push, {}, ["ps", "rx"]),
        # --- PS, HS
        Fault("ps-cookie", "push-cookie", True, S["psv1"], {"ps": message(cookie=7)}, ["ns", "ps"]),
        Fault("hs-cookie", "hello-cookie", True, S["act"], {"ns": message(cookie=7)}, ["hs", "ns"]),
        Fault("ns-for-hs-elsewhere", "hello-destination", True, S["act"], {"ns": ends(dst=clean.other_client)}, ["hs", "ns"]),
        Fault("hs-unanswered", "hello-missing", False, _end(_hello_twice), {}, ["hs2"]),
        # --- both sides of a strip
        Fault("ps-not-removed", "not-removed", True, S["psv1"], {"synack": _with_push(clean)}, ["synack"]),
        Fault("hs-not-removed", "not-removed", True, _passed_through, {}, ["hs3"]),
        Fault("syn-sequence", "sequence", v4, S["psv1"], {"ns": fields(seq=1001)}, ["syn", "ns"]),
        Fault("hello-syn-sequence", "sequence", v4, S["act-inline"], {"syn2": fields(seq=1016)}, ["syn", "syn2"]),
        Fault("sequence-advanced", "sequence", v4, S["psv2"], {"page4": fields(seq=5120 + 36)}, ["page3", "page4"]),
        Fault("acknowledgment", "sequence", v4, S["psv1"], {"get2": fields(ack=5001 + 36)}, ["get", "get2"]),
        Fault("data-changed", "stream", v4, S["psv1"], {"get2": fields(payload=b"POST" + b"x" * 29)}, ["get", "get2"]),
        Fault("message-left", "stream", v4, S["psv1"], {"synack": _left_over(clean)}, ["ps", "synack"]),
    ]
    if v4:  # told by the IPv4 identification
        found += [
            Fault("ps-behind", "push-order", False, _push_behind, {}, ["synack1", "ps"]),
            Fault("hs-in-front", "hello-order", False, _hello_order, {}, ["hs2", "get3"]),
            Fault("sequence-untranslated", "sequence", True, S["psv1-untranslated"], {"get2": fields(seq=1037)}, ["get", "get2"]),
            Fault("data-untranslated", "stream", True, S["psv1-untranslated"], {"page2": fields(payload=b"z" * 119)}, ["page", "page2"]),
            Fault("datagram-changed", "stream", False, S["udp-created"], {"tell2": fields(payload=b"what is sold")}, ["tell", "tell2"]),
        ]
    return found


def _inline_in_fragments(clean):
    flow = exchanges.psv_flow(clean)

    def edit(step):
        step.carriage = "inline"
        step.message = clean.pair("NS", flow.st1, flow.st2, flow.cookie, node=clean.nodes[0])
        step.fragments = 1400

    return edit


def _with_push(clean):
    flow = exchanges.psv_flow(clean)

    def edit(step):
        step.carriage = "inline"
        step.message = clean.pair("PS", flow.st1, flow.st2, flow.cookie)

    return edit


def _left_over(clean):
    flow = exchanges.psv_flow(clean)

    def edit(step):
        step.payload = clean.pair("PS", flow.st1, flow.st2, flow.cookie).encode()

    return edit


def _push_behind(scene):
    f = exchanges.psv_flow(scene)
    scene.step("syn", ends=f.st1, flags=2, seq=1000)
    scene.step("ns", of="syn", ends=f.st2, carriage="inline",
               message=scene.pair("NS", f.st1, f.st2, f.cookie, node=scene.nodes[0]))
    ident = scene.new_ident()
    synack = {"ends": reverse(f.st2), "seq": 5000, "ack": 1001, "ident": ident}
    scene.step("synack1", flags=18, **synack)
    scene.step("ps", flags=16, carriage="separate", message=scene.pair("PS", f.st1, f.st2, f.cookie), **synack)
    scene.step("synack", of="synack1", ends=reverse(f.st1))


def main():
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for family in (4, 6):
        for name, scenario in exchanges.SCENARIOS.items():
            scene = Scene(family)
            scenario(scene)
            (directory / f"right-{name}-{family}.pcap").write_bytes(scene.octets())
        for fault in all_faults(family):
            (directory / f"fault-{fault.name}-{family}.pcap").write_bytes(fault.scene(family).octets())


if __name__ == "__main__":
    main()
