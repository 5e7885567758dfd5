# SPDX-License-Identifier: BSD-3-Clause
"""asrpdump against tcpdump and tshark on one large capture of mixed traffic; bench/README.md has the definitions."""
from __future__ import annotations

import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "dump"))

import generate  # noqa: E402
from links import ethernet  # noqa: E402
from packets import ACK, PSH, UDP, TCP, ip, tcp, udp  # noqa: E402

BLOCK = 16384  # frames that are made; the capture repeats them with later times
SHARE = 0.12  # of the frames that carry ASRP
SLICE = 60_000  # frames for tshark


def flow_frame(rng: random.Random) -> bytes:
    """A packet of everyday traffic without ASRP: data, pure ACKs, DNS and QUIC-like datagrams, ICMP, ARP."""
    if rng.random() < 0.2:
        src, dst = "2001:db8::%x" % rng.randrange(1, 4000), "2001:db8:5::%x" % rng.randrange(1, 40)
    else:
        src, dst = "192.0.2.%d" % rng.randrange(1, 255), "198.51.100.%d" % rng.randrange(1, 40)
    port, kind = rng.randrange(1024, 51000), rng.random()
    if kind < 0.45:
        size = rng.choice([1448, 1448, 1448, 512, 200, 90])
        return ethernet(ip(src, dst, TCP, tcp(src, dst, port, 443, bytes(size), ACK | PSH, generate.TIMESTAMPS, rng.getrandbits(32))))
    if kind < 0.80:
        return ethernet(ip(dst, src, TCP, tcp(dst, src, 443, port, b"", ACK, generate.TIMESTAMPS, rng.getrandbits(32))))
    if kind < 0.97:
        query = struct.pack("!HHHHHH", rng.getrandbits(16), 0x0100, 1, 0, 0, 0) + b"\x03www\x07example\x03com\0\0\1\0\1"
        return ethernet(ip(src, dst, UDP, udp(src, dst, port, 53, query)))
    if kind < 0.99 and ":" not in src:
        return ethernet(ip(src, dst, 1, b"\x08\x00\xf7\xff\0\0\0\0" + bytes(48)))
    arp = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + bytes(6) + b"\xc0\0\2\1" + bytes(6) + b"\xc0\0\2\2"
    return ethernet(arp, ethertype=0x0806)


def block(rng: random.Random) -> tuple[bytearray, list[int], int]:
    """Records of BLOCK frames in one row, where each begins, and how many of them complete a message."""
    cases = [case for case in generate.valid_cases(7) if len(case.packets) == 1]
    rng.shuffle(cases)
    records, offsets, messages = bytearray(), [], 0
    for n in range(BLOCK):
        if rng.random() < SHARE:
            frame, messages = ethernet(cases[n % len(cases)].packets[0]), messages + 1
        else:
            frame = flow_frame(rng)
        offsets.append(len(records))
        records += struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame
    return records, offsets, messages


def write_capture(path: str, octets: int) -> dict[str, int]:
    """A capture of at least so many octets. Gives the numbers of frames and of messages."""
    records, offsets, messages = block(random.Random(1))
    frames = blocks = 0
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        while file.tell() < octets:
            for offset in offsets:  # 100 000 frames a second
                struct.pack_into("<II", records, offset, 1_790_000_000 + frames // 100_000, frames % 100_000 * 10)
                frames += 1
            file.write(records)
            blocks += 1
    return {"frames": frames, "messages": messages * blocks}


def write_slice(path: str, target: str, frames: int) -> None:
    """The first frames of a capture in another one."""
    with open(path, "rb") as file, open(target, "wb") as out:
        out.write(file.read(24))
        for _ in range(frames):
            head = file.read(16)
            out.write(head + file.read(struct.unpack("<I", head[8:12])[0]))


def peak_kib(pid: int) -> int:
    """The most memory that a process had so far; 0 once it is gone. (getrusage() tells of the memory of this script: it forked.)"""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return next((int(line.split()[1]) for line in status if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


def timed(command: list[str], frames: int) -> dict[str, Any]:
    """One run into /dev/null: time on the clock, time of the processor, and the largest memory that it had."""
    peak = pid = 0
    with open(os.devnull, "wb") as nowhere:
        begun = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=nowhere, stderr=subprocess.DEVNULL)
        while pid == 0:
            time.sleep(0.005)
            peak = max(peak, peak_kib(process.pid))
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        seconds, cpu = time.monotonic() - begun, usage.ru_utime + usage.ru_stime
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit status {process.returncode}")
    return {"seconds": seconds, "cpu": cpu, "per_second": frames / seconds, "per_cpu_second": frames / cpu, "mib": peak / 1024}


def count_lines(command: list[str]) -> int:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        return sum(piece.count(b"\n") for piece in iter(lambda: process.stdout.read(1 << 20), b""))


def median(runs: list[dict[str, Any]]) -> dict[str, Any]:
    result = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    return result | {"mib": max(run["mib"] for run in runs)}


def run(asrpdump: str, rounds: int, megabytes: int, say: Callable[[str], None]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="asrp-bench-") as directory:
        capture, part = os.path.join(directory, "large.pcap"), os.path.join(directory, "slice.pcap")
        counts = write_capture(capture, megabytes * 1_000_000)
        say(f"capture: {os.path.getsize(capture) / 1e9:.2f} GB, {counts['frames']} packets, {counts['messages']} with ASRP")
        printed = count_lines([asrpdump, "-r", capture])
        commands = {"asrpdump": [asrpdump, "-r", capture], "tcpdump": ["tcpdump", "-nn", "-r", capture],
                    "asrpdump --json": [asrpdump, "-r", capture, "--json"], "tshark": ["tshark", "-n", "-r", part]}
        write_slice(capture, part, min(SLICE, counts["frames"]))
        missing = [name for name, command in commands.items() if shutil.which(command[0]) is None]
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in commands if name not in missing}
        for _ in range(rounds):  # in turns, so that other load meets all of them
            for name, into in runs.items():
                into.append(timed(commands[name], counts["frames"] if name != "tshark" else min(SLICE, counts["frames"])))
                say(f"{name}: {into[-1]['per_second']:.0f} packets/s, {into[-1]['per_cpu_second']:.0f} per CPU second, {into[-1]['mib']:.1f} MiB")
    figures = {name: median(into) for name, into in runs.items()}
    result: dict[str, Any] = {"bench": "dump", **counts, "printed": printed, "figures": figures}
    result["ok"] = printed == counts["messages"] and figures["asrpdump"]["mib"] < 64
    for name in ("tcpdump", "tshark"):
        if name in figures:
            for key, label in (("per_second", "ratio"), ("per_cpu_second", "cpu_ratio")):
                result[f"{label}_{name}"] = round(figures["asrpdump"][key] / figures[name][key], 2)
    result["ok"] = result["ok"] and result.get("ratio_tcpdump", 1) >= 1 and result.get("ratio_tshark", 10) >= 10
    return result
