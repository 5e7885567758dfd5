# SPDX-License-Identifier: BSD-3-Clause
"""Runs asrpdump, whose path is in the environment variable ASRPDUMP, and reads what it writes."""

import json
import os
import subprocess

PROGRAM = os.environ.get("ASRPDUMP", "asrpdump")


def run(*arguments, **more):
    more = {"stdin": subprocess.DEVNULL} | more
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, check=False, timeout=60, **more)


def claim_of(facts):
    if facts["valid"]:
        return "message"
    return "cut" if facts.get("cut") else "not-asrp" if facts.get("not_asrp") else "invalid"


def objects(text):
    """(frame number, facts, claim) of each line of --json. Times stay text; Session-Data without octets counts as none."""
    for line in text.splitlines():
        facts = json.loads(line, parse_float=str)
        if not facts.get("session_data", True):
            del facts["session_data"]
        yield facts.pop("frame"), facts, claim_of(facts)


def endpoint(address, port):
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def text_parts(facts):
    """What the text line of a valid message must contain, in this order."""
    parts = [facts["time"], endpoint(facts["src"], facts["sport"]) + " > " + endpoint(facts["dst"], facts["dport"]) + ":",
             facts["carriage"] + " " + facts["type"], *facts["flags"], str(facts["protocol"]), "cookie " + facts["cookie"]]
    for st in ("st1", "st2"):
        if st in facts:
            t = facts[st]
            parts.append(f"{st} {endpoint(t['src'], t['sport'])}>{endpoint(t['dst'], t['dport'])}")
    if "session_data" in facts:
        parts.append("data " + facts["session_data"][:64])
    if "node_local_ip" in facts:
        parts.append("node " + facts["node_local_ip"])
    return parts + ["length %d" % facts["length"]]
