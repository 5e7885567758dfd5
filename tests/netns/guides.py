# SPDX-License-Identifier: BSD-3-Clause
"""What a guide below docs/ consists of, for the tests that run it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Optional

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FENCE = re.compile(r"^```(\S*) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Step:
    """A block of commands, the line that it begins at, and what it has to write (None: it does not matter)."""

    line: int
    commands: str
    wanted: Optional[str] = None


def steps(text: str, shell: str = "sh") -> list[Step]:
    """The blocks of commands whose kind is `shell`, and the files between them."""
    found: list[Step] = []
    last: Optional[Step] = None
    behind = 0
    for match in FENCE.finditer(text):
        kind, name, body = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        if kind == "sh":
            last = Step(line, body) if (name or "sh") == shell else None
            found += [last] if last else []
        elif name and shell == "sh":
            found.append(Step(line, f"cat >{name} <<'END OF {name}'\n{body}END OF {name}\n"))
        elif kind == "text" and last and not re.search(r"^#", text[behind:match.start()], re.MULTILINE):
            last.wanted = body
        behind = match.end()
    return found


def agrees(wanted: str, got: str) -> bool:
    """Whether what was written is what the guide shows; how wide its gaps are does not matter."""
    pattern = ""
    for line in _plain(wanted):
        pattern += r"(?:[^\n]*\n)*" if line == "..." else re.escape(line).replace(r"\.\.\.", r"[^\n]*") + "\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in _plain(got))) is not None


def _plain(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def guide(file_name: str) -> str:
    """Its text."""
    with open(os.path.join(ROOT, "docs", file_name), encoding="utf-8") as file:
        return file.read()
