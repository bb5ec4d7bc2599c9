"""Start and end the processes that run answers: forked where that is safe, spawned elsewhere.

The nursery is a fork of the grading process, taken when torch is loaded and
nothing of any kata is: what is forked from it knows no solution. It listens to
one socket. Where a fork is missing (Windows) or unsafe (macOS), each worker is
a program that loads torch for itself: the same, only slower. Setting
GRADER_START=spawn asks for that anywhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol

from grader.isolation import containing

# How a worker ends that cannot speak to the judge any more.
CUT_OFF = 86
LONGEST_LINE = 4096


@dataclass(frozen=True)
class Started:
    """A worker under way: its process, the line to it, and where it writes its stack."""

    number: int
    pid: int
    channel: socket.socket
    stacks: int


class Workers(Protocol):
    """Whatever starts workers. Every one that was started has to be ended.

    A grading may be cancelled by a signal at any moment, but not in the midst of one of these.
    """

    def start(self) -> Started: ...

    def end(self, worker: Started) -> int:
        """End a worker with all that it started; return its exit code, below 0 for a signal."""
        ...

    def end_all(self) -> None:
        """End what was started and not ended: the grading was cancelled before it could."""
        ...

    def close(self) -> None: ...


@contextmanager
def _undisturbed() -> Generator[None]:
    """Put off what cancels a grading until the block is done."""
    if not hasattr(signal, "SIGUSR2"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def workers(base: Path) -> Workers:
    """Return what starts workers here; each gets a folder of its own below `base`."""
    forks = hasattr(os, "fork") and hasattr(socket, "send_fds") and sys.platform != "darwin"
    if not forks or os.environ.get("GRADER_START") == "spawn":
        return Spawning(base)
    # What a fork has to know, loaded once.
    from grader.isolation import sandbox, worker

    sandbox.python_paths()
    return Forking(base, worker.work)


# --- forked ------------------------------------------------------------------


class Forking:
    """The judge's side of the nursery."""

    def __init__(self, base: Path, work: Callable[[int, int, Path], NoReturn]) -> None:
        self._alive: dict[int, Started] = {}
        self._control, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._control.close()
                _Nursery(theirs, base, work).serve()
            finally:
                os._exit(0)
        theirs.close()

    def start(self) -> Started:
        with _undisturbed():
            reply, descriptors = self._ask({"do": "start"})
            channel, stacks = descriptors
            started = Started(reply["number"], reply["pid"], socket.socket(fileno=channel), stacks)
            self._alive[started.number] = started
        return started

    def end(self, worker: Started) -> int:
        with _undisturbed():
            del self._alive[worker.number]
            worker.channel.close()
            os.close(worker.stacks)
            reply, _ = self._ask({"do": "end", "number": worker.number})
        return int(reply["code"])

    def end_all(self) -> None:
        for worker in list(self._alive.values()):
            self.end(worker)

    def close(self) -> None:
        self._control.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        self._control.sendall(json.dumps(request).encode() + b"\n")
        data, descriptors, _, _ = socket.recv_fds(self._control, LONGEST_LINE, 2)
        if not data:
            raise OSError("the process that starts others is gone")
        reply = json.loads(data)
        if "fault" in reply:
            raise OSError(reply["fault"])
        return reply, descriptors


class _Nursery:
    """The process that forks workers: trusted, with one thread, and without any answer."""

    def __init__(
        self, control: socket.socket, base: Path, work: Callable[[int, int, Path], NoReturn]
    ) -> None:
        self._control = control
        self._base = base
        self._work = work
        self._children: dict[int, tuple[containing.Child, Path]] = {}
        self._count = 0

    def serve(self) -> None:
        """Do what is asked until the other side is gone; then end what is left."""
        try:
            while line := self._control.recv(LONGEST_LINE):
                request = json.loads(line)
                try:
                    if request["do"] == "start":
                        self._start()
                    else:
                        self._reply({"code": self._end(request["number"])})
                except OSError as error:
                    self._reply({"fault": f"no process can be started: {error.strerror}"})
        finally:
            for number in list(self._children):
                self._end(number)

    def _start(self) -> None:
        scratch = Path(tempfile.mkdtemp(prefix="worker-", dir=self._base))
        stacks = _stack_file(scratch)
        ours, theirs = socket.socketpair()
        try:
            child = containing.fork_into_namespace()
            if child.pid == 0:
                self._work(theirs.fileno(), stacks, scratch)
            self._count += 1
            self._children[self._count] = (child, scratch)
            reply = json.dumps({"number": self._count, "pid": child.pid}).encode()
            socket.send_fds(self._control, [reply], [ours.fileno(), stacks])
        except OSError:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        finally:
            ours.close()
            theirs.close()
            os.close(stacks)

    def _end(self, number: int) -> int:
        child, scratch = self._children.pop(number)
        others = {pid for other, _ in self._children.values() for pid in (other.pid, other.first)}
        status = containing.end(child, {pid for pid in others if pid is not None})
        _remove(scratch)
        return os.waitstatus_to_exitcode(status)

    def _reply(self, message: dict[str, Any]) -> None:
        self._control.sendall(json.dumps(message).encode())


# --- spawned -----------------------------------------------------------------


class Spawning:
    """Starts each worker as a program."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._processes: dict[int, tuple[subprocess.Popen[bytes], Path, Started]] = {}

    def start(self) -> Started:
        with _undisturbed():
            return self._start()

    def _start(self) -> Started:
        scratch = Path(tempfile.mkdtemp(prefix="worker-", dir=self._base))
        stacks = _stack_file(scratch)
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "grader.isolation.spawned", str(scratch)]
        command += [str(theirs.fileno()), str(stacks)]
        try:
            process = subprocess.Popen(  # noqa: S603 - this Python, our module
                command,
                cwd=scratch,
                stdin=subprocess.DEVNULL,
                stdout=sys.__stderr__,
                pass_fds=(theirs.fileno(), stacks),
                start_new_session=True,
            )
        finally:
            theirs.close()
        started = Started(process.pid, process.pid, ours, stacks)
        self._processes[process.pid] = (process, scratch, started)
        return started

    def end(self, worker: Started) -> int:
        with _undisturbed():
            return self._end(worker)

    def _end(self, worker: Started) -> int:
        process, scratch, _ = self._processes.pop(worker.number)
        worker.channel.close()
        os.close(worker.stacks)
        with contextlib.suppress(OSError):
            containing.kill_descendants(process.pid)
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait(10)
        _remove(scratch)
        return code

    def end_all(self) -> None:
        for _, _, worker in list(self._processes.values()):
            self.end(worker)

    def close(self) -> None:
        self.end_all()


def _stack_file(scratch: Path) -> int:
    """Return a file without a name that both sides hold."""
    number, name = tempfile.mkstemp(dir=scratch)
    os.unlink(name)  # noqa: PTH108 - the folder has to be empty for the answer
    os.set_inheritable(number, True)
    return number


def _remove(folder: Path) -> None:
    """Remove a folder, whatever rights the answer has taken from its own files."""

    def unlock(function: Callable[[str], Any], path: str, _error: object) -> None:
        with contextlib.suppress(OSError):
            Path(path).parent.chmod(0o700)
            Path(path).chmod(0o700)
            function(path)

    shutil.rmtree(folder, onerror=unlock)
