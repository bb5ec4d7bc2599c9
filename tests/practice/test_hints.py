"""Hints, the full diagnosis, and the solution: what is shown, when, and that it is counted."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from grader.catalog import find, katas
from grader.model import Verdict
from grader.practice.hints import TRACE, ladder, smallest_case
from grader.practice.history import History
from grader.records import from_dict
from grader.views.diagnosis import parsed, show_diagnosis
from grader.views.screen import Screen

Make = Callable[..., Verdict]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

RIGHT = "def answer():\n    return 42\n"
WRONG = 'def answer():\n    assert False, "41"\n'
STEM = "kata03_multi_head_self_attention"


@pytest.fixture
def stub(stage: Path) -> Path:
    return stage / "katas" / "kata01_echo.py"


def titles(text: str) -> list[str]:
    return re.findall(r"^hint (\d of \d: .*)$", text, re.MULTILINE)


def test_each_hint_says_more_than_the_last_and_is_counted(run: Run, stub: Path) -> None:
    stub.write_text(WRONG)
    run("kata1")
    shown = [titles(run("hint", "kata1").stdout)[0] for _ in range(3)]
    assert shown == ["1 of 5: your bug", "2 of 5: concept", "3 of 5: where to look"]
    again = run("hint", "kata1", "--again").stdout
    assert titles(again) == shown
    assert "Where do you begin?" in again
    assert "An echo returns what it hears." in again
    assert "It is 42." not in again
    assert "It is 42." in run("hint", "kata1", "--rung", "5").stdout
    stub.write_text(RIGHT)
    run("kata1")
    *_, passed = json.loads(run("history", "kata1", "--json").stdout)
    assert passed["hints"] == 4, "each once, whether shown again or not"
    fresh = run("hint", "kata1").stdout
    assert titles(fresh) == ["1 of 3: concept"], "a pass closes the account, and has no bug"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_hint_counts_although_nobody_is_left_to_read_it(
    stage: Path, environment: dict[str, str], run: Run, stub: Path
) -> None:
    stub.write_text("def answer():\n    return 41\n")
    words = [sys.executable, "-m", "grader", "hint", "kata1"]
    with Path("/dev/full").open("w") as full:
        subprocess.run(words, cwd=stage, env=environment, stdout=full, stderr=full, check=False)
    assert run("hint", "kata1", "--again").stdout.startswith("hint 1 of ")


def test_without_hints_or_with_all_of_them_shown_it_says_so(run: Run) -> None:
    assert run("hint", "kata2").stdout.startswith("there is no hint for kata2")
    for _ in range(3):
        run("hint", "kata1")
    done = run("hint", "kata1").stdout
    assert done.startswith("all 3 hints were shown for kata1")
    assert "python -m grader hint kata1 --again" in done


def test_hints_come_without_a_history_too(run: Run, stage: Path) -> None:
    (stage / ".grader").mkdir()
    (stage / ".grader" / "history.db").write_bytes(b"no database at all" * 100)
    done = run("hint", "kata1", "--rung", "2")
    assert done.returncode == 0
    assert "Look at what is returned." in done.stdout
    assert "without the history: .grader/history.db is damaged" in done.stderr
    assert "this hint was not counted" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["hint"], "which kata? python -m grader hint kata3"),
        (["why"], "which kata?"),
        (["solution"], "which kata?"),
        (["reset"], "which kata?"),
        (["hint", "kta1"], "did you mean kata1?"),
        (["hint", "kata1", "--rung", "9"], "there is no rung 9: kata1 has 3 now"),
        (["hint", "kata1", "--rung", "none"], "'none' is not a whole number"),
        (["restore", "kata1"], "kata1 has no copy 1: no copy is kept"),
        (["restore", "kata1", "x"], "'x' is not a whole number"),
        (["reset", "kata1", "--level", "empty"], "invalid choice: 'empty'"),
        (["review", "--rate", "good"], "which kata?"),
        (["review", "kata1", "--rate", "superb"], "invalid choice: 'superb'"),
        (["review", "kata1", "--rate", "good"], "was not passed yet"),
        (["kata1", "hint"], "'hint' comes first: python -m grader hint"),
    ],
)
def test_bad_input_costs_one_line(run: Run, words: list[str], says: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


# --- rungs ---------------------------------------------------------------------------


def test_every_kata_has_hints_and_at_least_five_questions_with_key_points() -> None:
    for entry in katas():
        kata = entry.load_spec()
        names = [rung.name for rung in ladder(entry, None)]
        assert names[:2] == ["concept", "where to look"], entry.name
        assert names[-1] == "near-code"
        assert len(set(names)) == len(names)
        assert len(kata.questions) >= 5
        assert all(len(question.points) >= 2 for question in kata.questions)


def test_a_failing_case_adds_a_trace_and_each_bug_its_question(verdict: Make) -> None:
    entry = find("kata3")
    failed = verdict("failed", entry.slug, "one", "two")
    names = [rung.name for rung in ladder(entry, failed)]
    assert names[:5] == ["bug:one", "bug:two", "concept", "where to look", TRACE]
    assert smallest_case(failed) == {"seed": 3}
    assert smallest_case(verdict("passed")) is None
    assert smallest_case(None) is None


# --- the real katas ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """A copy of the project, in which kata3 was graded with the masks multiplied in."""
    root = tmp_path_factory.mktemp("project")
    for folder in ("grader", "katas", "solutions"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(repository / folder, root / folder, ignore=ignore)
    answer = repository / "tests" / "submissions" / STEM / "wrong" / "fused_multiplied.py"
    (root / "katas" / f"{STEM}.py").write_bytes(answer.read_bytes())
    return root


@pytest.fixture
def real(failing: Path, run_python: Run) -> Run:
    if not (failing / ".grader").exists():
        assert run_python(failing, "-m", "grader", "kata3").returncode == 1
    return lambda *words: run_python(failing, "-m", "grader", *words)


def test_the_trace_follows_the_learners_own_case_with_real_numbers(real: Run) -> None:
    text = real("hint", "kata3", "--rung", "4").stdout
    assert text.startswith("hint 4 of 7: shape trace\n")
    assert "causal_mask (2, 2) = [[1, 0], [1, 1]]" in text
    steps = re.findall(r"^  step (\d)", text, re.MULTILINE)
    assert steps == ["1", "2", "3", "4", "6", "7", "8", "9"], "without padding there is no step 5"
    weights = re.search(r"weights \(1, 1, 2, 2\) = \[\[\[\[1, 0\], \[([\d.]+), ([\d.]+)\]", text)
    assert weights is not None
    assert float(weights[1]) + float(weights[2]) == pytest.approx(1, abs=1e-3)
    assert "masked_fill" not in text, "no code"


def test_why_shows_all_failing_checks_cell_by_cell_and_the_weights(real: Run) -> None:
    done = real("why", "kata3")
    assert done.returncode == 0
    text = done.stdout
    for number in range(1, 5):
        assert f"{number} of 4  failed" in text
    assert "behaves exactly like mask-multiplied" in text
    assert re.search(r"^ +0\.44\* +\| +0\.4804\*$", text, re.MULTILINE)
    assert re.search(r"^ +0\.5401 +\| +0\.5401$", text, re.MULTILINE)
    assert "waiting   whatever the scores are" in text
    heat = text.partition("attention as it should be")[2].splitlines()
    assert heat[3] == "    ██    1.00 0.00"
    plain = real("why", "kata3", "--plain")
    assert plain.stdout.isascii()
    assert "    9 0   1.00 0.00" in plain.stdout


def test_the_solution_is_a_diff_to_ones_own(real: Run, failing: Path) -> None:
    (failing / "grader").exists()
    done = real("solution", "kata3")
    assert done.returncode == 1
    assert "nothing was shown" in done.stdout
    assert "masked_fill" not in done.stdout


# --- looking at verdicts --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("[[0.44], [-inf]]", ([["0.44"], ["-inf"]], "")),
        ("[1, nan] as before", (["1", "nan"], "")),
        ("[0.5, 1e-05, …] at [0, 1]", (["0.5", "1e-05", "…"], "[0, 1]")),
        ("no gradient", None),
        ("[[1, 2], [3]]", None),
        ("[]", None),
        ("[1, 2", None),
        ("]1[", None),
        ("", None),
    ],
)
def test_tensors_are_read_from_the_words_of_a_verdict(words: str, found: object) -> None:
    assert parsed(words) == found


@pytest.mark.parametrize("width", [40, 80])
def test_every_golden_verdict_can_be_shown_in_full(repository: Path, width: int) -> None:
    """What is known of a failure has many shapes; none may break the view or the width."""
    endings = [
        {"status": status, "checks": [{"name": "a", "title": "b", "status": "failed"}]}
        for status in ("timeout", "memory", "crashed", "not_loadable")
    ]
    shapes = [
        "[[[0.5, 0.25]]]",
        "[1] as before",
        "[0.5, 1] at [0, 1]",
        "",
        "(2, 3) float64",
        "[" * 9,
    ]
    shown = [
        {
            "name": "a",
            "title": "a rather long title of a check, " * 3,
            "status": "failed",
            "message": "[bold]what\x1b[31m is wrong",
            "line": 3,
            "counterexample": {
                "called": "f(x)" * 30,
                "expected": one,
                "got": two,
                "recipe": {},
                "shapes": [["x", "(2, 3) float64"]],
            },
        }
        for one in shapes
        for two in shapes
    ]
    base = {"version": 1, "kata": "kata03", "slug": "s", "score": 0.0, "seconds": 0.1, "path": "a"}
    for record in [*endings, {"status": "failed", "checks": shown, "notes": ["note"]}]:
        stream = StringIO()
        screen = Screen(stream, plain=True)
        screen.console.width = width
        show_diagnosis(screen, from_dict({**base, **record}), "Title", "3 s ago")
        text = stream.getvalue()
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) <= width


# --- solution, reset, restore, review ----------------------------------------------------


def test_the_solution_needs_a_pass_or_the_words(run: Run, stub: Path) -> None:
    stub.write_text(WRONG)
    run("kata1")
    for typed in ("", "y\n", "yes\n", "give\n"):
        done = run("solution", "kata1", stdin=typed)
        assert done.returncode == 1
        assert done.stdout.endswith("nothing was shown\n")
    done = run("solution", "kata1", stdin="Give up\n")
    assert done.returncode == 0
    assert '-    assert False, "41"' in done.stdout
    assert "+    return 42" in done.stdout
    stub.write_text(RIGHT)
    assert "being rated again" in run("kata1").stdout, "who was shown the answer sees it again soon"
    done = run("solution", "kata1", "--whole")
    assert done.returncode == 0
    assert "return 42" in done.stdout


def test_reset_keeps_a_copy_and_restore_puts_it_back(run: Run, stub: Path, stage: Path) -> None:
    untouched = stub.read_text()
    stub.write_text(WRONG)
    done = run("reset", "kata1", stdin="n\n")
    assert done.returncode == 1
    assert stub.read_text() == WRONG
    assert run("reset", "kata1").returncode == 1, "nobody there to agree"
    assert stub.read_text() == WRONG
    done = run("reset", "kata1", "--level", "blank", stdin="y\n")
    assert done.returncode == 0
    assert "python -m grader restore kata1" in done.stdout
    assert "TODO" not in stub.read_text()
    assert run("reset", "kata1", "--yes").returncode == 0
    assert "TODO" in stub.read_text()
    assert stub.read_text() == untouched
    listed = run("restore").stdout.splitlines()
    assert listed[0].split() == ["kata", "copy", "kept", "at", "lines"]
    wrong = next(line.split()[1] for line in listed if line.split()[-1] == "2")
    assert run("restore", "kata1", wrong).returncode == 0
    assert stub.read_text() == WRONG
    assert run("restore", "kata1", "1").returncode == 0
    assert stub.read_text() == untouched, "what a restore replaces is kept as well"
    assert run("restore", "--list").stdout == run("restore").stdout
    done = run("restore", "kata1", "99")
    assert done.returncode == 2
    assert "kata1 has no copy 99: there are" in done.stderr


def test_a_blank_stub_can_be_had_for_a_real_kata(copy: Path, run_python: Run) -> None:
    file = copy / "katas" / f"{STEM}.py"
    file.write_text(WRONG)
    words = ("-m", "grader", "reset", "kata3", "--level", "blank", "--yes")
    done = run_python(copy, *words)
    assert done.returncode == 0, done.stderr
    assert "TODO" not in file.read_text()
    assert run_python(copy, "-m", "grader", "restore", "kata3").returncode == 0
    assert file.read_text() == WRONG


def test_a_review_starts_what_is_due_from_a_blank_stub(run: Run, stub: Path) -> None:
    assert run("review").stdout == "nothing is due today\n"
    stub.write_text(RIGHT)
    now = 1_767_960_000.0
    run("kata1", GRADER_CLOCK=f"0@{now}")
    done = run("review", GRADER_CLOCK=f"0@{now}")
    assert done.stdout.startswith("nothing is due today\n  then      kata1, due in")
    later = {"GRADER_CLOCK": f"0@{now + 40 * 24 * 3600}"}
    done = run("review", stdin="n\n", **later)
    assert (done.returncode, stub.read_text()) == (1, RIGHT)
    done = run("review", "--yes", **later)
    assert done.returncode == 0
    assert "open      katas/kata01_echo.py" in done.stdout
    assert "raise NotImplementedError" in stub.read_text()
    stub.write_text(RIGHT)
    again = run("kata1", GRADER_CLOCK=f"0@{now + 40 * 24 * 3600 + 25}")
    assert "being rated easy" in again.stdout, "25 seconds of a minute"
    done = run("review", "kata1", "--rate", "hard", **later)
    assert done.stdout.startswith("kata1 is rated hard and due in")
    assert len(History(stub.parents[1] / ".grader" / "history.db").cards()) == 1
