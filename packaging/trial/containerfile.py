# SPDX-License-Identifier: BSD-3-Clause
"""Reads a Containerfile, as far as ours go: one stage, instructions that stand on one line, lists as JSON."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

KNOWN = ("ARG", "FROM", "COPY", "RUN", "VOLUME", "HEALTHCHECK", "ENTRYPOINT", "CMD")


@dataclass
class Recipe:
    """What a container of the image is made from and started as."""

    base: str = ""
    steps: list[tuple[str, str]] = field(default_factory=list)  # COPY and RUN with what stands behind, in order
    volumes: list[str] = field(default_factory=list)
    check: list[str] = field(default_factory=list)
    entry: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)


def read(text: str) -> Recipe:
    """Raises ValueError with the line that it does not understand."""
    recipe = Recipe()
    defaults: dict[str, str] = {}
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if word not in KNOWN or not rest or (word not in ("ARG", "FROM") and not recipe.base):
            raise ValueError(line)
        if word == "ARG":
            name, _, value = rest.partition("=")
            defaults[name] = value
        elif word == "FROM":
            recipe.base = re.sub(r"\$\{(\w+)\}", lambda match: defaults[match.group(1)], rest)
        elif word in ("COPY", "RUN"):
            recipe.steps.append((word, rest))
        else:
            _set(recipe, word, rest, line)
    if not recipe.base or not recipe.entry:
        raise ValueError("FROM or ENTRYPOINT is missing")
    return recipe


def _set(recipe: Recipe, word: str, rest: str, line: str) -> None:
    if word == "HEALTHCHECK":
        command, _, rest = rest.partition(" ")
        if command != "CMD":
            raise ValueError(line)
    try:
        words = json.loads(rest)
    except json.JSONDecodeError as problem:
        raise ValueError(line) from problem
    if not isinstance(words, list) or not all(isinstance(each, str) for each in words):
        raise ValueError(line)
    setattr(recipe, {"VOLUME": "volumes", "HEALTHCHECK": "check", "ENTRYPOINT": "entry", "CMD": "arguments"}[word], words)
