# SPDX-License-Identifier: BSD-3-Clause
"""Checks on captures that hold whatever happened: each returns what is wrong, in words; nothing is right."""

from __future__ import annotations

from collections import defaultdict
from typing import Iterable

from lab import plan
from lab.capture import Capture, Record
from lab.ground import OFFICE
from lab.netns import run
from lab.packet import TCP, UDP

_SHOWN = 10
_BAD_CHECKSUM = ("ip.checksum.status==0 || (!icmp && !icmpv6 && (udp.checksum.status==0 || "
                 "(tcp.checksum.status==0 && tcp.checksum!=0xffff)))")


def no_message_at_clients(records: Iterable[Record]) -> list[str]:
    """No ASRP octet on a client's link (clients have no holder)."""
    return _few(f"{r.link}: {_describe(r)}" for r in records if r.link.startswith("client") and r.packet.marked)


def no_message_outside(records: Iterable[Record]) -> list[str]:
    """No ASRP octet on core's links: the world behind an office's gateways."""
    return _few(f"{r.link}: {_describe(r)}" for r in records if r.router == "core" and r.packet.marked)


def messages_readable(records: Iterable[Record]) -> list[str]:
    """Every marked packet holds a valid message."""
    return _few(f"{r.link}: {_describe(r)}: {r.packet.malformed}" for r in records if r.packet.malformed)


def answer_ports(records: Iterable[Record], router: str = "core") -> list[str]:
    """At the router beside the holders: RS and RX keep the ports of their QS and swap its addresses alone; each answers a QS with its cookie. An answer in the first
    second of the capture may be to a QS from before it."""
    wrong = []
    begin = float("inf")
    queries: set[tuple[int, str, str, int]] = set()
    for record in records:
        packet, message = record.packet, record.packet.message
        begin = min(begin, record.time + 1)
        if record.router != router or not record.arriving or message is None:
            continue
        if message.type == "QS":
            queries.add((message.cookie, packet.src, packet.dst, packet.sport))
        if message.type in ("RS", "RX") and record.time > begin:
            if packet.dport != plan.ASRP_PORT or (message.cookie, packet.dst, packet.src, packet.sport) not in queries:
                wrong.append(f"{record.link}: {_describe(record)}: no QS has these ports, addresses and cookie")
    return _few(wrong)


def nothing_untranslated(records: Iterable[Record], family: int) -> list[str]:
    """No node lets a packet pass with the service address towards servers, or with a server's or full-NAT address towards
    clients."""
    wrong = []
    service, full_nat = plan.service(family), plan.full_nat(family)
    for record in records:
        if not record.node or not record.arriving or record.packet.carriage == "standalone":
            continue
        addresses = (record.packet.src, record.packet.dst)
        if record.router == "core" and service in addresses:
            wrong.append(f"towards servers: {record.link}: {_describe(record)}")
        if record.router == "edge":
            if full_nat in addresses or any(plan.role_number(a, "server") for a in addresses):
                wrong.append(f"towards clients: {record.link}: {_describe(record)}")
            if record.packet.dst == service:
                wrong.append(f"back to the router: {record.link}: {_describe(record)}")
    return _few(wrong)


def nothing_foreign(records: Iterable[Record], family: int) -> list[str]:
    """Beyond the gateways nobody has an address of the office, and within it nobody the outside address. What gateways ask clients and
    are answered has their own addresses."""
    wrong = []
    for record in records:
        if not record.node or not record.arriving or record.packet.carriage == "standalone":
            continue
        addresses = (record.packet.src, record.packet.dst)
        if record.router == "core" and (record.packet.src != plan.outside(family) or any(plan.role_number(a, "staff") for a in addresses)):
            wrong.append(f"towards the world: {record.link}: {_describe(record)}")
        if record.router == "edge" and plan.outside(family) in addresses:
            wrong.append(f"towards clients: {record.link}: {_describe(record)}")
    return _few(wrong)


def sequence_numbers_kept(records: Iterable[Record]) -> list[str]:
    """What reaches a client or a server had left the other side with the same sequence numbers, acknowledgments, flags and
    amount of data. Ports alone tell flows apart, so a port that two clients use merges two flows, which only weakens the check
    for these."""
    wrong = []
    seen: dict[str, set[tuple[int, int, int, int]]] = defaultdict(set)
    for record in records:
        packet = record.packet
        if packet.protocol != TCP or packet.carriage == "separate-tcp":
            continue
        key = (packet.seq, packet.ack, packet.flags & 0x3F, packet.data_length)
        side = "servers" if record.link.startswith("server") else "clients" if record.link.startswith("client") else ""
        if side and record.arriving:
            seen[side].add(key)
        elif side and key not in seen["clients" if side == "servers" else "servers"]:
            wrong.append(f"{record.link}: {_describe(record)} flags {packet.flags:#04x} seq {packet.seq} ack {packet.ack} "
                         f"data {packet.data_length} at {record.time:.6f}")
    return _few(wrong)


def checksums_right(capture: Capture) -> list[str]:
    """tshark finds no wrong IP, TCP or UDP checksum. Needs whole packets. 0xffff is as right as 0 by the arithmetic (Linux writes
    it where a sum gives 0), and the packet that an ICMP error quotes is none of a link's packets."""
    wrong = []
    for router, path in capture.paths.items():
        shown = run(["tshark", "-n", "-r", path, "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o",
                     "udp.check_checksum:TRUE", "-Y", _BAD_CHECKSUM], limit=300)
        wrong += [f"{router}: {line}" for line in shown.splitlines() if line.strip()]
    return _few(wrong)


def all_checks(capture: Capture, family: int) -> list[str]:
    """Everything above that belongs to what is in front of the nodes and behind them."""
    records = capture.all_records()
    ground = capture.topology.shape.ground
    wrong = messages_readable(records) + answer_ports(records, ground.holders_at)
    wrong += sequence_numbers_kept(records) + checksums_right(capture)
    if ground is OFFICE:
        wrong += no_message_outside(records) + nothing_foreign(records, family)
    else:
        wrong += no_message_at_clients(records) + nothing_untranslated(records, family)
    if capture.dropped:
        wrong.append(f"the capture missed {capture.dropped} packets, so that it proves nothing")
    return wrong


def _describe(record: Record) -> str:
    packet = record.packet
    kind = {TCP: "TCP", UDP: "UDP"}[packet.protocol]
    text = f"{kind} {packet.src}:{packet.sport} > {packet.dst}:{packet.dport}"
    return f"{text} {packet.carriage} {packet.message.type if packet.message else ''}" if packet.marked else text


def _few(items: Iterable[str]) -> list[str]:
    found = list(items)
    return found[:_SHOWN] + ([f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else [])
