# SPDX-License-Identifier: BSD-3-Clause
"""No notes of unfinished work and no paths of one machine in what is delivered."""
import re

import tree

# Written in pieces, so that this file does not find itself.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|not impl" r"emented|unimpl" r"emented|for n" r"ow)\b")
MACHINE = re.compile(r"(?<![\w.])/(?:wo" r"rk|tmp/w" r"t|ro" r"ot|fa" r"rm)/")
SUFFIXES = tree.CPP | {".py", ".sh", ".md", ".toml", ".txt", ".cmake", ".service", ""}


def problems(root):
    found = []
    paths = list(tree.files(root, tree.SOURCE_DIRS + ("docs", ".ci"), SUFFIXES)) + sorted(root.glob("*.md"))
    for path in paths:
        text = tree.text_of(path)
        for pattern in (UNFINISHED, MACHINE):
            for match in pattern.finditer(text or ""):
                found.append(f"{tree.relative(root, path)}:{tree.line_of(text, match.start())}: {match.group(0)}")
    return found
