"""The verdict for people: what was called, what was expected, what came, and what next."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from rich.table import Table

from grader.model import CheckResult, Counterexample, NamedBug, Status, Verdict
from grader.views.screen import Screen, pointed, shorten

# Status always in words; the colour only repeats it.
WORDS: Mapping[Status, tuple[str, str]] = {
    "passed": ("PASS", "green"),
    "failed": ("FAIL", "red"),
    "not_started": ("NOT STARTED", "yellow"),
    "not_loadable": ("NOT LOADABLE", "red"),
    "timeout": ("TIMEOUT", "red"),
    "memory": ("OUT OF MEMORY", "red"),
    "crashed": ("CRASHED", "red"),
    "grader_error": ("GRADER FAULT", "magenta"),
}
# A failing case longer than this is printed on request only.
SHORT_CASE = 4
MOST_NOTES = 4
MOST_BUGS = 3
# In a summary: the columns of score and seconds with all gaps, and what a title needs.
NUMBERS, LEAST_TITLE = 22, 20


@dataclass(frozen=True)
class Context:
    """What a verdict does not know: the kata's title, and the commands to offer.

    `again` grades the same file again; `after` is the next kata's command, empty
    if there is none.
    """

    title: str
    again: str
    after: str = ""


def show(
    screen: Screen,
    verdict: Verdict,
    context: Context,
    *,
    python: bool = False,
    brief: bool = False,
) -> None:
    """Print one verdict; with `python`, the smallest failing case as a script after it.

    With `brief`, as one of several, what was not started is only named.
    """
    word, style = WORDS[verdict.status]
    failed = _failed(verdict)
    title = context.title
    place = verdict.path if brief or verdict.status != "not_started" else ""
    if failed:
        if verdict.status == "failed":
            title = failed[0].title
        if failed[0].line and place:
            place = f"{place}:{failed[0].line}"
    screen.heading(word, style, f"{name_of(verdict)} · {title}", place)
    if verdict.status != "not_started" or not brief:
        screen.rows(_rows(screen, verdict, context, failed, python=python))
    if python:
        _print_case(screen, verdict)


def summarize(screen: Screen, verdicts: Sequence[Verdict]) -> None:
    """Print one line for each of several verdicts."""
    # Many files of one kata are told apart by their names.
    by_file = len({verdict.kata for verdict in verdicts}) < len(verdicts)
    names = [PurePath(v.path).name if by_file else name_of(v) for v in verdicts]
    longest = max(len(name) for name in names) + max(len(WORDS[v.status][0]) for v in verdicts)
    if longest + NUMBERS + LEAST_TITLE <= screen.width:
        screen.table(_table(screen, verdicts, names, by_file=by_file))
    else:
        for verdict, name in zip(verdicts, names, strict=True):
            word, style = WORDS[verdict.status]
            rest = f"{_percent(verdict)} · {verdict.seconds:.1f} s"
            screen.heading(word, style, f"{name} · {rest}", "")
            if failed := _failed(verdict):
                screen.rows([("", failed[0].title)])
    passed = sum(verdict.status == "passed" for verdict in verdicts)
    screen.line(f"{passed} of {len(verdicts)} passed", "bold")


def _table(
    screen: Screen, verdicts: Sequence[Verdict], names: Sequence[str], *, by_file: bool
) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="")
    for column in ("file" if by_file else "kata", "status", "score", "seconds"):
        right = column in ("score", "seconds")
        table.add_column(column, justify="right" if right else "left", no_wrap=True)
    table.add_column("first failing check", overflow="fold")
    for verdict, name in zip(verdicts, names, strict=True):
        word, style = WORDS[verdict.status]
        failed = _failed(verdict)
        table.add_row(
            screen.text(name),
            screen.text(word, style),
            screen.text(_percent(verdict)),
            screen.text(f"{verdict.seconds:.1f}"),
            screen.text(failed[0].title if failed else ""),
        )
    return table


def name_of(verdict: Verdict) -> str:
    """Return kata3 for kata03: the name that commands take."""
    return re.sub(r"(?<=kata)0+(?=\d)", "", verdict.kata)


def _rows(
    screen: Screen,
    verdict: Verdict,
    context: Context,
    failed: Sequence[CheckResult],
    *,
    python: bool,
) -> list[tuple[str, str]]:
    if verdict.status == "failed":
        rows = _failure(screen, verdict, context, failed, python=python)
    elif verdict.status == "passed":
        checks = sum(check.status == "passed" for check in verdict.checks)
        took = f"score {_percent(verdict)} · {_count(checks, 'check')} · {verdict.seconds:.1f} s"
        rows = [("passed", took)]
        rows += _notes(screen, verdict)
        rows.append(("next", context.after or "the last kata; the others: python -m grader list"))
    elif verdict.status == "not_started":
        rows = [("open", verdict.path), ("then", context.again)]
    elif verdict.status == "grader_error":
        rows = [("" if n else "what", note) for n, note in enumerate(verdict.notes)]
        rows.append(("next", "send that file to whoever keeps the katas"))
    else:
        shown = failed[0].counterexample if failed else None
        rows = [("called", _field(screen, shown.called, 3))] if shown and shown.called else []
        told = list(dict.fromkeys(check.message for check in failed))
        rows += [("also" if n else "what", _field(screen, t, 6)) for n, t in enumerate(told[:3])]
        rows += _notes(screen, verdict)
        rows.append(("next", f"mend that, then {context.again}"))
    return rows


def _failure(
    screen: Screen,
    verdict: Verdict,
    context: Context,
    failed: Sequence[CheckResult],
    *,
    python: bool,
) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    first = failed[0] if failed else CheckResult("", "", "failed")
    shown = first.counterexample
    if shown:
        rows += _case(screen, shown, first.message)
    elif first.message:
        rows.append(("got", _field(screen, first.message, 4)))
    cause = _cause(verdict.bugs)
    if not verdict.bugs and verdict.status == "failed" and shown:
        cause = "not a bug I know"
    if cause:
        # The one thing that must not be folded away: three bugs need this room.
        rows.append(("cause", _field(screen, cause, 7)))
    rows += _notes(screen, verdict, most=1)
    rows += _next(screen, verdict, context, failed)
    if shown and shown.python and not python:
        lines = shown.python.strip().split("\n")
        width, _ = screen.room(1)
        if len(lines) <= SHORT_CASE and all(len(line) <= width for line in lines):
            rows.append(("try it", "\n".join(lines)))
        else:
            rows.append(("try it", "add --python to print this case as Python"))
    return rows


def _case(screen: Screen, shown: Counterexample, message: str) -> list[tuple[str, str]]:
    rows = [("called", _field(screen, shown.called, 3))] if shown.called else []
    if shown.expected:
        rows.append(("expected", _field(screen, shown.expected, 2)))
    got = _field(screen, shown.got, 2)
    if shown.expected and got:
        rows.append(("got", got))
    if message and message != shown.got:
        # Where nothing was returned there is no value, and the message is what came.
        # A message beside no value at all (which layers were found) has their room too.
        room = 2 if got or shown.expected else 8
        rows.append(("" if shown.expected and got else "got", _field(screen, message, room)))
    elif got and not shown.expected:
        rows.append(("got", got))
    if shown.shapes:
        rows.append(("shapes", _shapes(screen, shown.shapes)))
    return rows


def _shapes(screen: Screen, shapes: Sequence[tuple[str, str]]) -> str:
    """List as many tensors as two lines hold; half of one would mislead."""
    columns, _ = screen.room(2)
    parts: list[str] = []
    for name, shape in shapes:
        part = f"{name} {shape}"
        if sum(len(each) + 3 for each in parts) + len(part) > 2 * columns - 20:
            break
        parts.append(part)
    left = len(shapes) - len(parts)
    return " · ".join([*parts, *([f"{left} more"] if left else [])])


def show_symptom(screen: Screen, verdict: Verdict) -> None:
    """Print what fails first, and neither why nor what may be wrong."""
    failed = _failed(verdict)
    if not failed:
        word, style = WORDS[verdict.status]
        screen.heading(word, style, verdict.notes[0] if verdict.notes else "", "")
        return
    first = failed[0]
    rows = [("fails", first.title)]
    if first.counterexample:
        rows += _case(screen, first.counterexample, first.message)
    elif first.message:
        rows.append(("got", _field(screen, first.message, 4)))
    if len(failed) > 1:
        rows.append(("", f"{_count(len(failed) - 1, 'more check')} failed"))
    screen.rows(rows)


def cause_of(verdict: Verdict) -> str:
    """Return which bugs explain an answer, in words; empty where none is known."""
    return _cause(verdict.bugs)


def _cause(bugs: Sequence[NamedBug]) -> str:
    """Say no more than was seen: how many probes agree, and what else would look alike."""
    lines: list[str] = []
    exact = [bug for bug in bugs if bug.confidence == "exact"]
    if exact:
        names = " and ".join(bug.id for bug in exact)
        together = " together" if len(exact) > 1 else ""
        probes = f" on all {exact[0].probes} probes" if exact[0].probes else ""
        lines.append(f"behaves exactly like {names}{together}{probes}:")
        lines += [_described(bug, named=len(exact) > 1) for bug in exact]
    consistent = [bug for bug in bugs if bug.confidence == "consistent"]
    for bug in consistent[: max(1, MOST_BUGS - len(exact))]:
        probes = f" on {bug.matched} of {bug.probes} probes" if bug.probes else ""
        lines.append(f"consistent with {bug.id}{probes}:")
        lines.append(_described(bug, named=False))
    return "\n".join(lines)


def _described(bug: NamedBug, *, named: bool) -> str:
    alike = f" (cannot be told apart from: {', '.join(bug.same_as)})" if bug.same_as else ""
    return f"{bug.id}: {bug.title}{alike}" if named else f"{bug.title}{alike}"


def _next(
    screen: Screen, verdict: Verdict, context: Context, failed: Sequence[CheckResult]
) -> list[tuple[str, str]]:
    asks = dict.fromkeys(bug.ask for bug in verdict.bugs if bug.ask)
    lines = list(asks)[:MOST_BUGS]
    skipped = sum(check.status == "skipped" for check in verdict.checks)
    rest: list[str] = []
    if len(failed) > 1:
        rest.append(f"{_count(len(failed) - 1, 'more check')} failed")
    if skipped:
        waits = "waits" if skipped == 1 else "wait"
        on = "this one" if len(failed) == 1 else "these"
        rest.append(f"{_count(skipped, 'more check')} {waits} on {on}")
    if verdict.score:
        rest.append(f"score {_percent(verdict)}")
    lines += _fitted(screen, *rest, context.again)
    return [("next" if n == 0 else "", line) for n, line in enumerate(lines)]


def _fitted(screen: Screen, *parts: str) -> list[str]:
    """Return words and, last, a command: in one line, or the command by itself."""
    line = " · ".join(parts)
    width, _ = screen.room(1)
    if len(parts) == 1 or len(line) <= width:
        return [line]
    return [" · ".join(parts[:-1]), parts[-1]]


def _notes(screen: Screen, verdict: Verdict, most: int = MOST_NOTES) -> list[tuple[str, str]]:
    notes = [_field(screen, note, 2) for note in verdict.notes[:most]]
    left = len(verdict.notes) - len(notes)
    if left:
        notes.append(f"{_count(left, 'more note')} in --json")
    return [("" if n else "note", note) for n, note in enumerate(notes)]


def _print_case(screen: Screen, verdict: Verdict) -> None:
    screen.line()
    for check in _failed(verdict):
        if check.counterexample and check.counterexample.python:
            screen.raw(f"# {name_of(verdict)}: the smallest failing case of {check.name}")
            screen.raw(check.counterexample.python.rstrip())
            return
    screen.raw(f"# {name_of(verdict)}: there is no failing case to print")


def _field(screen: Screen, words: str, lines: int) -> str:
    words = pointed(words, screen.room(1)[0])
    return shorten(screen.text(words).plain, *screen.room(lines))


def _failed(verdict: Verdict) -> list[CheckResult]:
    return [check for check in verdict.checks if check.status == "failed"]


def _percent(verdict: Verdict) -> str:
    # Rounding up would show 100 % for an answer that fails.
    return f"{int(verdict.score * 100 + 1e-9)} %"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
