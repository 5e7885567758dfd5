# SPDX-License-Identifier: BSD-3-Clause
"""New connections per second with asrp and with the kernel's NAT alone, in turns."""
from __future__ import annotations

from typing import Any

from harness import kernel_nat
from harness.asrp import Asrp, AsrpGateway
from harness.measure import Programs, cpu_seconds, load, median, on_cpu, say, sources, start_server
from harness.rig import Rig, one_node, three_nodes

_KINDS = ((1, one_node, "nat"), (1, one_node, "full-nat"), (3, three_nodes, "full-nat"), (1, one_node, "snat"), (1, one_node, "snat-plain"))


def _load(rig: Rig, programs: Programs, family: int, seconds: float, forward: str) -> dict[str, Any]:
    target = rig.site(family) if forward.startswith("snat") else rig.service(family)
    argv = [programs.generator("connect_load"), "--target", target, *sources(family), "--seconds", str(seconds)]
    return load(rig.client, on_cpu(0, *argv), seconds + 60)


def _kernel_round(rig: Rig, programs: Programs, family: int, seconds: float, forward: str) -> dict[str, Any]:
    kernel_nat.install(rig, forward)
    try:
        return _load(rig, programs, family, seconds, forward)
    finally:
        kernel_nat.remove(rig)
        rig.flush()


def _asrp_round(rig: Rig, cluster: Asrp, programs: Programs, family: int, seconds: float, forward: str) -> dict[str, Any]:
    cluster.start()
    try:
        before, nodes_before = cpu_seconds(cluster.pids()), cpu_seconds(cluster.node_pids())
        result = _load(rig, programs, family, seconds, forward)
        used, nodes_used = cpu_seconds(cluster.pids()) - before, cpu_seconds(cluster.node_pids()) - nodes_before
        result["cpu_us"] = round(used * 1e6 / max(1, result["connections"]), 2)
        result["cpu_us_nodes"] = round(nodes_used * 1e6 / max(1, result["connections"]), 2)
        result["counters"] = {name: value for name, value in cluster.sum_of_counters().items() if value}
        return result
    finally:
        cluster.stop()
        rig.flush()


def _compare(rig: Rig, programs: Programs, family: int, rounds: int, seconds: float, forward: str) -> dict[str, Any]:
    is_gateway = forward.startswith("snat")
    cluster = AsrpGateway(rig, programs, forward == "snat") if is_gateway else Asrp(rig, programs, forward)
    server = start_server(rig, programs)
    results: dict[str, list[dict[str, Any]]] = {"kernel": [], "asrp": []}
    try:
        for number in range(rounds):
            for kind in ("kernel", "asrp") if number % 2 == 0 else ("asrp", "kernel"):
                if kind == "kernel":
                    result = _kernel_round(rig, programs, family, seconds, forward)
                else:
                    result = _asrp_round(rig, cluster, programs, family, seconds, forward)
                results[kind].append(result)
                cpu = f", {result['cpu_us']} us of daemon CPU each" if "cpu_us" in result else ""
                say(f"  round {number + 1} {kind}: {result['per_second']:.0f}/s, {result['failed']} failed, {result['slow']} slow, "
                    f"p99 {result['latency_ms']['p99']} ms{cpu}")
    finally:
        server.terminate()
        server.wait()
    problems = cluster.problems()
    summary = {
        kind: {
            "per_second": median(r["per_second"] for r in rows),
            "failed": sum(r["failed"] for r in rows),
            "slow": sum(r["slow"] for r in rows),
            "p50_ms": median(r["latency_ms"]["p50"] for r in rows),
            "p99_ms": median(r["latency_ms"]["p99"] for r in rows),
        }
        for kind, rows in results.items()
    }
    for key in ("cpu_us", "cpu_us_nodes"):
        summary["asrp"][key] = median(r[key] for r in results["asrp"])
    return {
        "nodes": len(rig.nodes),
        "family": family,
        "forward": forward,
        "ratio": round(summary["asrp"]["per_second"] / summary["kernel"]["per_second"], 3),
        **summary,
        "rounds": results,
        "problems": problems,
    }


def run(programs: Programs, rounds: int, seconds: float, families: list[int], forwards: list[str]) -> dict[str, Any]:
    rows = []
    for family in families:
        for nodes, make, forward in (kind for kind in _KINDS if kind[2] in forwards):
            say(f"connect: IPv{family}, {nodes} node(s), {forward}")
            with make() as rig:
                rows.append(_compare(rig, programs, family, rounds, seconds, forward))
    for row in rows:
        say(f"IPv{row['family']} {row['nodes']} node(s) {row['forward']}: asrp {row['asrp']['per_second']:.0f}/s, "
            f"kernel {row['kernel']['per_second']:.0f}/s, ratio {row['ratio']}, {row['asrp']['cpu_us']} us CPU per connection")
    return {"bench": "connect", "rows": rows, "ok": not any(row["problems"] for row in rows)}
