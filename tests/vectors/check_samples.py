#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packets that libasrp edited, under three pairs of eyes: the Python codec makes the same edit and compares octet for octet; tcpdump
and tshark verify every checksum. Each tool has to complain about a damaged copy, so that silence means something. Besides, both
codecs have to see the same in packets with random damage.

    check_samples.py PACKET_SAMPLES [SEED [COUNT]]
"""

import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools" / "scapy"))
import asrp  # noqa: E402
import carriage  # noqa: E402
import edit  # noqa: E402

SKIPPED = 77
BAD_STATUS = "ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0"
VERIFY = [o for p in ("ip", "tcp", "udp") for o in ("-o", p + ".check_checksum:TRUE")]


def seen(octets):
    """What is in a packet, in one word, as packet-samples writes it."""
    try:
        packet = carriage.parse(octets)
    except asrp.Invalid as invalid:
        return invalid.reason
    located = carriage.locate(packet)
    return "%s:%d:%d:%s" % (located.status, packet.transport, len(packet.payload), located.room.hex())


def again(form, original, message):
    if form == "seen":
        return seen(original)
    packet = carriage.parse(original)
    try:
        if form == "strip":
            return edit.strip(packet, carriage.locate(packet), len(message)).hex()
        function = edit.insert_inline if form == "inline" else edit.make_separate
        return function(packet, message, mtu=1500).hex()
    except asrp.Invalid as invalid:
        return invalid.reason


def compare(lines):
    """Number of lines, and those where the codecs differ."""
    counts, different = {}, []
    for line in lines:
        form, original, message, result = line.split()
        expected = again(form, *(bytes.fromhex(text.replace("-", "")) for text in (original, message)))
        if expected != result:
            different.append("%s\n  libasrp %s\n  python  %s" % (line, result, expected))
        key = "seen " + result.split(":")[0] if form == "seen" else form if len(result) > 40 else result
        counts[key] = counts.get(key, 0) + 1
    return counts, different


def damaged(capture, at_least):
    """The capture with one bit of each packet's last octet turned, and nothing else."""
    octets, at, count = bytearray(capture), 24, 0
    while at < len(octets):
        size = struct.unpack("<I", octets[at + 8 : at + 12])[0]
        octets[at + 16 + size - 1] ^= 1
        at, count = at + 16 + size, count + 1
    assert count >= at_least
    return bytes(octets), count


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout


def tcpdump_complaints(path):
    text = run("tcpdump", "-n", "-vv", "-r", str(path))
    return sum(text.count(word) for word in ("incorrect", "bad cksum", "bad udp cksum"))


def tshark_complaints(path):
    return len(run("tshark", "-n", "-r", str(path), *VERIFY, "-Y", BAD_STATUS).splitlines())


def main():
    program, seed, count = sys.argv[1], *(sys.argv[2:] + ["1", "1500"][len(sys.argv) - 2 :])
    with tempfile.TemporaryDirectory() as folder:
        capture, broken = pathlib.Path(folder, "edited.pcap"), pathlib.Path(folder, "damaged.pcap")
        counts, different = compare(run(program, seed, count, str(capture)).splitlines())
        for text in different[:5]:
            print(text)
        print("compared:", counts, "different:", len(different))
        octets, packets = damaged(capture.read_bytes(), int(count))
        broken.write_bytes(octets)
        failed, skipped = bool(different), False
        for tool, complaints in (("tcpdump", tcpdump_complaints), ("tshark", tshark_complaints)):
            if shutil.which(tool) is None:
                print(tool, "is not installed")
                skipped = True
                continue
            right, wrong = complaints(capture), complaints(broken)
            print("%s: %d packets, %d complaints; damaged: %d" % (tool, packets, right, wrong))
            failed |= right != 0 or wrong < packets // 2
    return 1 if failed else SKIPPED if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
