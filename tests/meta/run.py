#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: run.py CHECK ROOT. Runs one check over the tree, prints what it finds, exits 1 if it found something."""
import importlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))


def main():
    name, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    found = importlib.import_module(name).problems(root)
    for problem in found:
        print(problem)
    print(f"{name}: {len(found)} problem(s)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
