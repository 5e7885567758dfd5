# SPDX-License-Identifier: BSD-3-Clause
"""Recoveries per second, and the gap that a recovered session sees."""
from __future__ import annotations

import os
from typing import Any

from harness.asrp import Asrp
from harness.measure import Programs, cpu_seconds, flush_command, load, median, on_cpu, say, sources, start_server, steer
from harness.rig import Rig, one_node

# Milliseconds between two octets of a session. With 1000 sessions the first means that all come back within 10 ms, a storm of
# 100 000 recoveries a second; with the last they come one by one, and the gap is that of a single recovery.
INTERVALS_MS = [10.0, 50.0, 1000.0]
PROCESSES = 8  # generator and server: 100 000 sockets exceed one process's limit of open files


def _storm(rig: Rig, programs: Programs, family: int, sessions: int, window: int) -> dict[str, Any]:
    """One octet on each of many sessions whose entries are gone."""
    page = os.path.join(rig.directory, "page")
    with open(page, "wb") as file:
        file.truncate(4096)
    cluster = Asrp(rig, programs, "nat")
    server = start_server(rig, programs, "--sink", "--page", page, "--processes", str(PROCESSES), pinned=False)
    cluster.start()
    try:
        used = cpu_seconds(cluster.pids())
        argv = [programs.generator("recover_load"), "--target", rig.service(family), *sources(family), "--sessions", str(sessions),
                "--processes", str(PROCESSES), "--window", str(window), "--page", page,
                "--event", flush_command(rig.nodes.values())]
        result = load(rig.client, argv, 300)
        result["cpu_seconds_with_setup"] = round(cpu_seconds(cluster.pids()) - used, 2)
        result["counters"] = {name: value for name, value in cluster.sum_of_counters().items() if value}
    finally:
        cluster.stop()
        server.terminate()
        server.wait()
        rig.flush()
    result["problems"] = cluster.problems()
    result["valid"] = result["lost"] == 0 and result["retransmitted"] == 0 and not result["problems"]
    return result


def _gap(rig: Rig, programs: Programs, family: int, interval: float) -> dict[str, Any]:
    cluster = Asrp(rig, programs, "nat")
    server = start_server(rig, programs)
    cluster.start()
    try:
        argv = [programs.generator("echo_load"), "--target", rig.service(family), *sources(family), "--interval", str(interval),
                "--before", str(max(3.0, 6 * interval / 1000)), "--after", str(max(5.0, 3 * interval / 1000)),
                "--event", flush_command(rig.nodes.values())]
        result = load(rig.client, on_cpu(0, *argv), 120 + 10 * interval / 1000)
        result["counters"] = {name: value for name, value in cluster.sum_of_counters().items() if value}
    finally:
        cluster.stop()
        server.terminate()
        server.wait()
        rig.flush()
    result["interval_ms"] = interval
    result["problems"] = cluster.problems()
    return result


def run(programs: Programs, rounds: int, sessions: int, window: int, families: list[int],
        intervals: list[float]) -> dict[str, Any]:
    rows = []
    for family in families:
        with one_node() as rig:
            for space in (rig.core, rig.server):
                steer(space)
            storms = []
            for number in range(rounds):
                storms.append(_storm(rig, programs, family, sessions, window))
                row = storms[-1]
                say(f"recover IPv{family} {number + 1}: {row['per_second']}/s, lost {row['lost']}, "
                    f"retransmitted {row['retransmitted']}{'' if row['valid'] else ' (not counted)'}")
            gaps = []
            for interval in intervals:
                for number in range(rounds):
                    gaps.append(_gap(rig, programs, family, interval))
                    row = gaps[-1]
                    say(f"gap IPv{family} every {interval:g} ms, {number + 1}: {row['gap_ms']} ms, "
                        f"median round trip {row['median_round_trip_ms']['p50']} ms, broken {row['broken']}")
        valid = [row["per_second"] for row in storms if row["valid"]]
        rows.append({
            "family": family,
            "recoveries_per_second": median(valid),
            "valid_rounds": len(valid),
            "gap_ms": {
                f"{interval:g}": {q: median(g["gap_ms"][q] for g in gaps if g["interval_ms"] == interval) for q in ("p50", "p99", "max")}
                for interval in intervals
            },
            "broken": sum(g["broken"] for g in gaps),
            "storms": storms,
            "gaps": gaps,
        })
        say(f"IPv{family}: {rows[-1]['recoveries_per_second']:.0f} recoveries/s, gap {rows[-1]['gap_ms']}")
    ok = all(row["valid_rounds"] > 0 and row["broken"] == 0 for row in rows)
    return {"bench": "recover", "rows": rows, "ok": ok}
