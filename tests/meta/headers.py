# SPDX-License-Identifier: BSD-3-Clause
"""Each header compiles by itself. Needs the compiler and its flags in ASRP_CXX (a command line)."""
import concurrent.futures
import os
import shlex
import subprocess

import tree


def _compile(command, path):
    return subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)


def problems(root):
    command = shlex.split(os.environ["ASRP_CXX"]) + ["-std=c++20", "-fsyntax-only", "-Wno-pragma-once-outside-header", "-x", "c++"]
    for directory in ("libasrp/include", "libasrp/src", "asrpd-common", "."):
        command += ["-I", str(root / directory)]
    headers = list(tree.files(root, ("libasrp", *tree.GPL_DIRS), {".hpp"}))
    if not headers:
        return ["no headers found"]
    found = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for path, result in zip(headers, pool.map(lambda p: _compile(command, p), headers)):
            if result.returncode:
                first = next((line for line in result.stderr.splitlines() if "error" in line), "does not compile")
                found.append(f"{tree.relative(root, path)}: {first}")
    return found
