"""Where the learner stands: states, streaks, what is due, and the one next command."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.catalog import Entry, written
from grader.model import Verdict
from grader.practice import schedule
from grader.practice.clock import day_of
from grader.practice.history import Attempt, History
from grader.practice.progress import Standing, due_now, next_step, streak

Make = Callable[..., Verdict]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
MINUTE, DAY = 60.0, 24 * 3600.0
START = 1_767_960_000.0

RIGHT = "def answer():\n    return 42\n"
WRONG = 'def answer():\n    assert False, "41"\n'
ENTRIES = [Entry(n, f"kata0{n}_{slug}") for n, slug in enumerate(("echo", "noise", "more"), 1)]


def clock(at: float) -> dict[str, str]:
    """Have a command believe that it is `at`."""
    return {"GRADER_CLOCK": f"0@{at}"}


@pytest.fixture
def stub(stage: Path) -> Path:
    return stage / "katas" / "kata01_echo.py"


def bar(text: str, kata: str) -> str:
    (line,) = [line.strip() for line in text.splitlines() if line.strip().startswith(kata)]
    return line


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files here")
def test_a_file_that_nobody_writes_to_holds_nothing_up(run: Run, stub: Path) -> None:
    stub.unlink()
    os.mkfifo(stub)
    assert bar(run().stdout, "kata1") == "kata1   ░░░░░░░░░░  started"
    assert "kata1  Echo" in run("list").stdout
    assert "is not a regular file" in run("kata1").stdout
    assert run("solution", "kata1", "--plain").returncode != 0
    assert "not a regular file" in run("reset", "kata1", "--yes").stderr


def test_a_kata_goes_from_not_started_to_mastered(run: Run, stub: Path) -> None:
    untouched = stub.read_text()
    assert bar(run(**clock(START)).stdout, "kata1") == "kata1   ░░░░░░░░░░  not started"
    run("kata1", **clock(START))
    stub.write_text(WRONG)
    assert bar(run(**clock(START)).stdout, "kata1") == "kata1   ░░░░░░░░░░  started"
    run("kata1", **clock(START + MINUTE))
    failing = run(**clock(START + MINUTE)).stdout
    assert bar(failing, "kata1") == "kata1   █████░░░░░  failing, 50 %"
    assert "next      python -m grader kata1" in failing
    stub.write_text(RIGHT)
    done = run("kata1", **clock(START + 2 * MINUTE))
    # The stage gives it one minute.
    assert "again     due tomorrow, being rated again" in done.stdout
    passed = run(**clock(START + 3 * MINUTE)).stdout
    assert bar(passed, "kata1").startswith("kata1   ██████████  passed · due ")
    assert "1 day in a row" in passed
    later = START + 2 * DAY
    stub.write_text(untouched)
    run("kata1", **clock(later))
    assert bar(run(**clock(later)).stdout, "kata1").startswith("kata1   ██████████  passed · due")
    stub.write_text(RIGHT)
    run("kata1", **clock(later + 20))
    assert "mastered" in bar(run(**clock(later + 20)).stdout, "kata1")
    (row, *_) = json.loads(run("list", "--json", **clock(later + 20)).stdout)
    assert (row["attempts"], row["best"], row["state"]) == (3, "20 s", "mastered")


def test_a_pass_that_was_passed_already_is_no_review(run: Run, stub: Path) -> None:
    stub.write_text(RIGHT)
    assert "again     due" in run("kata1", **clock(START)).stdout
    assert "again     due" not in run("kata1", **clock(START + 9 * DAY)).stdout


def test_what_is_due_is_listed_and_comes_next(run: Run, stub: Path) -> None:
    assert run("list", "--due").stdout == "nothing is due today\n"
    stub.write_text(RIGHT)
    run("kata1", **clock(START))
    assert run("list", "--due", **clock(START)).stdout == "nothing is due today\n"
    late = clock(START + 30 * DAY)
    listed = run("list", "--due", COLUMNS="120", **late).stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["kata", "kata1"]
    assert "due now" in listed[1]
    assert "next      python -m grader review" in run(**late).stdout
    done = run("--due")
    assert (done.returncode, done.stderr) == (
        2,
        "--due goes with list: python -m grader list --due\n",
    )


@pytest.mark.parametrize("columns", ["40", "80", "120"])
@pytest.mark.parametrize("words", [(), ("list",), ("history", "kata1")])
def test_it_fits_the_terminal(
    run: Run, stage: Path, verdict: Make, columns: str, words: tuple[str, ...]
) -> None:
    history = History(stage / ".grader" / "history.db")
    for number in range(70):
        status = ("not_started", "failed", "passed")[number % 3]
        bugs = ("a-bug-with-a-name-that-is-rather-long", f"bug-{number % 12}") if number % 2 else ()
        history.record(verdict(status, "echo", *bugs), b"", "command", START + number * 700)
    for flags in ((), ("--plain",)):
        done = run(*words, *flags, COLUMNS=columns)
        assert (done.returncode, done.stderr) == (0, "")
        assert max(map(len, done.stdout.splitlines())) <= int(columns)
        assert "\x1b" not in done.stdout
        assert done.stdout.isascii() or not flags


def test_days_in_a_row_end_today_or_yesterday() -> None:
    days = ["2026-03-01", "2026-02-28", "2026-02-27", "2026-02-25"]
    assert streak(days, "2026-03-01") == 3
    assert streak(days, "2026-03-02") == 3, "today is not over"
    assert streak(days, "2026-03-03") == 0
    assert streak([], "2026-03-03") == 0


def test_the_next_step_is_what_is_open_then_what_is_due_then_what_is_new(tmp_path: Path) -> None:
    fresh = [Standing(each, "not started") for each in ENTRIES]
    assert next_step(fresh, START)[1] == ("then", "python -m grader kata1")
    due = [Standing(ENTRIES[0], "passed", due=START - DAY), *fresh[1:]]
    assert next_step(due, START) == [("next", "python -m grader review")]
    open_ = [due[0], Standing(ENTRIES[1], "failing", edited=True), fresh[2]]
    assert next_step(open_, START) == [("next", "python -m grader kata2")]
    assert next_step([Standing(each, "mastered") for each in ENTRIES], START) == []


def test_what_is_handed_out_whole_is_run_first_and_opened_when_it_fails() -> None:
    later = Standing(ENTRIES[1], "not started")
    fresh = [Standing(ENTRIES[0], "not started", whole=True), later]
    assert next_step(fresh, START) == [("next", "python -m grader kata1")]
    failing = [Standing(ENTRIES[0], "failing", whole=True), later]
    opened, then = next_step(failing, START)
    assert opened == ("open", written(ENTRIES[0].stub_path))
    assert then == ("then", "python -m grader kata1")


def test_due_is_counted_in_days_and_the_longest_overdue_comes_first() -> None:
    standings = [
        Standing(ENTRIES[0], "passed", due=START + 60),
        Standing(ENTRIES[1], "passed", due=START - DAY),
        Standing(ENTRIES[2], "passed", due=START + 2 * DAY),
    ]
    names = [each.entry.name for each in due_now(standings, START)]
    assert names == ["kata2", "kata1"]


# --- the schedule ------------------------------------------------------------------------


def attempt(worked: float | None, hints: int = 0) -> Attempt:
    return Attempt(
        "u", "echo", START, day_of(START), "passed", 1.0, 0.1, worked, hints, "command", ()
    )


@pytest.mark.parametrize(
    ("minutes", "hints", "rating"),
    [
        (None, 0, "good"),
        (5, 0, "easy"),
        (9, 0, "good"),
        (13, 0, "hard"),
        (21, 0, "again"),
        (5, 1, "hard"),
        (None, 2, "hard"),
        (5, 3, "again"),
    ],
)
def test_the_rating_follows_time_and_hints(minutes: float | None, hints: int, rating: str) -> None:
    from dataclasses import replace

    from grader.model import Case, Kata

    kata = Kata(1, "kata01_echo", "Echo", 10, 20, (), lambda _: Case("a", {}, ()), (), ())
    worked = None if minutes is None else minutes * MINUTE
    assert schedule.rating_of(replace(attempt(worked), hints=hints), kata) == rating


def test_better_ratings_wait_longer_and_each_success_longer_than_the_last(
    history: History,
) -> None:
    waits: list[float] = []
    for rating in schedule.RATINGS:
        at = START
        for _ in range(2):
            found = schedule.review(history, f"kata-{rating}", rating, at)
            waits.append(found.due - at)
            at = found.due
    again, hard, good, easy = (waits[2 * n : 2 * n + 2] for n in range(4))
    assert DAY <= again[0] <= hard[0] <= good[0] < easy[0]
    assert again[1] <= 2 * DAY
    assert hard[1] > hard[0] and good[1] > 2 * good[0] and easy[1] > easy[0]  # noqa: PT018
    assert set(history.cards()) == {f"kata-{rating}" for rating in schedule.RATINGS}


def test_a_rating_may_be_changed_and_counts_from_the_same_day(history: History) -> None:
    first = schedule.review(history, "echo", "good", START)
    second = schedule.review(history, "echo", "good", first.due)
    changed = schedule.rate_again(history, "echo", "again")
    assert changed.due < second.due
    assert schedule.rate_again(history, "echo", "good") == second
    assert schedule.rating_now(history.cards()["echo"][1]) == "good"


def test_a_clock_set_back_does_not_break_the_schedule(history: History) -> None:
    schedule.review(history, "echo", "good", START)
    assert schedule.review(history, "echo", "good", START - 40 * DAY).due > START - 40 * DAY


def test_without_the_package_the_attempt_is_kept_all_the_same(
    run: Run, stage: Path, stub: Path
) -> None:
    (stage / "fsrs.py").write_text("raise ImportError('fsrs cannot be imported')\n")
    stub.write_text(RIGHT)
    done = run("kata1")
    assert done.returncode == 0
    assert "the review schedule is off: fsrs cannot be imported" in done.stderr
    assert len(json.loads(run("history", "kata1", "--json").stdout)) == 1


def test_the_plot_shows_scores_bugs_and_times(run: Run, stub: Path) -> None:
    untouched = stub.read_text()
    at = START
    for source in (untouched, WRONG, WRONG, RIGHT, untouched, RIGHT):
        stub.write_text(source)
        at += MINUTE
        run("kata1", **clock(at))
    text = run("history", "kata1", COLUMNS="100").stdout
    assert text.startswith("kata1 · Echo · 4 attempts")
    assert "2 passes · best time 1 min" in text
    assert re.search(r"^  score +▄▄██$", text, re.MULTILINE)
    assert re.search(r"^  off-by-one +●●··  2x$", text, re.MULTILINE)
    assert re.search(r"^  \d{4}-\d\d-\d\d  █+ 3 min$", text, re.MULTILINE)
    plain = run("history", "kata1", "--plain").stdout
    assert re.search(r"^  score +4499$", plain, re.MULTILINE)
