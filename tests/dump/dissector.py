# SPDX-License-Identifier: BSD-3-Clause
"""Runs tshark with packaging/wireshark/asrp.lua and gives what it says of each message in the form of asrpdump's --json."""

import os
import subprocess
from pathlib import Path

import packets  # noqa: F401  sets the path of asrp

from asrp import FLAGS, STTYPES, TYPES

SCRIPT = Path(__file__).resolve().parents[2] / "packaging" / "wireshark" / "asrp.lua"
CARRIER = ["frame.number", "frame.time_epoch", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport", "udp.srcport",
           "udp.dstport"]
TUPLE = ["src", "sport", "dst", "dport"]
MESSAGE = ["carriage", "valid", "reason", "cut", "not_asrp", "type", "sttype", "flags", "length", "protocol", "cookie", "session_data",
           "node_local_ip"] + [f"{st}.{part}" for st in ("st1", "st2") for part in TUPLE]


def run(arguments):
    """tshark with the dissector. Some builds refuse scripts of root; then it runs as nobody."""
    command = ["tshark", "-n", "-X", f"lua_script:{SCRIPT}", *arguments]
    if "with Lua" not in subprocess.run(["tshark", "--version"], capture_output=True, text=True, check=True).stdout:
        raise RuntimeError("this tshark has no Lua")
    environment = dict(os.environ, TZ="UTC", LC_ALL="C.UTF-8", HOME="/nonexistent", XDG_CONFIG_HOME="/nonexistent")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if "asrp." in done.stderr and "aren't valid" in done.stderr and os.getuid() == 0:
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0 or "Lua" in done.stderr:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def _last(values):
    return values.split(",")[-1]


def _carrier(row, facts):
    is_tcp = facts["carriage"].endswith("tcp")
    family = "ip" if row["family"] == 4 else "ipv6"
    for end in ("src", "dst"):
        facts[end] = _last(row[f"{family}.{end}"])
    for end, name in (("sport", "srcport"), ("dport", "dstport")):
        facts[end] = int(_last(row[f"{'tcp' if is_tcp else 'udp'}.{name}"]))


def _facts(row, decimals):
    def get(name):
        return row["asrp." + name]

    facts = {"time": row["frame.time_epoch"][: decimals - 9 or None], "carriage": get("carriage")}
    _carrier(row, facts)
    if get("type"):
        number = int(get("type"))
        facts["type"] = TYPES[number] if number < len(TYPES) else number
    if get("sttype"):
        number = int(get("sttype"))
        facts["sttype"] = list(STTYPES)[number] if number < len(STTYPES) else number
    if get("flags"):
        facts["flags"] = [name for name, bit in FLAGS.items() if int(get("flags"), 16) & bit]
    if get("length"):
        facts["length"] = int(get("length"))
    if get("protocol"):
        facts["protocol"] = {"6": "tcp", "17": "udp"}.get(get("protocol"), int(get("protocol")))
    if get("cookie"):
        facts["cookie"] = get("cookie")[2:]
    for st in ("st1", "st2"):
        if get(st + ".src"):
            facts[st] = {part: int(get(f"{st}.{part}")) if part.endswith("port") else get(f"{st}.{part}") for part in TUPLE}
    for name in ("session_data", "node_local_ip"):
        if get(name):
            facts[name] = get(name)
    if get("valid"):
        facts["valid"] = get("valid") == "1"
    if get("reason"):
        facts["reason"] = get("reason")
    claim = "cut" if get("cut") else "not-asrp" if get("not_asrp") else "message" if facts["valid"] else "invalid"
    return facts, claim


def messages(path, decimals, families, preferences=()):
    """(frame number, facts, claim) of each message. `families` gives a frame's IP version: the address fields differ by it."""
    names = CARRIER + ["asrp." + name for name in MESSAGE]
    arguments = [word for preference in preferences for word in ("-o", preference)]
    arguments += ["-r", str(path), "-T", "fields", "-E", "separator=|"]
    for name in names:
        arguments += ["-e", name]
    found = []
    for line in run(arguments + ["-Y", "asrp"]).splitlines():
        row = dict(zip(names, line.split("|"), strict=True))
        number = int(row["frame.number"])
        row["family"] = families[number]
        found.append((number, *_facts(row, decimals)))
    return found
