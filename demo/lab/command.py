# SPDX-License-Identifier: BSD-3-Clause
"""What every program of the demo ends with."""

from __future__ import annotations

import os
import sys
from typing import Callable, NoReturn, Sequence


def run(main: Callable[[Sequence[str]], int]) -> NoReturn:
    """Runs a program's main and leaves with its status; an interrupt has had everything removed."""
    os.umask(0o022)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("\ninterrupted; everything is removed", flush=True)
        sys.exit(130)
