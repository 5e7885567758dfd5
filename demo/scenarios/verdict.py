# SPDX-License-Identifier: BSD-3-Clause
"""When a demo has shown what it claims: every transfer byte-exact at both ends, every session alive, and a capture, not the daemons,
that shows enough sessions moved, each restored by a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Sequence

from lab.analysis import Analysis, Move, Session, percentile
from lab.checks import all_checks
from scenarios.base import Lab, Result

LEAST_MOVED = 0.3


@dataclass(frozen=True)
class Event:
    """From `moment` to `settled` the nodes `emptied` lost their tables. If settled is given and no node is named, all did."""

    moment: float
    emptied: tuple[int, ...] = ()
    settled: float = 0.0


def judge(lab: Lab, result: Result, analysis: Analysis, moment: float, emptied: Iterable[int] = (),
          settled: float = 0.0, least_lost: float = LEAST_MOVED) -> None:
    """Completes `result` for one event. With recovery off, a share of `least_lost` sessions must be lost."""
    judge_events(lab, result, analysis, [Event(moment, tuple(emptied), settled)], least_lost)


def moves_of(analysis: Analysis, events: Sequence[Event]) -> list[Move]:
    """Each move once, to whichever event it belongs."""
    found = {move for event in events for move in analysis.moves(event.moment, event.emptied, event.settled)}
    return sorted(found, key=lambda move: (move.session, move.node))


def judge_events(lab: Lab, result: Result, analysis: Analysis, events: Sequence[Event], least_lost: float = LEAST_MOVED) -> None:
    """The same for events one after the other. If all tables were emptied and no node died, sessions that go on count as moved."""
    options = lab.options
    moved: set[Session] = set()
    restored: set[Session] = set()
    latencies: list[float] = []
    for event in events:
        if event.settled and not event.emptied:
            carried, known, times = analysis.rebuilt(event.moment, event.settled)
            moved, restored, latencies = moved | carried, restored | known, latencies + times
    moves = moves_of(analysis, [event for event in events if event.emptied or not event.settled])
    moved |= {m.session for m in moves}
    restored |= {m.session for m in moves if m.restored}
    latencies += [m.latency_ms for m in moves]
    if not options.kernel_nat and not options.control:
        result.problems += [f"node{m.node} forwarded {m.session} without an RS or PS" for m in moves if not m.restored]
    result.recovery_ms = {"p50": round(percentile(latencies, 0.5), 3), "p99": round(percentile(latencies, 0.99), 3),
                          "max": round(max(latencies, default=0.0), 3)}
    result.messages = dict(sorted(analysis.messages.items()))
    result.more |= {"balancer": lab.balancer.name, "family": options.family, "forward": options.forward,
                    "loss_percent": options.loss, "probes": analysis.probes, "moved": len(moved), "restored": len(restored),
                    "capture_missed": lab.capture.dropped}
    if options.thorough:
        result.problems += all_checks(lab.capture, options.family)
    result.problems += lab.balancer.problems()
    _decide(lab, result, len(moved), len(restored), least_lost)


def _decide(lab: Lab, result: Result, moved: int, restored: int, least_lost: float) -> None:
    total = result.sessions["total"]
    lost = total - result.sessions["survived"]
    if lab.options.control:
        result.held = lost >= least_lost * total
        return
    if lab.options.kernel_nat:
        result.held = True
        return
    answers = result.messages.get("RS", 0) + result.messages.get("PS", 0)
    if moved < LEAST_MOVED * total:
        result.problems.append(f"only {moved} of {total} sessions moved, which proves nothing")
    if answers < moved or restored < moved:
        result.problems.append(f"{moved} sessions moved, but the capture shows {answers} RS and PS, for {restored} of them")
    if result.transfers["byte_exact"] != result.transfers["total"]:
        result.problems.append("not every transfer is byte-exact")
    result.held = lost == 0 and not result.problems
