#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the draft's requirements with the code and the tests that name them.

Code names an id in a comment, `// spec: 4.3.3-2` (several: separated by commas or blanks); a test names it in its
title, `[spec 4.3.3-2]`. Exit 1 if an id without an exception has no code or no test, or if something names an id that
does not exist. --list prints every place.
"""
import argparse
import pathlib
import re
import sys
import tomllib

CODE_DIRS = ("libasrp", "asrpd-common", "asrpd-node", "asrpd-holder", "tools")
CODE_SUFFIXES = {".hpp", ".cpp"}
TEST_SUFFIXES = {".hpp", ".cpp", ".sh", ".py", ".scn", ".toml", ""}
ID = r"\d+(?:\.\d+)*-\d+"
IN_CODE = re.compile(rf"spec:\s*({ID}(?:[,\s]+{ID})*)")
IN_TEST = re.compile(rf"\[spec\s+({ID}(?:[,\s]+{ID})*)\]")
EXEMPT = {"differs", "deployment", "document", "declined", "planned"}
KINDS = EXEMPT | {"reading"}


def places(root, directories, suffixes, pattern):
    """Returns {id: ["file:line", ...]}."""
    found = {}
    for directory in directories:
        for path in sorted((root / directory).rglob("*")):
            if not path.is_file() or path.suffix not in suffixes or "corpus" in path.parts:
                continue
            try:
                text = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                for name in re.findall(ID, match.group(1)):
                    found.setdefault(name, []).append(f"{path.relative_to(root)}:{line}")
    return found


def load(root):
    """Reads requirements and exceptions; returns them with a list of what is wrong in the two files."""
    requirements = tomllib.loads((root / "docs/spec/requirements.toml").read_text())["requirement"]
    exceptions = tomllib.loads((root / "docs/spec/exceptions.toml").read_text())["exception"]
    known = [entry["id"] for entry in requirements]
    problems = [f"requirements.toml: {name} appears twice" for name in sorted({n for n in known if known.count(n) > 1})]
    for entry in exceptions:
        if entry["id"] not in known:
            problems.append(f"exceptions.toml: {entry['id']} is no requirement")
        if entry["kind"] not in KINDS:
            problems.append(f"exceptions.toml: {entry['id']} has the unknown kind {entry['kind']}")
        if not entry.get("reason", "").strip():
            problems.append(f"exceptions.toml: {entry['id']} has no reason")
    return requirements, {entry["id"]: entry for entry in exceptions}, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--list", action="store_true", help="print every place")
    options = parser.parse_args()

    requirements, exceptions, problems = load(options.root)
    code = places(options.root, CODE_DIRS, CODE_SUFFIXES, IN_CODE)
    tests = places(options.root, ("tests",), TEST_SUFFIXES, IN_TEST)
    known = {entry["id"] for entry in requirements}
    for name in sorted((code.keys() | tests.keys()) - known):
        where = code.get(name, []) + tests.get(name, [])
        problems.append(f"{name} is named in {', '.join(where)} but is no requirement")

    print(f"{'id':<10}{'level':<12}{'mode':<6}{'code':>5}{'tests':>7}  {'exception':<11} text")
    complete = 0
    for entry in requirements:
        name = entry["id"]
        exception = exceptions.get(name)
        kind = exception["kind"] if exception else ""
        in_code, in_tests = code.get(name, []), tests.get(name, [])
        print(f"{name:<10}{entry['level']:<12}{entry['mode']:<6}{len(in_code):>5}{len(in_tests):>7}  {kind:<11} {entry['text']}")
        if options.list:
            for where in in_code + in_tests:
                print(f"{'':<10}{where}")
        complete += bool(in_code and in_tests)
        if kind in EXEMPT:
            continue
        missing = [what for what, where in (("code", in_code), ("test", in_tests)) if not where]
        if missing:
            problems.append(f"{name} has no {' and no '.join(missing)}")

    print(f"\n{len(requirements)} requirements, {complete} with code and test, {len(exceptions)} with an exception")
    for problem in problems:
        print(f"spec_report: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
