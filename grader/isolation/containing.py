"""Fork a process so that it can be ended with everything it started.

A daemon that called setsid has left its group, but not its PID namespace: when
the first process of a namespace ends, the kernel kills all others in it. That
first process is a tiny program of its own, so that the fork keeps the usual
signals and its own exit status. Where namespaces are not to be had, orphans are
adopted and found in /proc, which a process that forks all the time can evade.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from grader.isolation import kernel

# How long the kernel may take to clean up after a kill.
PATIENCE = 5.0
ROUNDS = 50


@dataclass(frozen=True)
class Child:
    """A forked process: its own number, and the first process of its namespace, if it has one.

    `leash` is a pipe that this side holds: when it closes, the first process ends.
    """

    pid: int
    first: int | None = None
    leash: int | None = None


def claim() -> str:
    """Make this process able to give its children PID namespaces; return why it is not, if so.

    Call it early, with one thread and little memory. Root needs nothing. Anyone
    else moves into a user namespace, where all numbers of users stay as they
    are: what returns from here is then a child of the process that called, which
    stays behind, passes on how the child ended, and takes it along when killed.
    In any case orphans are adopted from now on.
    """
    try:
        kernel.prctl(kernel.SET_SUBREAPER, 1)
        if kernel.capabilities() >> kernel.SYSTEM_ADMIN & 1:
            return ""
        _try_namespaces()
        _move_into_namespaces()
    except OSError as error:
        return f"no PID namespaces: {error.strerror}"
    kernel.prctl(kernel.SET_SUBREAPER, 1)
    return ""


def fork_into_namespace() -> Child:
    """Fork, as os.fork does, into a PID namespace of its own where that is possible.

    In the child, which begins a session of its own, `pid` is 0. In the parent,
    `end` must be called for every child. The child is a plain fork, without
    `first`, where the system refuses. Raises OSError as os.fork does.
    """
    try:
        home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return _forked(None, None)
    here = os.getpid()
    try:
        try:
            kernel.unshare(kernel.NEW_PID)
        except OSError:
            return _forked(None, None)
        first = leash = None
        try:
            first, leash = _start_first()
            return _forked(first, leash)
        except OSError:
            if first is not None:
                end(Child(first, None, leash))
            raise
        finally:
            if os.getpid() == here:  # the child stays where it is
                kernel.setns(home, kernel.NEW_PID)
    finally:
        os.close(home)


def _forked(first: int | None, leash: int | None) -> Child:
    pid = os.fork()
    if pid:
        return Child(pid, first, leash)
    if leash is not None:
        os.close(leash)
    # kill(0, …) reaches the group across namespaces.
    with contextlib.suppress(OSError):
        os.setsid()
    return Child(0)


def end(child: Child, others: Collection[int] | None = None) -> int:
    """Kill a child and all it has started, reap it, and return its wait status.

    A child that had ended by itself keeps its status. Where it has no
    namespace, what it left behind may have been adopted by this process: with
    `others`, the children of this process that are none of it, all of its
    remaining children are killed too. Returns after a few seconds in any case.
    """
    for pid in filter(None, (child.first, child.pid)):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    if child.leash is not None:
        with contextlib.suppress(OSError):
            os.close(child.leash)
    if child.first is None:
        kill_descendants(child.pid)
    # The first process is done only when everyone else is, this child reaped included.
    status = _reap(child.pid)
    if child.first is not None:
        _reap(child.first)
    elif others is not None:
        kill_descendants(os.getpid(), others)
    return status


def kill_descendants(ancestor: int, spare: Collection[int] = ()) -> int:
    """Kill all processes below `ancestor`, found in /proc; return how many.

    Those in `spare`, and what is below them, are left alone. All are stopped
    before any is killed, so that none forks on meanwhile. Children of this
    process are reaped.
    """
    killed: set[int] = set()
    if not _numbers_are_ours():
        return 0
    for _ in range(ROUNDS):
        found = _below(ancestor, spare) - killed
        if not found:
            break
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                with contextlib.suppress(OSError):
                    os.kill(pid, number)
        killed |= found
    if ancestor == os.getpid():
        for pid in killed:
            _reap(pid)
    return len(killed)


def _numbers_are_ours() -> bool:
    """Tell whether /proc counts processes as this namespace does."""
    try:
        return Path("/proc/self").readlink().name == str(os.getpid())
    except OSError:
        return False


def _below(ancestor: int, spare: Collection[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                children.setdefault(_parent(entry.path), []).append(int(entry.name))
    found: set[int] = set()
    waiting = [ancestor]
    while waiting:
        news = [pid for pid in children.get(waiting.pop(), []) if pid not in spare]
        found.update(news)
        waiting += news
    return found


def _parent(process: str) -> int:
    try:
        # The name, in brackets, may hold anything; state and parent follow it.
        about = Path(process, "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0
    return int(about[1]) if about[0] not in (b"Z", b"X") else 0


def _reap(pid: int) -> int:
    deadline = time.monotonic() + PATIENCE
    pause = 0.0002
    while time.monotonic() < deadline:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            break
        if done:
            return status
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    return signal.SIGKILL


def _start_first() -> tuple[int, int]:
    """Start the first process of the namespace just made: it waits until its leash closes."""
    # A spawned program has no copy of this one's memory, which takes longest to make.
    cat = shutil.which("cat", path="/bin:/usr/bin")
    wait = "import os; os.read(0, 1)"
    command = [cat] if cat else [sys.executable, "-I", "-S", "-c", wait]
    theirs, ours = os.pipe()
    try:
        first = os.posix_spawn(
            command[0],
            command,
            {},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, theirs, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setsigmask=(),
        )
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return first, ours


def _try_namespaces() -> None:
    """Raise OSError where user and PID namespaces are refused; tried out in a fork."""
    pid = os.fork()
    if pid == 0:
        code = errno.EPERM
        try:
            _unshare_user()
            code = 0
        except OSError as error:
            code = error.errno or code
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise OSError(code, os.strerror(abs(code)))


def _unshare_user() -> None:
    user, group = os.getuid(), os.getgid()
    kernel.unshare(kernel.NEW_USER | kernel.NEW_PID)
    kernel.prctl(kernel.SET_DUMPABLE, 1)  # else the files below belong to root
    Path("/proc/self/setgroups").write_bytes(b"deny")
    Path("/proc/self/uid_map").write_bytes(b"%d %d 1" % (user, user))
    Path("/proc/self/gid_map").write_bytes(b"%d %d 1" % (group, group))


def _move_into_namespaces() -> None:
    _unshare_user()
    watched, held = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(held)
        kernel.prctl(kernel.SET_DEATH_SIGNAL, signal.SIGKILL)
        # Outside its namespace a parent has no number. Was it gone before the line above?
        os.set_blocking(watched, False)
        try:
            gone = os.read(watched, 1) == b""
        except BlockingIOError:
            gone = False
        os.close(watched)
        if gone:
            os._exit(0)
        return
    _stay_behind(pid, held)


def _stay_behind(pid: int, held: int) -> None:
    """Wait for the child and end as it ended; hold nothing that others wait on."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)
    for each in (signal.SIGUSR1, signal.SIGUSR2):  # questions to the one that does the work
        signal.signal(each, lambda number, _frame: os.kill(pid, number))
    empty = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(empty, number)
    os.closerange(3, held)
    os.closerange(held + 1, os.sysconf("SC_OPEN_MAX"))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code >= 0:
        os._exit(code)
    with contextlib.suppress(OSError):
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    os._exit(128 - code)
