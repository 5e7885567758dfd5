# SPDX-License-Identifier: BSD-3-Clause
"""Colours, bars and sparklines; colour only on a terminal that wants it."""

from __future__ import annotations

import os
import sys
from typing import Iterable

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36"}
_TICKS = "▁▂▃▄▅▆▇█"
_PLAIN_TICKS = "_.-=+*#@"


def is_live() -> bool:
    """Whether the screen can be repainted."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _colours() -> bool:
    return is_live() and "NO_COLOR" not in os.environ


def _unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def paint(text: str, *styles: str) -> str:
    """`text` in the given styles, or as it is."""
    if not styles or not _colours():
        return text
    return f"\033[{';'.join(_CODES[style] for style in styles)}m{text}\033[0m"


def bar(value: int, full: int, width: int) -> str:
    """A bar of `width` places at `full`."""
    places = round(width * value / full) if full else 0
    return ("█" if _unicode() else "#") * min(width, places)


def sparkline(values: Iterable[float], width: int) -> str:
    """The last values, at most `width`, each as a tick between nothing and the largest."""
    shown = list(values)[-width:]
    top = max(shown, default=0)
    ticks = _TICKS if _unicode() else _PLAIN_TICKS
    return "".join(ticks[min(len(ticks) - 1, int(value / top * len(ticks)))] if top else ticks[0] for value in shown)


def arrow() -> str:
    return "→" if _unicode() else "->"


def thin(values: list[float], width: int) -> list[float]:
    """At most `width` values, each the mean of its share, so that a whole run fits one line."""
    if len(values) <= width:
        return values
    edges = [len(values) * i // width for i in range(width + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in zip(edges, edges[1:])]


def octets(value: float) -> str:
    """A rate or an amount with its unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.1f} {unit}" if unit != "B" else f"{value:.0f} B"
