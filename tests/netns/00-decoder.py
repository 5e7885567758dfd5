# SPDX-License-Identifier: BSD-3-Clause
# limit: 60
"""The laboratory's own decoder, on whose word the other tests rely, reads the vectors that libasrp is tested with."""

from __future__ import annotations

import os
import tomllib
from typing import Any

import support
from lab import packet
from lab.message import F_CC, F_LIP6, F_NA, Malformed, Message, decode
from scenarios.base import Options

_VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vectors")
_FLAGS = {"F-LIP6": F_LIP6, "F-CC": F_CC, "F-NA": F_NA}


def load(name: str) -> dict[str, list[dict[str, Any]]]:
    with open(os.path.join(_VECTORS, name), "rb") as file:
        return tomllib.load(file)


def differs(message: Message, vector: dict[str, Any]) -> str:
    tuples = [{"src": t.src, "sport": t.sport, "dst": t.dst, "dport": t.dport} for t in message.tuples]
    found = {
        "type": message.type,
        "flags": sorted(name for name, bit in _FLAGS.items() if message.flags & bit),
        "protocol": message.protocol,
        "cookie": f"{message.cookie:08x}",
        "st1": tuples[0] if tuples else None,
        "st2": tuples[1] if len(tuples) > 1 else None,
        "session_data": message.session_data.hex(),
        "node_local_ip": message.node_local_ip,
    }
    wanted = {key: vector.get(key) for key in found} | {"flags": sorted(vector["flags"]), "session_data": vector.get("session_data", "")}
    return "" if found == wanted else f"{vector['name']}: found {found}, not {wanted}"


def messages(_: Options, expect: support.Expectations) -> None:
    problems = []
    for vector in load("messages.toml")["message"]:
        try:
            message = decode(bytes.fromhex(vector["hex"]))
            problems.append(f"{vector['name']}: decoded" if "error" in vector else differs(message, vector))
        except Malformed as error:
            problems.append("" if "error" in vector else f"{vector['name']}: {error}")
    expect.none_of(filter(None, problems), f"{len(problems)} messages are read as the vectors say")


def packets(_: Options, expect: support.Expectations) -> None:
    problems = []
    count = 0
    for vector in load("packets.toml")["packet"]:
        if "error" in vector or "marker" in vector or vector["protocol"] not in (packet.TCP, packet.UDP):
            continue  # those are no packets, or are marked with other numbers, or can't be marked
        count += 1
        found = packet.parse(bytes.fromhex(vector["hex"]))
        if found is None:
            problems.append(f"{vector['name']}: not parsed")
            continue
        option = found.carriage not in (None, "standalone")
        # In a damaged option area the laboratory looks on, so that no mark escapes it.
        if vector["locate"] != "bad_option" and option != (vector["locate"] == "found"):
            problems.append(f"{vector['name']}: {found.carriage}, but the vector says {vector['locate']}")
        if option and "message" in vector:
            separate = str(found.carriage).startswith("separate")
            if separate != vector["separate"]:
                problems.append(f"{vector['name']}: {found.carriage}, but the vector says separate = {vector['separate']}")
    expect.that(count > 50, f"{count} packets are enough to show something")
    expect.none_of(problems, f"{count} packets are read as the vectors say")


if __name__ == "__main__":
    support.main({"messages": messages, "packets": packets})
