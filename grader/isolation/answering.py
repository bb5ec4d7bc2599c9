"""An answer that runs in a worker: the judge's side of the line.

Hangs, deaths and forged replies end here: each becomes AnswerEnded, the worker
is ended with all that it started, and the next call gets a new one.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, cast

from grader.engine.contract import Problem
from grader.errors import AnswerEnded, GraderError, NotLoadable
from grader.isolation import endings, stacks
from grader.isolation.connection import Connection
from grader.isolation.nursery import CUT_OFF, Started, Workers
from grader.isolation.wire import Closed, Garbled, TimedOut, WireError
from grader.model import Case, Outcome, Target

# Seconds. An answer is held to its own processor time, not to that of a busy machine.
CALL_LIMIT = 2.0
# Once a call is known to hang, smaller ones are given less.
HURRIED_LIMIT = 0.5
LOAD_LIMIT = 10.0
HANDSHAKE_LIMIT = 60.0
# How much longer than its limit a call may take that got no processor to run on.
PATIENCE = 5
# But no longer than this, so that where it hangs is told before a grading's time is up.
LONGEST_WAIT = 13.0
LOOK_AGAIN = 0.25
LONGEST_STACK = 1 << 16
PROC = Path("/proc/self/stat")


class RemoteAnswer:
    """A learner's file in a worker of its own; implements `grader.engine.bench.Answer`.

    Raises NotLoadable where the file is at fault, and AnswerEnded from any call
    in which the worker hangs, dies or says what nobody asked.
    """

    def __init__(self, workers: Workers, source: bytes, path: str) -> None:
        self._workers = workers
        self._source = source
        self._path = path
        self._worker: _Worker | None = None
        self._asked: deque[int] = deque()
        self._ready()

    def problems(self, targets: Sequence[Target]) -> tuple[Problem, ...]:
        reply = self._ask(("problems", tuple(targets)), CALL_LIMIT)
        if isinstance(reply, tuple):
            items = cast("tuple[object, ...]", reply)
            found = tuple(item for item in items if isinstance(item, Problem))
            if len(found) == len(items):
                return found
        raise self._ended("crashed", NONSENSE)

    def submit(self, case: Case) -> None:
        """Have the worker run a case, after those that it has still to run."""
        self._send(("run", case), CALL_LIMIT)

    def result(self, *, hurry: bool = False) -> Outcome:
        """Return what came of the earliest case that was submitted."""
        reply = self._receive(HURRIED_LIMIT if hurry else CALL_LIMIT)
        if isinstance(reply, Outcome):
            return reply
        raise self._ended("crashed", NONSENSE)

    def restart(self) -> None:
        """Forget the worker and what it was to run: the next call runs on a fresh one."""
        self._asked.clear()
        worker, self._worker = self._worker, None
        if worker:
            worker.end()

    close = restart

    def _ready(self) -> _Worker:
        """Return the worker, started anew and with the file loaded if there is none."""
        if self._worker is None:
            self._worker = _started(self._workers)
            reply = self._ask(("load", self._source.decode("latin-1"), self._path), LOAD_LIMIT)
            match reply:
                case ("loaded",):
                    pass
                case ("not loadable", str(message), int() | None as line):
                    self.restart()
                    raise NotLoadable(message, line)
                case _:
                    raise self._ended("crashed", NONSENSE)
        return self._worker

    def _ask(self, request: object, limit: float) -> object:
        self._send(request, limit)
        return self._receive(limit)

    def _send(self, request: object, limit: float) -> None:
        worker = self._worker or self._ready()
        with self._endings(worker, limit):
            self._asked.append(worker.send(request, limit))

    def _receive(self, limit: float) -> object:
        worker = self._worker
        if worker is None or not self._asked:
            raise self._ended("crashed", NONSENSE)
        with self._endings(worker, limit):
            return worker.receive(self._asked.popleft(), limit)

    @contextmanager
    def _endings(self, worker: _Worker, limit: float) -> Generator[None]:
        """Turn what the line says into what became of the answer."""
        try:
            yield
        except TimedOut:
            where = worker.stack(self._path, ask=True)
            what = "no answer" if limit < LOAD_LIMIT else "the file is not loaded"
            raise self._ended("timeout", f"{what} within {limit:g} s", where) from None
        except Garbled:
            raise self._ended("crashed", NONSENSE) from None
        except Closed:
            where = worker.stack(self._path)
            worker.wait()
            killed = endings.kills_by_system() > worker.kills
            self._worker = None
            self._asked.clear()
            code = worker.end()
            if code == -signal.SIGKILL and killed:
                message = "it ran out of memory: the system ended the process to save the others"
                raise AnswerEnded("memory", message + self._at(where), _line(where)) from None
            # Ended by us although still running: it had closed the line.
            message = endings.how_it_died(None if worker.alive or code == CUT_OFF else code)
            raise AnswerEnded("crashed", message + self._at(where), _line(where)) from None

    def _ended(
        self,
        status: Literal["timeout", "crashed"],
        message: str,
        where: Sequence[tuple[str, int]] = (),
    ) -> AnswerEnded:
        self.restart()
        return AnswerEnded(status, message + self._at(where), _line(where))

    def _at(self, where: Sequence[tuple[str, int]]) -> str:
        """Write the learner's frames: the deepest with its code, the callers by name."""
        if not where:
            return ""
        number = where[0][1]
        code = stacks.code_at(self._source, number)
        callers = "".join(f", called by {name} (line {line})" for name, line in where[1:4])
        return f"\nin line {number}: {code}{callers}"


NONSENSE = "the answer wrote to the grader's channel, or replaced what speaks for it"


class _Worker:
    """One process and the line to it."""

    def __init__(self, workers: Workers, started: Started) -> None:
        self._workers = workers
        self._started = started
        self._connection = Connection(started.channel)
        self._count = 0
        self.alive = False
        self.kills = endings.kills_by_system()

    def send(self, request: object, limit: float) -> int:
        """Send a request and return its number."""
        self._count += 1
        self._connection.send(request, self._count, timeout=PATIENCE * limit)
        return self._count

    def receive(self, number: int, limit: float) -> object:
        """Return the reply to a request; the limit counts from now."""
        if not self._answers_within(limit):
            raise TimedOut
        return self._connection.receive(PATIENCE * limit, number)[1]

    def greet(self) -> bool:
        """Tell whether it has come to life."""
        try:
            return bool(self._connection.receive(HANDSHAKE_LIMIT, 0)[1])
        except WireError:
            return False

    def _answers_within(self, limit: float) -> bool:
        began, used = time.monotonic(), self._processor()[0]
        longest = min(PATIENCE * limit, LONGEST_WAIT)
        wait = limit
        while True:
            before = self._processor()[0]
            if select.select([self._connection], [], [], wait)[0]:
                return True
            now, state = self._processor()
            waited = time.monotonic() - began
            idle = state in "STDZ" and now - before < 0.01
            if now - used > 0.7 * limit or idle or waited > longest:
                return False
            wait = LOOK_AGAIN

    def _processor(self) -> tuple[float, str]:
        """Return the seconds of processor time it has used, and its state (see proc(5))."""
        try:
            about = Path(f"/proc/{self._started.pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return time.monotonic(), "R"  # no /proc: the clock on the wall has to do
        ticks = int(about[11]) + int(about[12])
        return ticks / os.sysconf("SC_CLK_TCK"), about[0].decode()

    def stack(self, path: str, *, ask: bool = False) -> list[tuple[str, int]]:
        """Return the learner's frames where it hangs or died, the deepest first."""
        if ask:
            with contextlib.suppress(OSError, AttributeError):
                os.kill(self._started.pid, signal.SIGUSR1)
        file = stacks.as_written(path)
        found: list[tuple[str, int]] = []
        for _ in range(8 if ask else 1):
            text = self._written()
            frames = filter(None, map(stacks.frame, text.splitlines()))
            found = [(name, line) for own, line, name in frames if own == file]
            if found:
                break
            time.sleep(0.02 if ask else 0)
        return found

    def _written(self) -> str:
        with contextlib.suppress(OSError):
            return os.pread(self._started.stacks, LONGEST_STACK, 0).decode("ascii", "replace")
        return ""

    def wait(self) -> None:
        """Give a process that hung up the time to end; note it where it goes on."""
        deadline = time.monotonic() + 1.0
        while PROC.exists() and self._processor()[1] not in "ZX":
            if time.monotonic() > deadline:
                self.alive = True
                return
            time.sleep(0.005)

    def end(self) -> int:
        self._connection.close()
        return self._workers.end(self._started)


def _started(workers: Workers) -> _Worker:
    """Start a worker; one that does not greet is replaced once, before anyone is told."""
    for _ in range(2):
        try:
            worker = _Worker(workers, workers.start())
        except OSError as error:
            raise GraderError(str(error)) from error
        if worker.greet():
            return worker
        worker.end()
    raise GraderError("a process to run the answer in does not start")


def _line(where: Sequence[tuple[str, int]]) -> int | None:
    return where[0][1] if where else None
