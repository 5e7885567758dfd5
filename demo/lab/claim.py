# SPDX-License-Identifier: BSD-3-Clause
"""Which laboratory this is: a number of its own among those that run, and the removal of what dead ones left behind."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from typing import Optional

from lab.netns import Namespace

LOCKS = "/run/asrp-lab"
_NAME = re.compile(r"^asrp(\d+)-")


class Claim:
    """Holds the lowest free number; namespaces are called asrp<number>-<role>, files live in /run/asrp-lab/<number>.d."""

    def __init__(self) -> None:
        os.makedirs(LOCKS, mode=0o755, exist_ok=True)
        self.number = 0
        self._lock = -1
        number = 1
        while self._lock < 0:
            descriptor = _try_lock(number)
            if descriptor is None:
                number += 1
                continue
            self._lock, self.number = descriptor, number
        remove_remains(self.number)
        self.directory = _directory(self.number)
        os.makedirs(self.directory, mode=0o755)

    def namespace(self, role: str) -> Namespace:
        return Namespace(f"asrp{self.number}-{role}")

    def release(self, keep: bool = False) -> None:
        """Gives the number back. With `keep` all stays until a later laboratory finds that its owner is gone."""
        if self._lock < 0:
            return
        if not keep:
            remove_remains(self.number)
            os.unlink(_lock_file(self.number))
        os.close(self._lock)
        self._lock = -1


def remove_dead_labs() -> list[int]:
    """Removes what laboratories left whose owner is no more; returns their numbers."""
    removed = []
    for number in sorted(_numbers_seen()):
        descriptor = _try_lock(number)
        if descriptor is None:
            continue
        remove_remains(number)
        os.unlink(_lock_file(number))
        os.close(descriptor)
        removed.append(number)
    return removed


def remove_remains(number: int) -> None:
    """Namespaces, processes in them and files of laboratory `number`; the caller holds its lock."""
    for name in _namespace_names():
        if name.startswith(f"asrp{number}-"):
            Namespace(name).remove()
    shutil.rmtree(_directory(number), ignore_errors=True)


def _numbers_seen() -> set[int]:
    numbers = {int(match.group(1)) for match in map(_NAME.match, _namespace_names()) if match}
    if os.path.isdir(LOCKS):
        numbers |= {int(name.split(".")[0]) for name in os.listdir(LOCKS) if name.split(".")[0].isdigit()}
    return numbers


def _namespace_names() -> list[str]:
    return os.listdir("/run/netns") if os.path.isdir("/run/netns") else []


def _lock_file(number: int) -> str:
    return f"{LOCKS}/{number}.lock"


def _directory(number: int) -> str:
    return f"{LOCKS}/{number}.d"


def _try_lock(number: int) -> Optional[int]:
    """The descriptor of the locked file, or None if a living laboratory has it."""
    os.makedirs(LOCKS, mode=0o755, exist_ok=True)
    while True:
        descriptor = os.open(_lock_file(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        # The file may have been unlinked by its former owner between open and lock: then the lock is worth nothing.
        try:
            if os.stat(_lock_file(number)).st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)
