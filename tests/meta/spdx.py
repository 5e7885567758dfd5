# SPDX-License-Identifier: BSD-3-Clause
"""Every source, script and build file says its licence in its first lines, and the right one."""
import tree

SUFFIXES = tree.CPP | {".sh", ".py", ".cmake"}


def _wants_header(path):
    return path.suffix in SUFFIXES or path.name == "CMakeLists.txt" or (not path.suffix and tree.is_script(path))


def problems(root):
    found = []
    for path in tree.files(root):
        if not _wants_header(path) or path.stat().st_size == 0:
            continue
        name = tree.relative(root, path)
        licence = "GPL-2.0-or-later" if name.startswith(tuple(f"{d}/" for d in tree.GPL_DIRS)) else "BSD-3-Clause"
        head = "\n".join(path.read_text(encoding="utf-8").splitlines()[:3])
        if f"SPDX-License-Identifier: {licence}" not in head:
            found.append(f"{name}: the first lines lack SPDX-License-Identifier: {licence}")
    for licence in ("BSD-3-Clause", "GPL-2.0-or-later"):
        if not (root / f"LICENSES/{licence}.txt").exists():
            found.append(f"LICENSES/{licence}.txt is missing")
    return found
