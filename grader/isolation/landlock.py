"""Landlock: a process takes away its own access to files, TCP and other processes.

It needs no privileges, holds for everything the process starts, and cannot be
undone. See the kernel's Documentation/userspace-api/landlock.rst.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from grader.isolation import kernel

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every machine
ASK_VERSION = 1
PATH_BENEATH = 1

WRITE_FILE, READ_FILE, READ_DIR = 1 << 1, 1 << 2, 1 << 3
TRUNCATE = 1 << 14
# How many access rights to files each version of the interface knows; from the
# first on, the lowest is to run programs.
FILE_RIGHTS = (0, 13, 14, 15, 15, 16)
TCP_BIND_AND_CONNECT = 0b11
ABSTRACT_SOCKETS_AND_SIGNALS = 0b11
TCP_SINCE, SIGNALS_SINCE = 4, 6

# To read is also to list folders; to run a program is no part of it, and loading
# a library does not need it.
READING = READ_FILE | READ_DIR
FILES_ONLY = WRITE_FILE | READ_FILE | TRUNCATE


def version() -> int:
    """Return the version of the interface, 0 where the kernel has none or it is off."""
    try:
        return kernel.syscall(CREATE_RULESET, None, 0, ASK_VERSION)
    except OSError:
        return 0


def restrict(
    readable: Iterable[Path], writable: Iterable[Path], devices: Iterable[Path] = ()
) -> int:
    """Leave this process access to these paths and what is beneath them; return the version.

    `devices` are read and written, and nothing is made there. Programs cannot
    be run from anywhere. Paths that do not exist are passed over. From version
    4 on TCP is shut, from 6 on signals reach only what this process starts.
    Needs PR_SET_NO_NEW_PRIVS or root. Raises OSError where Landlock is missing.
    """
    found = version()
    if not found:
        raise OSError(0, "this kernel has no Landlock, or it is switched off")
    known = (1 << FILE_RIGHTS[min(found, len(FILE_RIGHTS) - 1)]) - 1
    everything_but_running = known & ~1
    words = [known]
    if found >= TCP_SINCE:
        words.append(TCP_BIND_AND_CONNECT)
    if found >= SIGNALS_SINCE:
        words.append(ABSTRACT_SOCKETS_AND_SIGNALS)
    attributes = struct.pack(f"={len(words)}Q", *words)
    ruleset = kernel.syscall(CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for paths, rights in (
            (readable, READING),
            (writable, everything_but_running),
            (devices, (READ_FILE | WRITE_FILE | TRUNCATE) & known),
        ):
            for path in paths:
                _allow(ruleset, path, rights)
        kernel.syscall(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return found


def _allow(ruleset: int, path: Path, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(place).st_mode):
                rights &= FILES_ONLY
            kernel.syscall(ADD_RULE, ruleset, PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
        finally:
            os.close(place)


def without(paths: Iterable[Path], hidden: Iterable[Path]) -> list[Path]:
    """Return paths that cover the same as `paths`, without what is beneath `hidden`.

    Landlock only ever allows: a folder that holds something hidden is replaced
    by its other entries, as they are now. A path beneath a hidden one is kept:
    it was named on purpose, as an environment inside the project is.
    """
    secrets = {path.resolve() for path in hidden}
    found: dict[Path, None] = {}
    waiting = [path.resolve() for path in paths]
    while waiting:
        path = waiting.pop()
        if path in secrets:
            continue
        if any(path in secret.parents for secret in secrets):
            with contextlib.suppress(OSError):
                # A link leads elsewhere; what it leads to is allowed by its own name or not.
                waiting += [each for each in path.iterdir() if not each.is_symlink()]
            continue
        found[path] = None
    return list(found)
