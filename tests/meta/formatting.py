# SPDX-License-Identifier: BSD-3-Clause
"""clang-format has nothing to change."""
import shutil
import subprocess

import tree


def problems(root):
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    if program is None:
        return ["clang-format is not installed: run tools/dev/install-packages"]
    names = [str(path) for path in tree.files(root, suffixes=tree.CPP)]
    found = []
    for start in range(0, len(names), 64):
        command = [program, "--dry-run", "-Werror", f"--style=file:{root}/.clang-format", *names[start : start + 64]]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            found += [line for line in result.stderr.splitlines() if "error:" in line]
    return found
