"""Mock interviews from outside: every step a command, with a clock that tests may set."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from grader.catalog import Entry, find, katas
from grader.errors import UsageError
from grader.model import Verdict
from grader.practice.conducting import Conductor
from grader.practice.history import History
from grader.practice.interviews import MINUTES, ROUNDS, Interview, Rated, Round, begin, plan
from grader.practice.measuring import measure
from grader.practice.scoring import card, total

Make = Callable[..., Verdict]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
START = 1_767_960_000.0
MINUTE = 60.0

RIGHT = "def answer():\n    return 42\n"
WRONG = 'def answer():\n    assert False, "41"\n'
ONE = ("interview", "start", "--format", "screen", "--katas", "kata1", "--seed", "3")


def at(minutes: float) -> dict[str, str]:
    return {"GRADER_CLOCK": f"0@{START + MINUTE * minutes}"}


@pytest.fixture
def file(stage: Path) -> Callable[[int], Path]:
    def find(number: int) -> Path:
        folder = stage / ".grader" / "interviews"
        (path,) = [p for p in folder.glob(f"*/{number}_*.py") if "_tests" not in p.name]
        return path

    return find


def test_an_interview_from_start_to_scorecard(
    run: Run, stage: Path, file: Callable[[int], Path]
) -> None:
    begun = run(*ONE, **at(0))
    assert begun.returncode == 0, begun.stderr
    assert begun.stdout.startswith("30:00 left · round 1 of 3: build\n")
    assert "TODO" not in file(1).read_text(), "a blank stub"
    file(1).write_text(WRONG)
    done = run("interview", "check", **at(3))
    assert done.returncode == 1
    assert done.stdout.startswith("FAILED  27:00 left\n")
    assert "off-by-one" not in done.stdout, "no names of bugs before the end"
    hint = run("interview", "hint", **at(3))
    assert "it costs points" in hint.stdout
    file(1).write_text(RIGHT)
    assert run("interview", "check", **at(4)).stdout.startswith("PASS  26:00 left")
    debug = run("interview", "next", **at(5)).stdout
    assert "25:00 left · round 2 of 3: find the bugs" in debug
    text = file(2).read_text().replace('wrong += ["too-quiet"]', "wrong += []")
    file(2).write_text(text)
    assert "1 of 2 mended" in run("interview", "check", **at(7)).stdout
    assert "round 3 of 3: follow-up questions" in run("interview", "next", **at(8)).stdout
    asked = run("interview", "next", stdin="the answer\n1 9 x\n", **at(9)).stdout
    assert "Why 42?" in asked
    assert asked.index("What a good answer mentions:") > asked.index("Why 42?")
    done = run("interview", "next", stdin="\n\n", **at(10))
    assert done.returncode == 0, done.stderr
    assert " of 100 points · screen, 30 minutes" in done.stdout
    assert "off-by-one: " not in done.stdout, "the stage's kata1 knows no bugs"
    assert "too-quiet: it is too quiet" in done.stdout, "full diagnosis at the end"
    assert "passed after 4 min" in done.stdout
    page = next((stage / ".grader" / "interviews").glob("*/scorecard.html")).read_text()
    assert "<h1>Mock interview of " in page
    records = [json.loads(line) for line in run("history", "--export", "-").stdout.splitlines()]
    (kept,) = [record for record in records if record["kind"] == "interview"]
    assert kept["state"] == "finished"
    points = {name: points for name, points, _, _ in json.loads(kept["card"])}
    assert points["correctness"] == 22.5
    assert points["communication"] == pytest.approx(20 / 3, abs=0.1)
    assert "kata1" in run("list", **at(10)).stdout
    (card_,) = [record for record in records if record["kind"] == "card"]
    assert card_["slug"] == "echo", "a pass in an interview is a review"


def test_at_zero_what_was_there_in_time_is_graded(run: Run, file: Callable[[int], Path]) -> None:
    run(*ONE, "--minutes", "10", **at(0))
    file(1).write_text(WRONG)
    run("interview", "status", **at(9))
    file(1).write_text(RIGHT)
    late = START + 11 * MINUTE
    os.utime(file(1), (late, late))
    done = run("interview", "check", **at(12))
    assert done.returncode == 0
    assert "what was saved after the time was up does not count" in done.stdout
    assert "the time is up" in done.stdout
    assert "50 % of the checks" in done.stdout
    assert "it did not come to that" in done.stdout
    assert run("interview", "status").returncode == 2, "it is over"


def test_the_clock_runs_on_while_nobody_looks_and_is_not_set_back(run: Run) -> None:
    run(*ONE, **at(0))
    assert run("interview", "--resume", **at(20)).stdout.startswith("10:00 left")
    back = run("interview", "status", **at(1)).stdout
    assert "the clock was set back by 19 min" in back
    assert "10:00 left" in back
    assert "30:00 left" not in run("interview", "status", **at(0)).stdout


def test_a_deleted_answer_comes_back_as_last_seen(run: Run, file: Callable[[int], Path]) -> None:
    run(*ONE)
    path = file(1)
    path.write_text(WRONG)
    run("interview", "status")
    path.unlink()
    done = run("interview", "status")
    assert "1_kata01_echo.py was gone; it is back as it was last seen" in done.stdout
    assert path.read_text() == WRONG


def test_only_one_runs_at_a_time_and_it_may_be_abandoned(run: Run) -> None:
    run(*ONE)
    done = run(*ONE)
    assert (done.returncode, done.stdout) == (2, "")
    assert "an interview is running already" in done.stderr
    done = run("interview", "--minutes", "45")
    assert (done.returncode, done.stdout) == (2, "")
    assert "an interview is running already" in done.stderr
    home = run().stdout
    assert re.search(r"an interview is running, \d\d:\d\d left", home)
    assert "next      python -m grader interview --resume" in home
    assert run("interview", "--abandon", stdin="n\n").returncode == 1
    assert run("interview", "status").returncode == 0
    assert "without a score" in run("interview", "--abandon", "--yes").stdout
    assert run("interview", "status").returncode == 2
    assert run(*ONE).returncode == 0


def test_finishing_early_grades_what_is_there(run: Run, file: Callable[[int], Path]) -> None:
    run(*ONE, **at(0))
    file(1).write_text(RIGHT)
    done = run("interview", "finish", **at(2))
    assert done.returncode == 0, done.stderr
    assert "passed; debug not begun" in done.stdout
    assert "find the bugs, kata3: it did not come to that" in done.stdout
    assert run("interview", "status").returncode == 2


def test_what_was_failed_is_due_again_tomorrow(
    run: Run, stage: Path, file: Callable[[int], Path]
) -> None:
    run(*ONE, **at(0))
    file(1).write_text(WRONG)
    run("interview", "finish", **at(2))
    cards = History(stage / ".grader" / "history.db").cards()
    assert list(cards) == ["echo"], "and nothing is due for what was not begun"
    due, card_ = cards["echo"]
    assert json.loads(card_)["rating"] == "again"
    assert due - START <= 2 * 24 * 3600


def test_a_locked_history_costs_a_line_and_not_the_verdict(
    run: Run, stage: Path, file: Callable[[int], Path]
) -> None:
    run(*ONE)
    file(1).write_text(WRONG)
    other = sqlite3.connect(stage / ".grader" / "history.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    done = run("interview", "check")
    other.execute("COMMIT")
    other.close()
    assert done.returncode == 1
    assert "FAILED" in done.stdout, "what was saved last is graded"
    assert "this attempt was not recorded: .grader/history.db cannot be written" in " ".join(
        done.stdout.split()
    )
    assert run("interview", "check").returncode == 1


def test_two_commands_at_once_count_both(
    run: Run, stage: Path, environment: dict[str, str]
) -> None:
    run(*ONE)
    command = [sys.executable, "-m", "grader", "interview", "hint"]
    both = [
        subprocess.Popen(command, cwd=stage, env=environment, stdout=subprocess.DEVNULL)
        for _ in range(3)
    ]
    assert [each.wait(60) for each in both] == [0, 0, 0]
    (record,) = [
        json.loads(line)
        for line in run("history", "--export", "-").stdout.splitlines()
        if '"kind": "interview"' in line
    ]
    assert json.loads(record["rounds"])[0]["hints"] == 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["status"], "no interview is running"),
        (["--resume"], "no interview is running"),
        (["start", "--minutes", "soon"], "--minutes 'soon' is not a number"),
        (["start", "--minutes", "0"], "--minutes 0 is not between 1 and 240"),
        (["start", "--minutes", "inf"], "--minutes inf is not between 1 and 240"),
        (["start", "--minutes", "1e999"], "--minutes 1e999 is not between 1 and 240"),
        (["--minutes", ""], "--minutes '' is not a number"),
        (["start", "--seed", "x"], "'x' is not a whole number"),
        (["scorecard"], "no interview was finished yet"),
        (["status", "--live"], "--live goes with start and --resume"),
        (["start", "--minutes", "nan"], "--minutes nan is not between 1 and 240"),
        (["start", "--minutes", "-5"], "--minutes"),
        (["start", "--katas", "kata77"], "no kata is called 'kata77'"),
        (["start", "--katas", "kata1,kata1"], "names a kata twice"),
        (["start", "--format", "chat"], "invalid choice: 'chat'"),
        (["strat"], "invalid choice: 'strat'"),
        (["--resume", "--abandon"], "one at a time"),
        (["check", "--minutes", "5"], "belong to interview start"),
    ],
)
def test_bad_input_costs_one_line(run: Run, words: list[str], says: str) -> None:
    done = run("interview", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


# --- plans, tests, scores -------------------------------------------------------------


@pytest.mark.parametrize("kind", ["screen", "onsite", "debug"])
def test_each_format_has_its_rounds_and_katas_that_differ(kind: str) -> None:
    found = plan(kind, None, (), katas(), 1)  # type: ignore[arg-type]
    assert [each.kind for each in found.rounds] == list(ROUNDS[kind])  # type: ignore[index]
    assert found.minutes == MINUTES[kind]  # type: ignore[index]
    coding = [each.slug for each in found.rounds if each.kind != "questions"]
    assert len(set(coding)) == len(coding)
    chosen = plan(kind, 45, katas()[1:6], katas(), 1)  # type: ignore[arg-type]
    slugs = [each.slug for each in chosen.rounds if each.kind != "questions"]
    assert slugs == [entry.slug for entry in katas()[1:6]]
    with pytest.raises(UsageError):
        plan(kind, 0.5, (), katas(), 1)  # type: ignore[arg-type]


def test_a_second_debug_round_has_one_bug_more(
    verdict: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Telling:
        """Names what was planted."""

        def grade(self, entry: Entry, source: bytes, shown: str, bugs: tuple[str, ...]) -> Verdict:
            return verdict("failed", entry.slug, *bugs)

    monkeypatch.setenv("GRADER_HOME", str(tmp_path))
    chosen = [find("kata1"), find("kata3")]
    history = History(tmp_path / "history.db")
    interview = begin(history, plan("debug", None, chosen, katas(), 1))
    conductor = Conductor(history, interview, katas(), lambda: nullcontext(Telling()))  # type: ignore[arg-type]
    for count in (2, 3):
        conductor.begin_round()
        assert conductor.round is not None
        assert len(conductor.round.bugs) == count
        assert Path(conductor.round.file).read_text() == conductor.round.snapshot
        conductor.close_round()


def test_tests_are_measured_by_what_they_hold_for_and_what_they_catch(verdict: Make) -> None:
    entry = find("kata3")
    kata, solution = entry.load_spec(), entry.solution_path.read_text()

    def call(source: bytes, _name: str) -> Verdict:
        """Hold for the solution; catch every other bug, by the parity of its length."""
        right = source.decode().startswith(solution)
        return verdict("passed" if right or len(source) % 2 else "failed")

    found = measure(kata, solution, "def test_it():\n    assert True\n", call)
    assert found.share is not None
    assert 0 < found.share < 1
    assert "planted bugs" in found.words
    assert measure(kata, solution, "x = 1\n", call).share is None
    assert measure(kata, solution, "def test_it(:", call).share == 0.0
    wrong = measure(kata, solution, "def test_it(): ...", lambda _s, _n: verdict("failed"))
    assert (wrong.share, wrong.words) == (0.0, "they fail for a right answer: m")


def test_points_follow_what_was_measured_and_nothing_else() -> None:
    entry = find("kata1")
    questions = entry.load_spec().questions
    everything = tuple(range(1, len(questions[0].points) + 1))
    build = Round("build", entry.slug, started=0.0, passed=60.0, score=1.0, edges=1.0, tests=1.0)
    talk = Round("questions", entry.slug, asked=(0,), answers=(Rated("", everything),))

    def points(*rounds: Round) -> dict[str, float]:
        interview = Interview("u", 0.0, 30.0, "screen", "finished", 0.0, rounds)
        return {name: got for name, got, _, _ in card(interview, katas())}

    best = card(Interview("u", 0.0, 30.0, "screen", "finished", 0.0, (build, talk)), katas())
    assert total(best) == (100.0, 100.0)
    assert set(points(talk)) == {"communication"}
    from dataclasses import replace

    slow = points(replace(build, passed=3600.0, hints=1, loops=True))
    assert slow["complexity"] == 7.5
    assert slow["pace and hints"] == pytest.approx(0.5)
    nothing = points(Round("build", entry.slug))
    assert set(nothing.values()) == {0.0}


def test_a_real_kata_runs_tests_beside_solution_and_bugs() -> None:
    """In the processes that answers run in; one right test, one that is wrong."""
    from grader.practice.judging import Judge

    entry = find("kata1")
    kata, solution = entry.load_spec(), entry.solution_path.read_text()
    tests = "def test_sums():\n    x = torch.eye(3)[:2]\n    assert softmax(x, 0).sum(0)[0] == 1\n"
    with Judge(60) as judge:
        found = measure(kata, solution, tests, lambda s, n: judge.call(entry, s, "mine.py", n))
        bad = tests.replace("== 1", "== 2")
        wrong = measure(kata, solution, bad, lambda s, n: judge.call(entry, s, "mine.py", n))
    assert found.share is not None
    assert found.share > 0
    assert wrong.share == 0.0
    assert "AssertionError" in wrong.words
