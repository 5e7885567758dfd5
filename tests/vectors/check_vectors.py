#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the Python codec over messages.toml and packets.toml; says which vectors it disagrees with."""

import pathlib
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools" / "scapy"))
import asrp  # noqa: E402
import carriage  # noqa: E402
import edit  # noqa: E402

failures = []


def check(row, what, got, wanted):
    if got != wanted:
        failures.append("%s: %s is %r, not %r" % (row["name"], what, got, wanted))


def attempt(function, *arguments, **options):
    """Result and reason, one of them None."""
    try:
        return function(*arguments, **options), None
    except asrp.Invalid as invalid:
        return None, invalid.reason


def marker_of(row):
    return carriage.Marker(**row["marker"]) if "marker" in row else carriage.Marker()


def check_message(row):
    octets = bytes.fromhex(row["hex"])
    message, error = attempt(asrp.decode, octets)
    check(row, "error", error, row.get("error"))
    _, prefix_error = attempt(asrp.decode, octets, prefix=True)
    check(row, "prefix error", prefix_error or "", row.get("prefix_error", row.get("error", "")))
    if message is None:
        return
    for field in ("type", "sttype", "flags", "protocol", "node_local_ip"):
        check(row, field, getattr(message, field), row.get(field))
    check(row, "cookie", "%08x" % message.cookie, row["cookie"])
    check(row, "session_data", message.session_data.hex(), row.get("session_data", ""))
    for field in ("st1", "st2"):
        wanted = asrp.Tuple(**row[field]) if field in row else None
        check(row, field, getattr(message, field), wanted)
    check(row, "canonical", message.encode() == octets, row.get("canonical", True))


def ends(packet):
    form = "[%s]:%d" if packet.version == 6 else "%s:%d"
    return form % (packet.src, packet.sport), form % (packet.dst, packet.dport)


def check_packet(row):
    packet, error = attempt(carriage.parse, bytes.fromhex(row["hex"]))
    check(row, "error", error, row.get("error"))
    if packet is None:
        return
    check(row, "protocol", packet.protocol, row["protocol"])
    check(row, "ends", ends(packet), (row["src"], row["dst"]))
    check(row, "user_data", packet.payload.hex(), row["user_data"])
    check(row, "checksums", carriage.checksums_right(packet), row.get("checksums", True))
    located = carriage.locate(packet, marker_of(row))
    check(row, "locate", located.status, row["locate"])
    if located.status != "found":
        return
    message, error = attempt(asrp.decode, located.room, prefix=packet.protocol == asrp.TCP)
    check(row, "message_error", error, row.get("message_error"))
    if message is None:
        return
    check(row, "message", located.room[: message.length].hex(), row["message"])
    check(row, "separate", carriage.is_separate(packet, message.length), row["separate"])
    check(row, "stripped", edit.strip(packet, located, message.length).hex(), row["stripped"])


def check_surgery(row):
    packet = carriage.parse(bytes.fromhex(row["hex"]))
    message = bytes.fromhex(row["message"])
    for form, function in (("inline", edit.insert_inline), ("separate", edit.make_separate)):
        result, error = attempt(function, packet, message, marker_of(row), row["mtu"])
        check(row, form + " error", error, row.get(form + "_error"))
        check(row, form, result and result.hex(), row.get(form))


def main():
    count = 0
    for name, checks in (("messages", {"message": check_message}), ("packets", {"packet": check_packet, "surgery": check_surgery})):
        with open(HERE / (name + ".toml"), "rb") as file:
            tables = tomllib.load(file)
        for key, function in checks.items():
            for row in tables[key]:
                function(row)
                count += 1
    for failure in failures:
        print(failure)
    print("%d vectors, %d disagreements" % (count, len(failures)))
    return 1 if failures or count < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
