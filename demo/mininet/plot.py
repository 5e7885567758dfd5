# SPDX-License-Identifier: BSD-3-Clause
"""Pictures and figures of a run: throughput of each client and sessions at each node over time, with the events marked."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from typing import Sequence

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

from lab.monitor import Sample  # noqa: E402

_MEGABIT = 125_000  # octets


@dataclass(frozen=True)
class Event:
    """Something that was done to the network."""

    time: float
    label: str


def write_plot(path: str, title: str, samples: Sequence[Sample], events: Sequence[Event]) -> list[str]:
    """Writes `path`.png and `path`.svg; returns their names."""
    begin = samples[0].time if samples else 0.0
    times = [sample.time - begin for sample in samples]
    # The same run gives the same SVG, and its text stays text.
    matplotlib.rcParams.update({"svg.hashsalt": "asrp", "svg.fonttype": "none", "font.size": 9})
    figure, (upper, lower) = pyplot.subplots(2, 1, sharex=True, figsize=(8, 5.2), gridspec_kw={"height_ratios": [3, 2]})
    for client in sorted({n for sample in samples for n in sample.clients}):
        upper.plot(times, [s.clients.get(client, 0.0) / _MEGABIT for s in samples], label=f"c{client}", linewidth=1.3)
    for node in sorted({n for sample in samples for n in sample.sessions}):
        # A node that is not there is a gap, not a zero.
        lower.plot(times, [s.sessions.get(node, float("nan")) for s in samples], label=f"n{node}", linewidth=1.3,
                   drawstyle="steps-mid")
    upper.set_ylabel("throughput, Mbit/s")
    lower.set_ylabel("sessions at node")
    lower.set_xlabel("time, s")
    for axes in (upper, lower):
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, max([*times, 1.0]))
        axes.grid(alpha=0.25)
        if axes.lines:
            axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
        for event in events:
            axes.axvline(event.time - begin, color="0.35", linestyle="--", linewidth=0.9)
    _label(upper, [(event.time - begin, event.label) for event in events], max([*times, 1.0]))
    figure.suptitle(title, fontsize=10, x=0.02, ha="left")
    figure.tight_layout()
    names = [f"{path}.png", f"{path}.svg"]
    figure.savefig(names[0], dpi=150)
    figure.savefig(names[1], metadata={"Date": None})
    pyplot.close(figure)
    return names


def _label(axes: Axes, events: list[tuple[float, str]], length: float) -> None:
    """Above the picture; one that would run into its left neighbour stands higher."""
    ends: list[float] = []  # of the labels in each row
    for moment, text in sorted(events):
        row = next((n for n, end in enumerate(ends) if end <= moment), len(ends))
        end = moment + length * 0.0155 * (len(text) + 1)
        ends[row:row + 1] = [end]
        axes.annotate(text, (moment, 1), xycoords=("data", "axes fraction"), xytext=(2, 3 + 11 * row), textcoords="offset points",
                      fontsize=8, color="0.25", annotation_clip=False)


def write_table(path: str, samples: Sequence[Sample], events: Sequence[Event]) -> str:
    """The plotted figures as `path`.csv: time, octets a second of each client, sessions of each node, events of that period."""
    clients = sorted({n for sample in samples for n in sample.clients})
    nodes = sorted({n for sample in samples for n in sample.sessions})
    name = f"{path}.csv"
    with open(name, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time_s", *(f"c{n}_octets_per_s" for n in clients), *(f"n{n}_sessions" for n in nodes), "events"])
        before = 0.0
        for sample in samples:
            labels = [event.label for event in events if before < event.time <= sample.time]
            before = sample.time
            writer.writerow([round(sample.time - samples[0].time, 3), *(round(sample.clients.get(n, 0.0)) for n in clients),
                             *(sample.sessions.get(n, "") for n in nodes), "; ".join(labels)])
    os.chmod(name, 0o644)
    return name
