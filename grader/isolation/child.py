"""The process that loads torch and grades: `python -m grader.isolation.child`.

It judges: the answers themselves run in workers, processes of their own that
are forked from a nursery. Both are there before anything of a kata is loaded.

It starts with its jobs on stdin, its replies on stdout and everything else on
stderr, because three pipes are what every system can hand to a child. Before
any answer runs, the two private ones move to numbers of their own: from then
on stdin is empty, and stdout and stderr both end in the pipe for prints.

A job is one JSON line: {"id", "number", "stem", "path", "source" (base64), "examples",
"seed", "depth", "bugs" (ids of those to look for, or null for all)}. A reply is one
JSON line: {"ready": true} once torch is loaded, then with the id of its job
{"progress", "title"}, {"verdict"}, {"memory": message} or {"fault": traceback}. Ids
are random words, so that an answer that writes to every file it finds does not
speak for the grader by accident.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import faulthandler
import gc
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from grader.isolation.containing import claim
from grader.isolation.prints import end_of_prints

if TYPE_CHECKING:
    from grader.engine.mutants import Store
    from grader.isolation.answering import RemoteAnswer
    from grader.isolation.nursery import Workers
    from grader.isolation.shelf import FileShelf
    from grader.model import Kata, Verdict

# Away from the low numbers that code closes or writes to by habit.
FIRST_NUMBER = 120
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def main() -> None:
    """Grade jobs until there are no more, or until the process is ended."""
    jobs, replies = _take_channels()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    if hasattr(signal, "SIGUSR2"):
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)  # until there is something to cancel
    _die_with(int(sys.argv[1]))
    claim()  # what it says is for `doctor` to tell; an answer is graded anyway
    reply = Reply(replies)
    try:
        from grader.engine.grading import grade
        from grader.isolation.nursery import workers
    except BaseException:  # noqa: BLE001 - whatever it is, the parent has to be told
        reply.send(fault=traceback.format_exc())
        return
    # What is loaded stays; collecting it again and again would take 0.2 s.
    gc.collect()
    gc.freeze()
    nursery = workers(Path.cwd())
    # Where it hangs or dies is told by C code on the private channel.
    faulthandler.enable(replies, all_threads=True)
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, replies, all_threads=True)
    reply.send(ready=True)
    judge = Judge(reply, nursery, grade)
    for line in jobs:
        judge.run(json.loads(line))
        judge.keep()
    judge.close()
    nursery.close()
    # Taking torch down in good order would take longer than most gradings.
    os._exit(0)


class Reply:
    """The channel to the parent. Each message begins and ends its own line."""

    def __init__(self, number: int) -> None:
        self.number = number

    def send(self, **message: Any) -> None:
        # The leading line end closes whatever an answer may have written here.
        data = b"\n" + json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self.number, data) :]


class Cancelled(BaseException):
    """The parent does not want the verdict any more: the file was saved again."""


def looking_for(kata: Kata, bugs: list[str] | None) -> Kata:
    """Return a kata that knows these bugs only; all of them for None."""
    if bugs is None:
        return kata
    known = tuple(bug for bug in kata.bugs if bug.id in bugs)
    alike = (tuple(name for name in group if name in bugs) for group in kata.equal)
    return replace(kata, bugs=known, equal=tuple(group for group in alike if len(group) > 1))


def called(
    kata: Kata, source: bytes, name: str, path: str, load: Callable[[bytes, str], RemoteAnswer]
) -> Verdict:
    """Call one function of a file, where answers run; passed where it returns."""
    from grader.errors import AnswerEnded, NotLoadable
    from grader.model import Case, CheckResult, Verdict

    result = CheckResult(name, name, "passed")
    status = "passed"
    try:
        answer = load(source, path)
        answer.submit(Case(name, {}, ((),)))
        outcome = answer.result()
        if outcome.raised is not None or outcome.status != "returned":
            status = "failed"
            told = outcome.raised
            message = f"{told.kinds[0]}: {told.message}" if told else outcome.status
            result = CheckResult(name, name, "failed", message, told.line if told else None)
    except (AnswerEnded, NotLoadable) as error:
        status = "failed"
        result = CheckResult(name, name, "failed", error.message, error.line)
    identity, _, slug = kata.stem.partition("_")
    score = float(status == "passed")
    return Verdict(
        identity,
        slug.replace("_", "-"),
        status,
        score,
        0.0,
        path,
        (result,),
    )


class Judge:
    """Grades one job after the other, and keeps what is known of each kata's solution."""

    def __init__(self, reply: Reply, nursery: Workers, grade: Callable[..., Any]) -> None:
        self._reply = reply
        self._nursery = nursery
        self._grade = grade
        self._stores: dict[str, Store] = {}
        self._shelf: FileShelf | None = None
        self._at_work = False
        if hasattr(signal, "SIGUSR2"):
            signal.signal(signal.SIGUSR2, self._cancel)

    def run(self, job: dict[str, Any]) -> None:
        """Grade a job and reply; whatever happens, its workers are ended."""
        answers: list[RemoteAnswer] = []
        message: dict[str, Any]
        try:
            try:
                self._at_work = True
                message = self._graded(job, answers)
            finally:
                self._at_work = False
                for answer in answers:
                    answer.close()
        except Cancelled:
            message = {"cancelled": True}
            self._nursery.end_all()  # it may have come before an answer was noted
            # It may have come in the midst of tracing.
            sys.settrace(None)
            self._stores.clear()
        except MemoryError as error:
            message = {"memory": str(error)}
        except BaseException:  # noqa: BLE001 - the engine lets nothing of an answer's through
            message = {"fault": traceback.format_exc()}
        _flush(job["id"])
        self._reply.send(id=job["id"], **message)

    def keep(self) -> None:
        """Keep for other commands what was found out about solutions."""
        for store in self._stores.values():
            store.memory.keep()
        if self._shelf is not None:
            self._shelf.save()

    def close(self) -> None:
        if self._shelf is not None:
            self._shelf.close()

    def _graded(self, job: dict[str, Any], answers: list[RemoteAnswer]) -> dict[str, Any]:
        from grader.catalog import Entry
        from grader.records import to_dict

        def load(source: bytes, path: str) -> RemoteAnswer:
            from grader.isolation.answering import RemoteAnswer

            answers.append(RemoteAnswer(self._nursery, source, path))
            return answers[-1]

        def tell(**words: Any) -> None:
            self._reply.send(id=job["id"], **words)

        entry = Entry(job["number"], job["stem"])
        kata = entry.load_spec()
        if job["call"]:
            source = base64.b64decode(job["source"])
            return {"verdict": to_dict(called(kata, source, job["call"], job["path"], load))}
        solution = entry.solution_path.read_text(encoding="utf-8")
        verdict = self._grade(
            looking_for(kata, job["bugs"]),
            base64.b64decode(job["source"]),
            job["path"],
            solution=solution,
            examples=job["examples"],
            seed=job["seed"],
            progress=lambda fraction, title: tell(progress=fraction, title=title),
            store=self._store(kata, solution),
            preliminary=lambda verdict: tell(preliminary=to_dict(verdict)),
            **self._way(load, job["depth"]),
        )
        return {"verdict": to_dict(verdict)}

    def _way(self, load: Callable[..., Any], depth: str) -> dict[str, Any]:
        """Return where the answer runs, and how it is graded."""
        if depth == "full":
            return {"load": load}
        from grader.engine.skimming import Naming, Skimming, TimedAnswer, Unnamed

        ways = {"diagnosed": Naming, "named": Skimming, "unnamed": Unnamed}
        return {"load": TimedAnswer, "how": ways[depth]}

    def _store(self, kata: Kata, solution: str) -> Store:
        from grader.engine.mutants import Store

        if self._shelf is None:
            self._shelf = _shelf()
        known = self._stores.get(kata.stem)
        if known is None or known.source != solution:
            self._stores[kata.stem] = known = Store(kata, solution, self._shelf)
        return known

    def _cancel(self, _number: int, _frame: object) -> None:
        if self._at_work:
            raise Cancelled


def _shelf() -> FileShelf | None:
    if os.environ.get("GRADER_CACHE") == "":
        return None
    from grader.isolation.shelf import shelf

    return shelf()


def _flush(job_id: str) -> None:
    """Send off what was printed, and mark where this job's prints end."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(Exception):
            stream.flush()  # type: ignore[union-attr]
    with contextlib.suppress(OSError):
        os.write(2, end_of_prints(job_id))


def _take_channels() -> tuple[BinaryIO, int]:
    jobs = _move(0)
    replies = _move(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        # Printing must not fail an answer, whatever the locale.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    return os.fdopen(jobs, "rb"), replies


def _move(number: int) -> int:
    """Copy a file to a high number that programs started by the answer do not inherit."""
    try:
        import fcntl

        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, FIRST_NUMBER)
    except (ImportError, OSError):
        return os.dup(number)


def _die_with(parent: int) -> None:
    """End this process when the parent ends, even by a kill that it cannot catch."""
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before the line above
        os._exit(0)


if __name__ == "__main__":
    main()
