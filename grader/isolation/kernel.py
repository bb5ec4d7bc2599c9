"""The few calls of the Linux kernel that Python has no name for, through ctypes.

Each raises OSError with the kernel's reason, and where there is no such kernel.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import sys
from pathlib import Path
from typing import Any

SET_DEATH_SIGNAL = 1
SET_DUMPABLE = 4
SET_SECCOMP = 22
SET_SUBREAPER = 36
SET_NO_NEW_PRIVILEGES = 38

NEW_USER = 0x10000000
NEW_PID = 0x20000000

CAPABILITY_VERSION = 0x20080522
READ_ANYWHERE = 2  # CAP_DAC_READ_SEARCH
SYSTEM_ADMIN = 21  # CAP_SYS_ADMIN


@functools.cache
def _libc() -> Any:
    if not sys.platform.startswith("linux"):
        raise OSError(errno.ENOSYS, f"{platform.system()} has no such call")
    libc: Any = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


def _checked(name: str, *arguments: Any) -> int:
    function = getattr(_libc(), name, None)
    if function is None:
        raise OSError(errno.ENOSYS, f"the C library has no {name}")
    result = int(function(*arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def prctl(option: int, *values: Any) -> None:
    """Change a property of this process; values are padded with zeros."""
    padded = [ctypes.c_ulong(v) if isinstance(v, int) else v for v in (*values, 0, 0, 0, 0)[:4]]
    _checked("prctl", ctypes.c_int(option), *padded)


def syscall(number: int, *arguments: Any) -> int:
    long = ctypes.c_long
    converted = [long(a) if isinstance(a, int) else a for a in arguments]
    return _checked("syscall", long(number), *converted)


def unshare(flags: int) -> None:
    _checked("unshare", ctypes.c_int(flags))


def setns(descriptor: int, kind: int) -> None:
    _checked("setns", ctypes.c_int(descriptor), ctypes.c_int(kind))


def capabilities() -> int:
    """Return the effective capabilities of this process, one bit each; 0 where unknown."""
    try:
        lines = Path("/proc/self/status").read_bytes().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1], 16) for line in lines if line.startswith(b"CapEff:")), 0)


def keep_capabilities(kept: int) -> None:
    """Give up every capability but those in `kept`, for good once privileges cannot be gained."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    kept &= capabilities()
    low, high = kept & 0xFFFFFFFF, kept >> 32
    data = (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)
    _checked("capset", ctypes.byref(header), ctypes.byref(data))
