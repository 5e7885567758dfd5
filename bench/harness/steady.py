# SPDX-License-Identifier: BSD-3-Clause
"""Throughput of known sessions: one and eight TCP flows through asrp and through the kernel's NAT alone, in turns."""
from __future__ import annotations

import json
import subprocess
import time
from typing import Any

from harness import kernel_nat
from harness.asrp import Asrp
from harness.measure import Programs, cpu_seconds, median, on_cpu, say
from harness.rig import PORT, Rig, one_node
from lab import plan


def _iperf(rig: Rig, family: int, flows: int, seconds: int) -> float:
    """Gigabits per second that the receiver got."""
    argv = on_cpu(0, "iperf3", "-J", "-c", plan.service(family), "-p", str(PORT), "-P", str(flows), "-t", str(seconds))
    report = json.loads(rig.client.run(*argv, limit=seconds + 60))
    return float(report["end"]["sum_received"]["bits_per_second"]) / 1e9


def _round(rig: Rig, kind: str, cluster: Asrp, family: int, seconds: int) -> dict[str, Any]:
    if kind == "kernel":
        kernel_nat.install(rig, "nat")
    else:
        cluster.start()
    try:
        used = cpu_seconds(cluster.pids()) if kind == "asrp" else 0.0
        begun = time.monotonic()
        result = {f"gbit_{flows}": round(_iperf(rig, family, flows, seconds), 3) for flows in (1, 8)}
        if kind == "asrp":
            result["daemon_cpu_share"] = round((cpu_seconds(cluster.pids()) - used) / (time.monotonic() - begun), 4)
        return result
    finally:
        if kind == "kernel":
            kernel_nat.remove(rig)
        else:
            cluster.stop()
        rig.flush()


def run(programs: Programs, rounds: int, seconds: int, families: list[int]) -> dict[str, Any]:
    rows = []
    for family in families:
        with one_node() as rig:
            cluster = Asrp(rig, programs, "nat")
            server = rig.server.start(*on_cpu(1, "iperf3", "-s", "-p", str(PORT)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.5)
            results: dict[str, list[dict[str, Any]]] = {"kernel": [], "asrp": []}
            try:
                for number in range(rounds):
                    for kind in ("kernel", "asrp") if number % 2 == 0 else ("asrp", "kernel"):
                        results[kind].append(_round(rig, kind, cluster, family, seconds))
                        say(f"  IPv{family} round {number + 1} {kind}: {results[kind][-1]}")
            finally:
                server.terminate()
                server.wait()
        summary = {kind: {f"gbit_{f}": median(r[f"gbit_{f}"] for r in rows_) for f in (1, 8)} for kind, rows_ in results.items()}
        ratio = {f"gbit_{f}": round(summary["asrp"][f"gbit_{f}"] / summary["kernel"][f"gbit_{f}"], 3) for f in (1, 8)}
        rows.append({"family": family, "ratio": ratio, **summary, "rounds": results, "problems": cluster.problems()})
        say(f"IPv{family}: {summary}, ratio {ratio}")
    return {"bench": "steady", "rows": rows, "ok": not any(row["problems"] for row in rows)}
