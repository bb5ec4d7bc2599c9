"""The command line: what was asked for, and the exit code that answers it.

Neither torch nor Hypothesis is ever imported in this process, and rich only
once there is something to show, so that a typo is answered at once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from grader import commands
from grader.arguments import VERBS, Options, parse
from grader.catalog import Entry, find_each, katas
from grader.errors import GraderError, UsageError
from grader.model import Verdict

if TYPE_CHECKING:
    from grader.submitting import Settings
    from grader.views.screen import Screen

EXIT_CODES = {
    "passed": 0,
    "failed": 1,
    "not_started": 3,
    "not_loadable": 3,
    "timeout": 4,
    "memory": 4,
    "crashed": 4,
    "grader_error": 70,
}
INTERRUPTED = 130
DEV = {
    "check": "prove that katas do what they promise",
    "mutants": "grade mechanical mutants of right answers; none may pass",
    "new": "start a kata: a small one that works, to be changed",
    "rewrites": "grade right answers, rewritten at random; none may fail",
    "stubs": "write the stubs in katas/ from their solutions",
    "truth": "plant known bugs and grade them; none may be given a wrong name",
}
PACKAGES = ("torch", "hypothesis", "rich", "watchfiles", "prompt_toolkit", "fsrs")
# What a program that is ended by a closed pipe would return: nobody was left to tell.
PIPE_CLOSED = 141
SEVEREST_FIRST = (70, INTERRUPTED, 4, 1, 3, 0)

# What the system says of a file or folder that is not to be written.
DENIED = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; the only place that swallows exceptions."""
    _let_every_text_out()
    try:
        code = _run(sys.argv[1:] if argv is None else list(argv))
        if sys.stdout:
            sys.stdout.flush()
    except GraderError as error:
        _complain(_one_line(error))
        code = error.exit_code
    except KeyboardInterrupt:
        _complain("interrupted")
        code = INTERRUPTED
    except BrokenPipeError:
        _abandon_stdout()
        code = PIPE_CLOSED
    except SystemExit as stop:  # --help and --version
        code = stop.code if isinstance(stop.code, int) else 2
    except Exception as error:  # noqa: BLE001 - a fault of ours is told as one, never as a traceback
        if isinstance(error, ModuleNotFoundError) and _top(error) in PACKAGES:
            _complain(
                f"{_top(error)} is not installed for {sys.executable}: activate the environment "
                "that has it, or run python -m pip install -e ."
            )
        elif _is_full(error):
            _abandon_stdout()
            _complain(f"the result cannot be written: {os.strerror(getattr(error, 'errno', 0))}")
        elif isinstance(error, OSError) and error.filename and error.errno in DENIED:
            _complain(f"{error.filename} cannot be written: {error.strerror}")
        else:
            from grader.isolation.faults import record

            where = record(traceback.format_exc())
            _complain(f"a fault of the grader, not of your answer; {where}")
        code = 70
    return code


def _run(argv: list[str]) -> int:
    if argv[:1] == ["dev"]:
        return _develop(argv[1:])
    if argv[:1] and argv[0] in commands.VERBS:
        return commands.run(argv[0], argv[1:])
    options = parse(argv)
    _refuse(options)
    if not options.names:
        return _overview(options)
    answer = {"list": _list, "doctor": _examine, "watch": _watch}.get(options.names[0], _grade)
    return answer(options)


def _refuse(options: Options) -> None:
    """Raise UsageError for words that do not go together."""
    names = options.names
    if options.due and names != ["list"]:
        raise UsageError("--due goes with list: python -m grader list --due")
    if options.files and names and names[0] in ("all", "list", "doctor"):
        raise UsageError(f"--file goes with exactly one kata, not with {names[0]}")
    if names[:1] == ["watch"]:
        return
    for verb in VERBS:
        if verb in names and verb in commands.VERBS:
            raise UsageError(f"{verb!r} comes first: python -m grader {verb} …")
        if verb in names and len(names) > 1:
            raise UsageError(f"{verb!r} stands alone: python -m grader {verb}")


def _grade(options: Options) -> int:
    entries = katas() if options.names == ["all"] else _chosen(options.names)
    if options.files and len(entries) != 1:
        raise UsageError("--file goes with exactly one kata")
    if not entries:
        raise UsageError("there are no katas yet; python -m grader dev new starts one")
    from grader import submitting
    from grader.isolation.interrupting import noting_interrupts

    settings = _settings(options)
    asked = submitting.submissions(entries, options.files, settings)
    # Programs get a list from `all`, however many katas there are.
    several = len(asked) > 1 or options.names == ["all"]
    verdicts: list[Verdict] = []
    processes = options.jobs or submitting.processes()
    with noting_interrupts() as interrupted:
        try:
            submitting.grade(asked, settings, processes, interrupted, verdicts)
        except KeyboardInterrupt:
            if options.json and verdicts:
                _write_json(verdicts, several=several)
            _complain("interrupted")
            return severest([*_codes(verdicts), INTERRUPTED])
    if options.json:
        _write_json(verdicts, several=several)
    return severest(_codes(verdicts))


def _watch(options: Options) -> int:
    names = options.names[1:]
    if options.json:
        raise UsageError("watch is for people: --json goes with python -m grader KATA")
    if options.files and (len(names) != 1 or len(options.files) != 1):
        raise UsageError("watch --file goes with exactly one kata and one file")
    if any(name in VERBS for name in names) and names != ["all"]:
        raise UsageError("watch goes with katas: python -m grader watch kata3")
    entries = _chosen(names) if names and names != ["all"] else katas()
    if not entries:
        raise UsageError("there are no katas yet; python -m grader dev new starts one")
    from grader.watching import watch

    return watch(entries, options.files, _settings(options), poll=options.poll)


def _examine(options: Options) -> int:
    from grader.examining import examine

    return examine(_stdout(options))


def _settings(options: Options) -> Settings:
    from grader.submitting import Settings

    return Settings(
        options.examples,
        options.seed,
        options.timeout,
        options.plain,
        options.color,
        options.python,
        options.json,
    )


def _list(options: Options) -> int:
    from grader.practice.clock import now
    from grader.practice.overview import rows_of_katas
    from grader.practice.progress import due_now, progress

    found = progress(now())
    standings = due_now(found.standings, now()) if options.due else found.standings
    rows = rows_of_katas(standings)
    if options.json:
        from dataclasses import asdict

        from grader.views.json import dump

        _write(dump([asdict(row) for row in rows]))
    elif rows or not options.due:
        from grader.views.listing import show_list

        show_list(_stdout(options), rows)
    else:
        _stdout(options).line("nothing is due today")
    if found.fault:
        _complain(found.fault)
    return 0


def _overview(options: Options) -> int:
    if options.json or options.files:
        raise UsageError("--json and --file need a kata: python -m grader kata1 --json")
    from grader.practice.clock import now
    from grader.practice.overview import rows_of_katas
    from grader.practice.progress import next_step, progress
    from grader.views.listing import show_overview
    from grader.views.times import clock

    found = progress(now())
    steps = next_step(found.standings, now())
    remarks: list[str] = []
    if found.interview is not None:
        remarks = [f"an interview is running, {clock(found.interview)} left"]
        steps = [("next", "python -m grader interview --resume")]
    steps += [("all", "python -m grader list"), ("help", "python -m grader --help")]
    show_overview(_stdout(options), rows_of_katas(found.standings), steps, found.streak, remarks)
    if found.fault:
        _complain(found.fault)
    return 0


def _develop(argv: list[str]) -> int:
    if argv[:1] in (["--help"], ["-h"], ["help"]):
        lines = [f"  python -m grader dev {name:<8} {text}" for name, text in DEV.items()]
        _write("\n".join(["for authors of katas; each takes --help:", *lines]))
        return 0
    if not argv or argv[0] not in DEV:
        asked = f"{argv[0]!r} is not one of them" if argv else "one is missing"
        raise UsageError(f"python -m grader dev {'|'.join(DEV)}: {asked}")
    from grader import dev

    run: Callable[[Sequence[str]], int] = getattr(dev, argv[0])
    return run(argv[1:])


def severest(codes: Sequence[int]) -> int:
    """Return the exit code of several katas: a pass among failures is not a pass."""
    return min(codes, key=SEVEREST_FIRST.index)


def _codes(verdicts: Sequence[Verdict]) -> list[int]:
    return [EXIT_CODES[verdict.status] for verdict in verdicts]


def _chosen(names: Sequence[str]) -> tuple[Entry, ...]:
    return find_each(names, verbs=VERBS)


def _stdout(options: Options) -> Screen:
    from grader.views.screen import Screen

    return Screen(sys.stdout, plain=options.plain, color=options.color)


def _write_json(verdicts: Sequence[Verdict], *, several: bool) -> None:
    from grader.views.json import render

    _write(render(verdicts, several=several))


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")


def _complain(message: str) -> None:
    from grader.views.texts import say

    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{say(message)}\n")
        sys.stderr.flush()


def _one_line(error: GraderError) -> str:
    message = " ".join(str(error).split())
    blame = "a fault of the grader, not of your answer: " if error.exit_code == 70 else ""
    return blame + message


def _let_every_text_out() -> None:
    """Make stdout and stderr take any text, and be there at all."""
    # Either may have been closed by whoever started us (>&-).
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _top(error: ModuleNotFoundError) -> str:
    return (error.name or "").partition(".")[0]


def _is_full(error: Exception) -> bool:
    """Tell whether an output could not be written; other errors name their file."""
    if not isinstance(error, OSError) or error.filename is not None:
        return False
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def _abandon_stdout() -> None:
    """Send the rest nowhere, or Python complains about it at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
