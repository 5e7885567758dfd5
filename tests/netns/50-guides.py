# SPDX-License-Identifier: BSD-3-Clause
# limit: 240
# cases: load-balancer snat-gateway using-libasrp security operating
"""The guides below docs/ do what they say. Every block ```sh of a guide is run, in the order of the guide, by one shell; a block
```text behind it is what these commands must have written, where `...` stands for any text in a line, and alone for any lines. A block
with a name behind its kind (```cpp ask.cpp) is the file of that name. A guide that goes on with the machines of another one says so:
<!-- machines: load-balancer.md, before "## 4." -->; the other one's blocks up to there are run first.

The shell has a mount, network and process namespace of its own, with layers over /etc and /var/lib and an empty /run, so a guide uses
the paths that its reader will, and nothing of it is left."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile

from guides import ROOT, agrees, guide, steps

LIMIT = 200  # seconds that a guide may take
GUIDES = ("load-balancer", "snat-gateway", "using-libasrp", "security", "operating")
PROGRAMS = {"asrpd-node": "asrpd-node", "asrpd-holder": "asrpd-holder", "asrpctl": "tools/asrpctl", "asrpdump": "tools/asrpdump"}
MACHINES = re.compile(r"^<!-- machines: (\S+), before \"(.+)\" -->$", re.MULTILINE)

# What the reader's machine is: directories of the system that a guide may write to, as layers that go with the namespace.
SYSTEM = """
mount -t tmpfs tmpfs /run
mkdir -p /run/netns
for directory in etc var/lib; do
  mkdir -p "/run/layers/$directory/new" "/run/layers/$directory/work"
  mount -t overlay overlay -o "lowerdir=/$directory,upperdir=/run/layers/$directory/new,workdir=/run/layers/$directory/work" "/$directory"
done
mkdir -p /etc/asrp /run/asrp
ip link set lo up
"""


def run_guide(name: str, programs: str, show: bool) -> list[str]:
    """Problems of a guide."""
    text = guide(f"{name}.md")
    before = MACHINES.search(text)
    prepared = steps(guide(before.group(1)).split(f"\n{before.group(2)}")[0]) if before else []
    planned = prepared + steps(text)
    if len(planned) == len(prepared):
        return ["has no commands"]
    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(f"{directory}/bin")
        os.mkdir(f"{directory}/build")
        os.symlink(programs, f"{directory}/build/release")
        os.symlink(f"{ROOT}/packaging", f"{directory}/packaging")
        for program, folder in PROGRAMS.items():
            for place in (f"{programs}/{folder}/{program}", f"{programs}/{program}"):
                if os.path.isfile(place) and not os.path.exists(f"{directory}/bin/{program}"):
                    os.symlink(place, f"{directory}/bin/{program}")
        script = ["set -euo pipefail", SYSTEM, f"cd {directory}"]
        for number, step in enumerate(planned):
            with open(f"{directory}/{number}.sh", "w", encoding="utf-8") as file:
                file.write(step.commands)
            script.append(f"source {directory}/{number}.sh >{directory}/{number}.out 2>{directory}/{number}.err; touch {directory}/{number}.done")
        path = f"{directory}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        told = _run("\n".join(script), {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"})
        problems = [told] if told else []
        for number, step in enumerate(planned):
            written = _read(f"{directory}/{number}.out")
            if not os.path.exists(f"{directory}/{number}.done"):
                problems.append(f"line {step.line} failed:\n{step.commands}--- output\n{written}{_read(f'{directory}/{number}.err')}")
                break
            agreed = step.wanted is None or agrees(step.wanted, written)
            where = f"{name}.md:{step.line}" if number >= len(prepared) else f"{before.group(1)}:{step.line}" if before else ""
            print(("ok    " if agreed else "WRONG ") + where, flush=True)
            if show:
                print(written, flush=True)
            if not agreed:
                problems.append(f"line {step.line} wrote\n{written}instead of\n{step.wanted}")
    return problems


def _run(script: str, environment: dict[str, str]) -> str:
    """Runs the whole of a guide in namespaces of its own; all that it has started ends with it. Returns what the shell itself wrote."""
    argv = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", "--propagation", "private", "bash", "-c", script]
    try:
        return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, env=environment,
                              timeout=LIMIT).stderr.strip()
    except subprocess.TimeoutExpired:
        return f"not done within {LIMIT} s"


def _read(path: str) -> str:
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", default="build/release")
    parser.add_argument("--show", action="store_true", help="print what the commands write")
    parser.add_argument("guide", nargs="*", default=list(GUIDES))
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("needs root: sudo tests/netns/50-guides.py", file=sys.stderr)
        return 2
    failed = False
    for name in arguments.guide:
        for problem in run_guide(name, os.path.abspath(arguments.programs), arguments.show):
            print(f"WRONG {name}.md: {problem}", flush=True)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
