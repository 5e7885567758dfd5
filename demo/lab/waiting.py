# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for something that can be seen, never for a fixed time."""

from __future__ import annotations

import time
from typing import Callable, Optional, TypeVar

T = TypeVar("T")


class Timeout(RuntimeError):
    """What was waited for did not come."""


def wait_for(what: str, probe: Callable[[], Optional[T]], limit: float = 60.0, every: float = 0.02) -> T:
    """The first true value that `probe` returns; Timeout, naming `what`, if none comes within `limit` seconds."""
    end = time.monotonic() + limit
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > end:
            raise Timeout(f"waited {limit:g} s in vain for {what}")
        time.sleep(every)
