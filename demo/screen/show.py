# SPDX-License-Identifier: BSD-3-Clause
"""The show of a scenario: events, and between them a picture that is repainted in place, or a line now and then."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from typing import Optional

from lab.monitor import Monitor
from screen.paint import arrow, bar, is_live, octets, paint, sparkline, thin

_REPAINT = 0.25
_PLAIN_EVERY = 2.0


class Show:
    """Use as a context manager around a scenario. Quiet shows nothing but what say() is given with `always`."""

    def __init__(self, title: str, plain: bool = False, quiet: bool = False) -> None:
        self.title = title
        self.live = is_live() and not plain and not quiet
        self.quiet = quiet
        self.dead: dict[int, str] = {}
        self.progress = ""
        self.started = time.time()
        self._monitor: Optional[Monitor] = None
        self._events: list[tuple[float, str]] = []
        self._lines = 0
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: Optional[threading.Thread] = None

    def __enter__(self) -> "Show":
        if not self.quiet:
            print(paint(self.title, "bold"), flush=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.detach()

    def say(self, text: str, always: bool = False) -> None:
        """An event of the story."""
        with self._lock:
            elapsed = time.time() - self.started
            self._events.append((elapsed, text))
            if self.live and self._monitor is not None:
                self._erase()
            if not self.quiet or always:
                print(f"{elapsed:6.1f} s  {text}", flush=True)

    def attach(self, monitor: Monitor) -> None:
        """From now on the monitor's figures are shown."""
        self._monitor = monitor
        self._stop.clear()
        if self.quiet:
            return
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def detach(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None
        self._monitor = None
        self._lines = 0

    def summary(self, monitor: Monitor) -> None:
        """The whole run's throughput in one line."""
        if self.quiet:
            return
        values = list(monitor.watched.throughput)
        print(f"          throughput over the run  {sparkline(thin(values, 60), 60)}  peak {octets(max(values, default=0))}/s", flush=True)

    def _run(self) -> None:
        period = _REPAINT if self.live else _PLAIN_EVERY
        while not self._stop.wait(period):
            with self._lock:
                if self._monitor is None:
                    return
                if self.live:
                    self._erase()
                    picture = self._picture(self._monitor)
                    sys.stdout.write("\n".join(picture) + "\n")
                    self._lines = len(picture)
                else:
                    sys.stdout.write(self._line(self._monitor) + "\n")
                sys.stdout.flush()
        with self._lock:
            self._erase()

    def _erase(self) -> None:
        if self._lines:
            sys.stdout.write(f"\033[{self._lines}F\033[J")
            self._lines = 0

    def _picture(self, monitor: Monitor) -> list[str]:
        width = max(40, shutil.get_terminal_size().columns - 1)
        watched = monitor.watched
        sessions = watched.sessions
        full = max([*sessions.values(), 1])
        lines = [""]
        for number in sorted({*sessions, *self.dead}):
            if number in self.dead:
                lines.append(f"  node{number}  " + paint(self.dead[number], "red"))
            else:
                count = sessions.get(number, 0)
                lines.append(f"  node{number}  {paint(bar(count, full, width - 26), 'green')} {count} sessions")
        now = watched.throughput[-1] if watched.throughput else 0.0
        lines.append(f"  to the clients  {paint(sparkline(watched.throughput, width - 34), 'cyan')} {octets(now)}/s")
        lines.append(f"  {self.progress}")
        lines.append("  messages  " + _counts(watched.messages))
        for exchange in list(watched.exchanges)[-6:]:
            style = {"QS": "yellow", "RS": "green", "RX": "dim", "NC": "magenta"}.get(exchange.type, "blue")
            text = f"  {exchange.time - self.started:7.3f}  {exchange.sender:>7} {arrow()} {exchange.receiver:<7}  "
            lines.append(text + paint(exchange.type, style) + f"  {exchange.flow}")
        return [line if "\033" in line else line[:width] for line in lines]

    def _line(self, monitor: Monitor) -> str:
        watched = monitor.watched
        carried = "  ".join(
            f"node{n} {self.dead.get(n) or watched.sessions.get(n, 0)}" for n in sorted({*watched.sessions, *self.dead}))
        now = watched.throughput[-1] if watched.throughput else 0.0
        return f"{time.time() - self.started:6.1f} s  {carried}  {octets(now)}/s  {_counts(watched.messages)}  {self.progress}"


def _counts(messages: dict[str, int]) -> str:
    return "  ".join(f"{name} {messages[name]}" for name in sorted(messages))
