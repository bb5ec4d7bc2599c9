"""`history`: attempts at a kata over time; the whole history out and in as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from grader.commands.asking import chosen, screen
from grader.commands.parsing import parser, read
from grader.errors import UsageError
from grader.practice.exchanging import export, take_in
from grader.practice.history import Attempt, History
from grader.resetting import replace
from grader.views.screen import Screen
from grader.views.times import date
from grader.views.tracking import Trial, show_history


def run(argv: Sequence[str]) -> int:
    """Show the attempts at one kata, or write or take in the whole history."""
    asks = parser("history", "Show your attempts at a kata, or carry the history elsewhere.")
    asks.add_argument("kata", nargs="?", default="", help="which kata")
    asks.add_argument("--json", action="store_true", help="print the attempts, for programs")
    asks.add_argument(
        "--export", metavar="FILE", help="write everything as JSON lines; - is stdout"
    )
    asks.add_argument("--import", metavar="FILE", dest="take", help="add what such a file holds")
    options = read(asks, argv)
    out = screen(options)
    history = History()
    moves = [name for name in (options.export, options.take) if name is not None]
    if moves and (len(moves) > 1 or options.kata or options.json):
        raise UsageError("--export and --import stand alone: they move the whole history")
    if moves:
        carry = _export if options.take is None else _take_in
        return carry(out, history, moves[0])
    entry = chosen(options.kata, "history")
    attempts = history.attempts(entry.slug)
    if options.json:
        from grader.views.json import dump

        out.raw(dump([asdict(attempt) for attempt in attempts]))
    elif attempts:
        title = f"{entry.name} · {entry.load_spec().title}"
        show_history(out, title, [_trial(each) for each in attempts])
    else:
        out.line(f"no attempt at {entry.name} is recorded yet")
        out.rows([("next", f"python -m grader {entry.name}")])
    return 0


def _trial(attempt: Attempt) -> Trial:
    return Trial(
        date(attempt.at),
        attempt.status,
        attempt.score,
        attempt.worked,
        attempt.hints,
        attempt.bugs,
    )


def _export(out: Screen, history: History, name: str) -> int:
    lines = [f"{line}\n" for line in export(history.path)]
    if name == "-":
        out.stream.writelines(lines)
        return 0
    path = Path(name)
    if path.exists():
        raise UsageError(f"{name} is there already; nothing is written over: name another file")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {path.parent} to write {path.name} to")
    try:
        replace(path, "".join(lines))
    except OSError as error:
        raise UsageError(f"{name} cannot be written: {error.strerror}") from error
    out.line(f"{_records(len(lines))} written to {name}")
    return 0


def _take_in(out: Screen, history: History, name: str) -> int:
    try:
        lines: Iterable[bytes]
        lines = (
            sys.stdin.buffer.readlines() if name == "-" else Path(name).read_bytes().split(b"\n")
        )
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from error
    added = take_in(history.path, lines, "stdin" if name == "-" else name)
    out.line(f"{_records(added)} added; what was there already stays as it is")
    return 0


def _records(number: int) -> str:
    return "1 record" if number == 1 else f"{number} records"
