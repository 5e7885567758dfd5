# SPDX-License-Identifier: BSD-3-Clause
"""File lengths: a warning above 350 lines, a failure above 600. Tests and tables of data may be longer than 350."""
import tree

WARN = 350
FAIL = 600


def lengths(root):
    for path in tree.files(root):
        if path.suffix in tree.CPP or tree.is_script(path):
            yield tree.relative(root, path), len(path.read_text(encoding="utf-8").splitlines())


def problems(root):
    found = []
    for name, lines in lengths(root):
        if lines > FAIL:
            found.append(f"{name}: {lines} lines, at most {FAIL}")
        elif lines > WARN and not name.startswith("tests/"):
            print(f"warning: {name}: {lines} lines, more than {WARN}")
    return found
