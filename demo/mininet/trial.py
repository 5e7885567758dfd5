# SPDX-License-Identifier: BSD-3-Clause
"""The unattended run: under load the busiest node is killed, a fresh one joins, another loses its table. Every download must be
byte-exact, every idle connection alive, and the captures, not the daemons, must show who restored what."""

from __future__ import annotations

import time

from lab.analysis import Analysis, OfficeAnalysis
from lab.ground import OFFICE
from scenarios.base import Result
from scenarios.verdict import judge
from scenarios.workload import Workload
from screen.paint import paint
from session import MOST_NODES, Session


def run_trial(session: Session) -> bool:
    """Plays it and prints what was found; true if all held."""
    lab, show, options = session.lab, session.show, session.options
    result = Result(f"mininet-{session.name}")
    begun = time.monotonic()
    lab.start()
    work = Workload(lab, show)
    work.serve()
    lab.watch(show)
    work.begin()
    work.until(0.2, "a fifth of the downloads' octets")
    if options.control:
        session.topology.block_messages()
        session.mark("recovery off", "control: the datagrams of ASRP are dropped, so nothing can be recovered")
    victim = max(session.topology.nodes, key=session.carried)
    event = time.time()
    session.kill(victim)
    settled = time.time()
    flushed, emptied, flush_done = 0, 0.0, 0.0
    if not options.control:
        work.until(0.4, "the downloads to go on without the node")
        nodes = session.topology.shape.nodes
        fresh = session.add(nodes + 1 if nodes < MOST_NODES else 0)
        work.until(0.6, "the downloads to go on with the new node")
        flushed = max((n for n in session.topology.nodes if n != fresh), key=session.carried)
        emptied = time.time()
        session.flush(flushed)
        flush_done = time.time()
    work.finish()
    lab.end(show)
    work.tally(result)
    read = OfficeAnalysis if session.topology.shape.ground is OFFICE else Analysis
    analysis = read(lab.capture.all_records(), options.family)
    if flushed:
        _judge_flush(result, analysis, flushed, emptied, flush_done)
    judge(lab, result, analysis, event, [victim], settled)
    result.duration_s = round(time.monotonic() - begun, 1)
    _report(session, result)
    return result.held


def _judge_flush(result: Result, analysis: Analysis, node: int, begun: float, done: float) -> None:
    """Sessions went on at the node that lost its table, and a message had restored each."""
    passing = {session: passage for (session, number), passage in analysis.passages.items()
               if number == node and any(moment > done for moment in passage.forwards)}
    restored = {session for session, passage in passing.items() if any(moment > begun for moment in passage.restored)}
    result.more |= {"passing_after_flush": len(passing), "restored_after_flush": len(restored)}
    if not passing:
        result.problems.append(f"no session passed node{node} after it was flushed, which proves nothing")
    result.problems += [f"node{node} forwarded {session} after its flush without an RS or PS" for session in set(passing) - restored]


def _report(session: Session, result: Result) -> None:
    latency, more = result.recovery_ms, result.more
    print(f"  transfers byte-exact   {result.transfers['byte_exact']} of {result.transfers['total']}")
    print(f"  sessions survived      {result.sessions['survived']} of {result.sessions['total']}, {more['moved']} moved to another node")
    if "passing_after_flush" in more:
        print(f"  after the flush        {more['passing_after_flush']} sessions passed the node, {more['restored_after_flush']} of them restored")
    print(f"  recovery               p50 {latency['p50']:g} ms, p99 {latency['p99']:g} ms, max {latency['max']:g} ms")
    print("  messages               " + ", ".join(f"{count} {name}" for name, count in result.messages.items()))
    for problem in result.problems[:12]:
        print("  " + paint("! ", "red") + problem)
    if session.options.control:
        verdict = "as it must: without recovery the sessions are lost" if result.held else "sessions survived: the demo proves nothing"
    else:
        verdict = "held" if result.held else "NOT held"
    print(paint(f"  {verdict} ({result.duration_s:g} s)", "bold", "green" if result.held else "red"), flush=True)
