# SPDX-License-Identifier: BSD-3-Clause
"""Network, process and mount namespaces around a whole demo: nothing of it is seen from outside, and all of it ends with it."""

from __future__ import annotations

import ctypes
import os
import signal

from lab.claim import LOCKS
from lab.netns import CLONE_NEWNET, run

_CLONE_NEWNS = 0x00020000
_CLONE_NEWPID = 0x20000000
_PR_SET_PDEATHSIG = 1
_PRIVATE = ("/run/netns", LOCKS)  # named namespaces, and what laboratories keep of themselves
_libc = ctypes.CDLL(None, use_errno=True)


def isolate() -> None:
    """Returns in a process that is the first of namespaces of its own. The calling process waits for it, passes signals on and
    exits with its status; when the first process ends, however it does, the kernel ends all others and removes all links."""
    if _libc.unshare(CLONE_NEWNET | _CLONE_NEWNS | _CLONE_NEWPID) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "unshare")
    child = os.fork()
    if child != 0:
        os._exit(_wait(child))
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    run(["mount", "--make-rprivate", "/"])
    run(["mount", "-t", "proc", "proc", "/proc"])
    for path in _PRIVATE:
        os.makedirs(path, mode=0o755, exist_ok=True)
        run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", path])
    run(["ip", "link", "set", "lo", "up"])
    _quiet_bridges()


def _wait(child: int) -> int:
    """Ctrl-C reaches the child by itself: the terminal sends it to both."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: os.kill(child, received))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _quiet_bridges() -> None:
    """Bridges say nothing of their own, and what they carry does not pass this namespace's netfilter."""
    settings = {f"net/ipv6/conf/{which}/disable_ipv6": "1" for which in ("all", "default")}
    settings |= {f"net/bridge/bridge-nf-call-{table}": "0" for table in ("iptables", "ip6tables", "arptables")}
    for path, value in settings.items():
        if os.path.exists("/proc/sys/" + path):
            with open("/proc/sys/" + path, "w", encoding="ascii") as file:
                file.write(value)
