"""What a worker does to itself before it touches the learner's code.

Layers are independent and each is best effort: an answer is graded on any
system, and the report says which of them hold. Nothing here can be undone by
the process or by what it starts.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import shutil
import signal
import site
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.isolation import containing, kernel, landlock, seccomp

# Imported before anything is forked: a fork would do it again each time.
try:
    import resource
except ImportError:  # not on Windows
    resource = None

# Relative to what is there: importing torch alone reserves several hundred megabytes.
MEMORY = 2 << 30
FILE_SIZE = 64 << 20
OPEN_FILES = 256
# A last resort; how long a call may take is for the judge to say, by the clock.
CPU_SECONDS = 300
# SIGXCPU at the first limit, SIGKILL at the second: the signal tells the cause.
CPU_GRACE = 5
# Threads and processes beyond those that the user has now, where the filter is missing.
MORE_TASKS = 64
PROBE_LIMIT = 20.0

# What libraries may look at besides themselves, none of it private. torch 2.13 goes
# without; the libraries it brings, and the standard library, ask for some of these.
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store")
READ_BY_LIBRARIES = (
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/dev/urandom",
    "/dev/zero",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
)


@dataclass(frozen=True)
class Layer:
    """One protection. `detail` says why it does not hold, or how far it does."""

    name: str
    holds: bool
    detail: str = ""


@dataclass(frozen=True)
class Report:
    """Which protections a process has."""

    layers: tuple[Layer, ...]

    def holds(self, name: str) -> bool:
        return any(layer.holds for layer in self.layers if layer.name == name)

    def missing(self) -> tuple[Layer, ...]:
        return tuple(layer for layer in self.layers if not layer.holds)


def confine(
    scratch: Path,
    readable: Iterable[Path] = (),
    hidden: Iterable[Path] = (),
    *,
    keep: Collection[int] | None = None,
    cpu_seconds: int = CPU_SECONDS,
) -> Report:
    """Give up, for good, what grading an answer does not need; never raise.

    Call it in a forked process with one thread. `scratch` becomes the current
    and the temporary folder, and the only place to write to. Beside it, Python,
    its packages and `readable` can be read, but nothing beneath `hidden`,
    except what `readable` or Python's own paths name inside of it. With `keep`,
    every open file but those and the first three is closed: one that was
    inherited would pass by all limits on files.
    """
    scratch = scratch.absolute()  # the current folder is about to change
    readable, hidden = [p.absolute() for p in readable], [p.absolute() for p in hidden]
    if keep is not None:
        _close_all_but(keep)
    layers = [_attempt(name, step) for name, step in _limits(cpu_seconds)]
    layers.append(_attempt("privileges", _give_up_privileges))
    layers.append(_attempt("parent", _die_with_parent))
    layers.append(_attempt("folder", lambda: _settle(scratch)))
    filtered = _attempt("filter", seccomp.install)
    layers.append(filtered)
    tasks = filtered if filtered.holds else _attempt("processes", _limit_tasks)
    layers.append(Layer("processes", tasks.holds, tasks.detail))
    version = 0

    def restrict() -> None:
        nonlocal version
        allowed = landlock.without([*python_paths(), *readable, *_found(READ_BY_LIBRARIES)], hidden)
        version = landlock.restrict(allowed, [scratch], [Path(os.devnull)])

    layers.append(_attempt("files", restrict))
    layers.append(_covered("network", filtered, version >= landlock.TCP_SINCE, "TCP only"))
    layers.append(_covered("signals", filtered, version >= landlock.SIGNALS_SINCE, ""))
    return Report(tuple(layers))


def available() -> Report:
    """Return what `confine` and PID namespaces would give here; tried out in a fork."""
    if not hasattr(os, "fork"):
        return Report((Layer("all", holds=False, detail="this system cannot fork"),))
    scratch = Path(tempfile.mkdtemp(prefix="grader-"))
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        _probe(scratch, theirs)
    os.close(theirs)
    try:
        layers = json.loads(_read_all(ours) or "[]")
    finally:
        os.close(ours)
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        shutil.rmtree(scratch, ignore_errors=True)
    return Report(tuple(Layer(*each) for each in layers))


def hide_memory() -> bool:
    """Keep processes of the same user from reading this one's memory; return whether it worked.

    For a process that holds solutions, where Landlock does not guard it. Root
    reads on.
    """
    try:
        kernel.prctl(kernel.SET_DUMPABLE, 0)
    except OSError:
        return False
    return True


@functools.cache
def python_paths() -> tuple[Path, ...]:
    """Return the folders that Python, its packages and their libraries are read from.

    Folders that are only on the path, as the project itself is, are no part of
    it. Looking takes longer than all the rest of `confine`: call this once where
    workers are forked from, after torch is loaded.
    """
    found = [sys.prefix, sys.base_prefix, sys.exec_prefix, *LIBRARIES]
    found += [path for name, path in sysconfig.get_paths().items() if name.endswith("lib")]
    found += [*site.getsitepackages(), site.getusersitepackages()]
    found += [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    torch = sys.modules.get("torch")
    if torch is not None and torch.__file__:
        # An installer may have put links to a cache in the place of files.
        found.append(str(Path(torch.__file__).resolve().parent))
    return tuple(dict.fromkeys(_found(found)))


def _found(paths: Iterable[str]) -> list[Path]:
    # Path.exists would raise where a folder on the way is somebody else's.
    return [Path(path) for path in paths if path and os.access(path, os.R_OK)]


def _attempt(name: str, step: Callable[[], None]) -> Layer:
    try:
        step()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is only a layer
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Layer(name, holds=False, detail=reason or type(error).__name__)
    return Layer(name, holds=True)


def _covered(name: str, filtered: Layer, otherwise: bool, how_far: str) -> Layer:
    if filtered.holds:
        return Layer(name, holds=True)
    return Layer(name, otherwise, how_far if otherwise else filtered.detail)


def _limits(cpu_seconds: int) -> list[tuple[str, Callable[[], None]]]:
    def memory() -> None:
        pages = Path("/proc/self/statm").read_bytes().split()[0]
        _limit("AS", int(pages) * os.sysconf("SC_PAGE_SIZE") + MEMORY)

    return [
        ("memory", memory),
        ("cpu", lambda: _limit("CPU", cpu_seconds, cpu_seconds + CPU_GRACE)),
        ("file size", lambda: _limit("FSIZE", FILE_SIZE)),
        ("open files", lambda: _limit("NOFILE", OPEN_FILES)),
        ("core dumps", lambda: _limit("CORE", 0)),
    ]


def _limit(name: str, soft: int, hard: int | None = None) -> None:
    kind = getattr(resource, f"RLIMIT_{name}", None)
    if resource is None or kind is None:
        raise OSError(0, f"this system has no limit {name}")
    _, highest = resource.getrlimit(kind)
    hard = soft if hard is None else hard
    if highest != resource.RLIM_INFINITY:
        soft, hard = min(soft, highest), min(hard, highest)
    resource.setrlimit(kind, (soft, hard))


def _limit_tasks() -> None:
    """Cap processes and threads, which the system counts for the user as a whole."""
    if os.getuid() == 0:
        raise OSError(0, "limits on processes do not hold for root")
    tasks = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.stat().st_uid == os.getuid():
                tasks += len(list((process / "task").iterdir()))
    _limit("NPROC", tasks + MORE_TASKS)


def _give_up_privileges() -> None:
    kernel.prctl(kernel.SET_NO_NEW_PRIVILEGES, 1)
    # Root that cannot read a package in somebody's home would fail answers for it;
    # without the right to raise limits, they hold for root too.
    kernel.keep_capabilities(1 << kernel.READ_ANYWHERE)


def _die_with_parent() -> None:
    # A parent that is gone already has closed the line to this process.
    kernel.prctl(kernel.SET_DEATH_SIGNAL, signal.SIGKILL)


def _settle(scratch: Path) -> None:
    os.chdir(scratch)
    for name in ("TMPDIR", "TEMP", "TMP"):
        os.environ[name] = str(scratch)
    tempfile.tempdir = None  # found anew when next asked for


def _close_all_but(keep: Collection[int]) -> None:
    start = 3
    for number in sorted({*keep, os.sysconf("SC_OPEN_MAX")}):
        os.closerange(start, number)
        start = max(start, number + 1)


def _probe(scratch: Path, replies: int) -> None:
    """Try everything out, write the layers as JSON, and end."""
    try:
        reason = containing.claim()
        child = containing.fork_into_namespace()
        if child.pid == 0:
            time.sleep(PROBE_LIMIT)
            os._exit(0)
        held = child.first is not None
        containing.end(child)
        layers = [*confine(scratch).layers, Layer("namespace", held, reason)]
        text = json.dumps([(each.name, each.holds, each.detail) for each in layers])
        os.write(replies, text.encode())
    finally:
        os._exit(0)


def _read_all(pipe: int) -> str:
    deadline = time.monotonic() + PROBE_LIMIT
    data = b""
    while (left := deadline - time.monotonic()) > 0:
        if select.select([pipe], [], [], left)[0]:
            chunk = os.read(pipe, 1 << 16)
            if not chunk:
                break
            data += chunk
    return data.decode()
