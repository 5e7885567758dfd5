# SPDX-License-Identifier: BSD-3-Clause
"""Every relative link in the documentation leads to a file, and every #fragment to a heading of it."""
import re

import tree

LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\(([^)\s]+)\)|!\[[^\]\n]*\]\(([^)\s]+)\)")


def _documents(root):
    yield from sorted(root.glob("*.md"))
    yield from (p for p in tree.files(root, ("docs", "demo", "bench", "tests", "packaging"), {".md"}))


def _anchors(text):
    for heading in re.findall(r"^#+ +(.+?) *$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.lower())
        yield plain.replace(" ", "-")


def problems(root):
    found = []
    for document in _documents(root):
        text = re.sub(r"```.*?```", lambda m: "\n" * m.group(0).count("\n"), document.read_text(encoding="utf-8"), flags=re.DOTALL)
        for match in LINK.finditer(text):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z]+:", target):
                continue
            where = f"{tree.relative(root, document)}:{tree.line_of(text, match.start())}"
            name, _, fragment = target.partition("#")
            file = (document.parent / name).resolve() if name else document
            if not file.exists():
                found.append(f"{where}: {target} does not exist")
            elif fragment and file.suffix == ".md" and fragment not in _anchors(file.read_text(encoding="utf-8")):
                found.append(f"{where}: {target}: no such heading")
    return found
